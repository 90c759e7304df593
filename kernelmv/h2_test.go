package kernelmv

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// h2Points returns n points of d inputs in [0, 1] or near it: uniform, clusters (half of
// them in 200 clouds of sd .002 to .05), curves (random walks), or a grid with repeats.
func h2Points(kind string, n, d int, seed uint64) linalg.Matrix {
	r := rand.New(rand.NewPCG(seed, 7))
	x := linalg.NewMatrix(n, d)
	switch kind {
	case "uniform":
		for i := range x.Data {
			x.Data[i] = r.Float64()
		}
	case "clusters":
		centre, sd := linalg.NewMatrix(200, d), make([]float64, 200)
		for i := range sd {
			sd[i] = 0.002 * math.Pow(25, r.Float64())
			for k := range d {
				centre.Set(i, k, r.Float64())
			}
		}
		for i := range n {
			c := r.IntN(200)
			for k := range d {
				x.Set(i, k, r.Float64())
				if i%2 == 0 {
					x.Set(i, k, centre.At(c, k)+sd[c]*r.NormFloat64())
				}
			}
		}
	case "curves":
		at, way := make([]float64, d), make([]float64, d)
		for i := range n {
			size := 0.0
			for k := range d {
				if i%1500 == 0 {
					at[k], way[k] = r.Float64(), r.NormFloat64()
				}
				way[k] += 0.2 * r.NormFloat64()
				size += way[k] * way[k]
			}
			for k := range d {
				way[k] /= math.Sqrt(size)
				at[k] += 0.0003 * way[k]
				x.Set(i, k, at[k])
			}
		}
	case "grid":
		side := int(math.Ceil(math.Pow(float64(n), 1/float64(d))))
		for i := range n {
			m := i
			for k := range d {
				x.Set(i, k, float64(m%side)/float64(side))
				m /= side
			}
		}
	}
	return x
}

