package kernelmv

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// accuracySets are inputs on which distances are hard, with lengthscales; under
// -short one of each kind.
func accuracySets(rng *rand.Rand) map[string]linalg.Matrix {
	const n = 130
	sets := map[string]linalg.Matrix{}
	dims, lengths, gaps := []int{1, 2, 8, 50}, []float64{0.3, 1, 3, 10}, []float64{1e-1, 1e-2, 1e-3, 1e-4}
	if testing.Short() {
		dims, lengths, gaps = []int{8}, []float64{1}, []float64{1e-4}
	}
	for _, d := range dims {
		for _, l := range lengths {
			x := linalgtest.RandMatrix(rng, n, d)
			for i := range x.Data {
				x.Data[i] /= l
			}
			sets[fmt.Sprintf("normal d=%d l=%v", d, l)] = x
		}
	}
	for _, h := range gaps {
		x := linalgtest.RandMatrix(rng, n, 4)
		for i := range n {
			for c := range 4 {
				x.Set(i, c, x.At(i%10, c)+h*rng.NormFloat64())
			}
		}
		sets[fmt.Sprintf("clusters %v", h)] = x
	}
	twins, far := linalgtest.RandMatrix(rng, n, 6), linalgtest.RandMatrix(rng, n, 6)
	for i := range n / 2 {
		copy(twins.Row(2*i+1), twins.Row(2*i))
	}
	for i := range n {
		if i%5 == 0 {
			far.Set(i, i%6, 60*float64(1-i%2*2)+rng.NormFloat64())
		}
	}
	sets["duplicates"], sets["outliers"] = twins, far
	return sets
}

// entries gets K from products with unit vectors, which round nothing.
func entries(t *testing.T, op *Op, prec Precision) linalg.Matrix {
	t.Helper()
	n := op.Dim()
	eye, k := linalg.NewMatrix(n, n), linalg.NewMatrix(n, n)
	for i := range n {
		eye.Set(i, i, 1)
	}
	if err := op.With(prec).MulTo(context.Background(), k, eye); err != nil {
		t.Fatal(err)
	}
	return k
}

// scaledCov is h from scaled coordinates, rounded to float32 or not.
func scaledCov(f asm.Family, a, b []float64, round bool) float64 {
	var s float64
	for k := range a {
		t := a[k] - b[k]
		if round {
			t = float64(float32(a[k])) - float64(float32(b[k]))
		}
		s += t * t
	}
	c := f.Scale()
	return unitCov(f, s/(c*c))
}

// The contract: an entry is off by at most 2.5e-7 in float32 and 2e-15 in
// float64 from that of the packed coordinates, and by 6e-7 from that of the
// given ones where these are of ordinary size; K is exactly symmetric;
// duplicates give exactly 1.
func TestEntryAccuracy(t *testing.T) {
	forEach(t, func(t *testing.T, im *asm.Impl) {
		for name, x := range accuracySets(rand.New(rand.NewPCG(70, 71))) {
			if im.Name == "generic" && (x.Cols > 4 || testing.Short()) {
				continue // its entries have the bits of the others
			}
			for _, f := range families {
				k := Kernel{Family: f, Variance: 1, Lengthscales: make([]float64, x.Cols)}
				for d := range k.Lengthscales {
					k.Lengthscales[d] = 1
				}
				op := newOp(t, linalgtest.NewEngine(t, im, 2), x, k, nil)
				op.SetTilesOnly(true)
				checkEntries(t, op, entries(t, op, F64), F64, 2e-15, fmt.Sprint(name, f))
				checkEntries(t, op, entries(t, op, F32), F32, 2.5e-7, fmt.Sprint(name, f))
			}
		}
	})
}

func checkEntries(t *testing.T, op *Op, k linalg.Matrix, prec Precision, tol float64, what string) {
	t.Helper()
	d := op.pts.dim
	for i := range k.Rows {
		for j := range k.Cols {
			a, b := op.pts.x[i*d:(i+1)*d], op.pts.x[j*d:(j+1)*d]
			got := k.At(i, j)
			want := scaledCov(op.kernel.Family, a, b, prec == F32)
			if math.Abs(got-want) > tol {
				t.Fatalf("%s: %v entry %d %d is %v, off by %.2g of %.2g", what, prec, i, j, got, got-want, tol)
			}
			if got != k.At(j, i) {
				t.Fatalf("%s: %v entry %d %d is not that of %d %d", what, prec, i, j, j, i)
			}
			if want == 1 && got != 1 {
				t.Fatalf("%s: %v entry %d %d of equal points is %v", what, prec, i, j, got)
			}
			if exact := scaledCov(op.kernel.Family, a, b, false); prec == F32 && op.pts.raw.Cols == 8 &&
				math.Abs(got-exact) > 6e-7 {
				t.Fatalf("%s: entry %d %d is off by %.2g from that of the given inputs", what, i, j, got-exact)
			}
		}
	}
}

// Sums of float32 over all n would break this bound by far.
func TestProductAccuracy(t *testing.T) {
	n, ctx := 8192, context.Background()
	dims, kernels, widths := []int{2, 8}, []asm.Family{Matern32, Gaussian}, []int{1, 4}
	if testing.Short() { // emulated
		dims, kernels, widths = []int{8}, []asm.Family{Matern32}, []int{1}
	}
	for _, d := range dims {
		rng := rand.New(rand.NewPCG(72, uint64(d)))
		x, v := linalgtest.RandMatrix(rng, n, d), linalg.NewMatrix(n, 4)
		for i := range n {
			v.Set(i, 0, 1)
			for c := 1; c < 4; c++ {
				v.Set(i, c, rng.NormFloat64())
			}
		}
		for _, im := range asm.All() {
			if im.Name == "generic" {
				continue
			}
			for _, f := range kernels {
				k := Kernel{Family: f, Variance: 1, Lengthscales: make([]float64, d)}
				for i := range k.Lengthscales {
					k.Lengthscales[i] = 1.5
				}
				op := newOp(t, linalgtest.NewEngine(t, im, 2), x, k, nil)
				// Both precisions take coordinates that float32 holds: the error is that of the entries.
				for i, v := range op.pts.x {
					op.pts.x[i] = float64(float32(v))
				}
				for _, p := range widths {
					y, z := linalg.NewMatrix(n, p), linalg.NewMatrix(n, p)
					if err := op.With(F32).MulTo(ctx, y, v.Sub(0, n, 0, p)); err != nil {
						t.Fatal(err)
					}
					if err := op.With(F64).MulTo(ctx, z, v.Sub(0, n, 0, p)); err != nil {
						t.Fatal(err)
					}
					checkProduct(t, y, z, v, fmt.Sprintf("%s %v d=%d p=%d", im.Name, f, d, p))
				}
			}
		}
	}
}

// checkProduct checks ||y - z|| <= (1e-7 sqrt(n) + 2.5e-8 ||K||) ||v|| for each
// column, with ||z||/||v|| of the first one in place of the norm of K.
func checkProduct(t *testing.T, y, z, v linalg.Matrix, what string) {
	t.Helper()
	norm := 0.0
	for c := range y.Cols {
		var e2, z2, v2 float64
		for i := range y.Rows {
			e := y.At(i, c) - z.At(i, c)
			e2, z2, v2 = e2+e*e, z2+z.At(i, c)*z.At(i, c), v2+v.At(i, c)*v.At(i, c)
		}
		if c == 0 {
			norm = math.Sqrt(z2 / v2)
		}
		if bound := (1e-7*math.Sqrt(float64(y.Rows)) + 2.5e-8*norm) * math.Sqrt(v2); math.Sqrt(e2) > bound {
			t.Errorf("%s: column %d is off by %.2g, allowed %.2g", what, c, math.Sqrt(e2), bound)
		}
	}
}