// rowsOf is n, or a fraction of it under -short, whose CPUs may be emulated.
func rowsOf(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// sizeOfError returns the greatest entry seen and |E|₂ of E = products in form H2 less exact ones, for
// variance 1, by some steps of a power iteration from a constant column and seven columns of the identity.
func sizeOfError(t *testing.T, o *Op, prec Precision, tol float64, steps int) (entry, norm float64) {
	t.Helper()
	const cols = 8
	n, ctx := o.Dim(), context.Background()
	rng := rand.New(rand.NewPCG(3, 5))
	v := linalg.NewMatrix(n, cols)
	for i := range n {
		v.Set(i, 0, 1)
	}
	for c := 1; c < cols; c++ {
		v.Set(rng.IntN(n), c, 1)
	}
	a, b := linalg.NewMatrix(n, cols), linalg.NewMatrix(n, cols)
	for step := range steps {
		for c, s := range columnNorms(v) {
			for i := range n {
				v.Set(i, c, v.At(i, c)/s)
			}
		}
		for _, form := range []Form{FormH2, FormDense} {
			o.SetForm(form, tol, tol)
			p, dst := F64, b
			if form == FormH2 {
				p, dst = prec, a
			}
			if err := o.With(p).MulTo(ctx, dst, v); err != nil {
				t.Fatal(err)
			}
		}
		for i := range a.Data {
			v.Data[i] = a.Data[i] - b.Data[i]
			if step == 0 && i%cols > 0 {
				entry = max(entry, math.Abs(v.Data[i]))
			}
		}
		for _, s := range columnNorms(v) {
			norm = max(norm, s)
		}
	}
	return entry, norm
}

func columnNorms(m linalg.Matrix) []float64 {
	s := make([]float64, m.Cols)
	for i := range m.Rows {
		for c, v := range m.Row(i) {
			s[c] += v * v
		}
	}
	for c := range s {
		s[c] = math.Max(math.Sqrt(s[c]), 1e-300)
	}
	return s
}

// So it is in float32, whose rounding adds to it.
func TestH2Error32(t *testing.T) {
	for d := 2; d <= 3; d++ {
		const tol = 1e-5
		n := rowsOf(6000)
		e := linalgtest.NewEngine(t, nil, 2)
		o := newOp(t, e, h2Points("clusters", n, d, 4), Kernel{Matern32, 1, []float64{.1, .2, .3}[:d]},
			nil)
		if _, norm := sizeOfError(t, o, F32, tol, 3); norm > (tol+1e-6)*float64(n)/5 {
			t.Errorf("%d inputs: |E| = %.2g", d, norm)
		}
	}
}

func setColumn(x linalg.Matrix, c int, value func(i int) float64) {
	for i := range x.Rows {
		x.Set(i, c, value(i))
	}
}

// The diagonal is exact, noise is added, any number of columns is taken, the result does
// not depend on the threads, is symmetric, and costs no allocation.
func TestH2Promises(t *testing.T) {
	ctx := context.Background()
	for d := 2; d <= 3; d++ {
		const p = 21
		n := rowsOf(5011)
		rng := rand.New(rand.NewPCG(1, 2))
		x, noise := h2Points("clusters", n, d, 5), make([]float64, n)
		for i := range noise {
			noise[i] = rng.Float64()
		}
		v := linalgtest.RandMatrix(rng, n, p)
		for _, prec := range []Precision{F32, F64} {
			var first linalg.Matrix
			for threads := 1; threads <= 3; threads++ {
				if testing.Short() && threads == 2 {
					continue
				}
				e := linalgtest.NewEngine(t, nil, threads)
				o := newOp(t, e, x, Kernel{Matern52, 2, []float64{.1, .1, .1}[:d]}, noise)
				o.SetForm(FormH2, 1e-5, 1e-7)
				y := linalg.NewMatrix(n, p)
				product := func() {
					if err := o.With(prec).MulTo(ctx, y, v); err != nil {
						t.Fatal(err)
					}
				}
				product()
				if threads == 1 {
					first = y
					asymmetry(t, v, y, map[Precision]float64{F32: 3e-7, F64: 1e-13}[prec])
					part := linalg.NewMatrix(n, 1)
					if err := o.With(prec).MulTo(ctx, part, v.Sub(0, n, 2, 3)); err != nil {
						t.Fatal(err)
					}
					near(t, "one column", part, y.Sub(0, n, 2, 3), map[Precision]float64{F32: 1e-5, F64: 1e-12}[prec])
				}
				if threads == 1 {
					if count := testing.AllocsPerRun(2, product); count > 0 {
						t.Errorf("%d inputs, %v: %v allocations", d, prec, count)
					}
				}
				if !slices.Equal(first.Data, y.Data) {
					t.Errorf("%d inputs, %v: %d threads give other bits", d, prec, threads)
				}
			}
		}
	}
}

// asymmetry checks x'Ky = y'Kx to a tolerance of |x||y||K|.
func asymmetry(t *testing.T, v, kv linalg.Matrix, tol float64) {
	t.Helper()
	sizes, images := columnNorms(v), columnNorms(kv)
	for a := range v.Cols {
		for b := range a {
			var diff float64
			for i := range v.Rows {
				diff += v.At(i, a)*kv.At(i, b) - v.At(i, b)*kv.At(i, a)
			}
			if s := sizes[a] * images[b]; math.Abs(diff) > tol*s {
				t.Fatalf("not symmetric: %.2g of %.2g", diff, s)
			}
		}
	}
}

// The gradient agrees with the dense one, and with central differences of the product.
func TestH2Gradient(t *testing.T) {
	ctx := context.Background()
	for _, f := range families {
		for d := 1; d <= 3; d++ {
			if d == 1 && f != Gaussian {
				continue
			}
			if testing.Short() && d == 2 {
				continue
			}
			const r, tol = 5, 1e-9
			n := rowsOf(5000)
			rng := rand.New(rand.NewPCG(8, uint64(d)))
			l := []float64{.15, .2, .3}[:d]
			o := newOp(t, linalgtest.NewEngine(t, nil, 2), h2Points("clusters", n, d, 3), Kernel{f, 1.7, l}, nil)
			u, g := linalgtest.RandMatrix(rng, n, r), []float64{1, -.5, .2, .3, -1}
			var got [2][]float64
			for k, form := range []Form{FormDense, FormH2} {
				o.SetForm(form, tol, tol)
				got[k] = make([]float64, d)
				if err := o.GradTo(ctx, got[k], u, g); err != nil {
					t.Fatal(err)
				}
			}
			size := 0.0
			for c, s := range columnNorms(u) {
				size += math.Abs(g[c]) * s * s
			}
			form := func(k int, step float64) float64 {
				at := slices.Clone(l)
				at[k] *= math.Exp(step)
				if err := o.Reset(Kernel{f, 1.7, at}, nil); err != nil {
					t.Fatal(err)
				}
				ku := linalg.NewMatrix(n, r)
				if err := o.MulTo(ctx, ku, u); err != nil {
					t.Fatal(err)
				}
				sum := 0.0
				for i, v := range ku.Data {
					sum += g[i%r] * v * u.Data[i]
				}
				return sum
			}
			for k := range d {
				const h = 1e-3
				diff := (form(k, h) - form(k, -h)) / (2 * h)
				dense, fast := got[0][k], got[1][k]
				if math.Abs(fast-dense) > 1e-6*size || math.Abs(fast-diff) > 2e-5*size {
					t.Errorf("%v, input %d of %d: %v, dense %v, differences %v", f, k, d, fast, dense, diff)
				}
			}
		}
	}
}

// Products, gradients and plans end soon after their context.
func TestH2Cancel(t *testing.T) {
	const threads = 2
	n := rowsOf(20000)
	e := linalgtest.NewEngine(t, nil, threads)
	o := newOp(t, e, h2Points("uniform", n, 2, 1), Kernel{Matern32, 1, []float64{.1, .1}}, nil)
	o.SetForm(FormH2, 1e-6, 1e-8)
	o.SetGradPrecision(F32)
	v, y := linalg.NewMatrix(n, 4), linalg.NewMatrix(n, 4)
	for name, pass := range map[string]func(context.Context) error{
		"plan":   func(ctx context.Context) error { o.h2Reset(); _, _, err := o.Work(ctx, F32); return err },
		"MulTo":  func(ctx context.Context) error { return o.With(F32).MulTo(ctx, y, v) },
		"GradTo": func(ctx context.Context) error { return o.GradTo(ctx, make([]float64, 2), v, make([]float64, 4)) },
	} {
		var looks int64
		for range 2 { // the first makes what the others find
			all := &countdown{Context: context.Background(), left: 1 << 60}
			if err := pass(all); err != nil {
				t.Fatal(err)
			}
			looks = all.seen.Load()
		}
		if looks < int64(n/200) {
			t.Errorf("%s looks at its context %d times only", name, looks)
		}
		for _, left := range []int64{0, 1, 7, looks / 2} {
			ctx := &countdown{Context: context.Background(), left: left}
			if err := pass(ctx); err != context.Canceled {
				t.Fatalf("%s = %v, want context.Canceled", name, err)
			}
		}
	}
}

// FormAuto takes the form by counts, and the memory is O(n).
func TestH2Auto(t *testing.T) {
	ctx, inf := context.Background(), math.Inf(1)
	x := h2Points("uniform", 40000, 10, 1)
	for _, c := range []struct {
		n    int
		l    []float64
		want bool
	}{
		{40000, []float64{.1, inf, .1, inf, inf, inf, inf, inf, inf, inf}, true},
		{1000, []float64{.1, inf, .1, inf, inf, inf, inf, inf, inf, inf}, false},
		{20000, []float64{.1, .1, .1, .1, inf, inf, inf, inf, inf, inf}, false},
		{9000, []float64{1, .5, 1, inf, inf, inf, inf, inf, inf, inf}, false},
	} {
		o := newOp(t, linalgtest.NewEngine(t, nil, 1), x.Sub(0, c.n, 0, 10), Kernel{Matern32, 1, c.l}, nil)
		if _, h2, _ := o.Work(ctx, F64); h2 {
			t.Error("not asked for")
		}
		o.SetForm(FormAuto, 1e-5, 1e-7)
		pairs, h2, err := o.Work(ctx, F64)
		bytes, _ := o.H2Bytes(ctx, F64)
		if err != nil || h2 != c.want || h2 != (pairs < float64(c.n)*float64(c.n)) || h2 != (bytes > 0) {
			t.Errorf("%d rows, l %v: H2 %v, %g pairs, %d bytes, %v", c.n, c.l, h2, pairs, bytes, err)
		}
		if limit := int64(c.n) * 1500; bytes > limit {
			t.Errorf("%d rows: %d bytes", c.n, bytes)
		}
	}
}
