package lanczos

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"gonum.org/v1/gonum/mat"
)

// A frozen is L~ with every auxiliary quantity held fixed, in dense algebra.
type frozen struct {
	d      *gp.Table
	s      *mat.Dense // F⁻ᵀT, n×k
	c      linalg.Matrix
	probes int
	v      []float64
	rest   func(r []float64) float64 // r'Nr
	logDet float64
}

func freeze(t *testing.T, o *Estimator, v []float64) *frozen {
	k := o.lanczos.H.Dim()
	eye, s := linalg.NewMatrix(k, k), linalg.NewMatrix(o.n, k)
	for i := range k {
		eye.Set(i, i, 1)
	}
	if err := o.lanczos.MulBasisTo(context.Background(), s, eye); err != nil {
		t.Fatal(err)
	}
	o.pre.FInvTransTo(s, s)
	// N = F⁻ᵀT_t+1 M⁻¹ T_t+1'F⁻¹
	p := len(o.b.residualCoord)
	m, next := linalg.NewMatrix(p, p), linalg.NewMatrix(o.n, p)
	for j := range p {
		unit, col, x := make([]float64, p), linalg.NewMatrix(o.n, 1), make([]float64, p)
		unit[j] = 1
		o.lanczos.NextTo(col, unit)
		o.b.quad.ErrorTo(x, unit, &o.b.ldl)
		for i := range o.n {
			next.Set(i, j, col.Data[i])
		}
		for i := range p {
			m.Set(i, j, x[i])
		}
	}
	return &frozen{d: o.d, s: mat.NewDense(o.n, k, s.Data), c: o.lanczos.H.R0, probes: o.probes.Cols, v: v,
		logDet: o.pre.LogDet(), rest: func(r []float64) float64 {
			x, c := linalg.NewMatrix(o.n, 1), linalg.NewMatrix(p, 1)
			o.pre.FInvTo(x, linalg.Matrix{Rows: o.n, Cols: 1, Stride: 1, Data: r})
			o.e.GramTo(c, next, x)
			sum := 0.0
			for i := range p {
				for j := range p {
					sum += c.Data[i] * m.At(i, j) * c.Data[j]
				}
			}
			return sum
		}}
}

func (f *frozen) value(t *testing.T, p gp.Params) float64 {
	n := f.d.X.Rows
	noise := gp.NoiseOf(p, f.d)
	op, err := kernelmv.NewOp(gptest.Engine(t), f.d.X, gp.KernelOf(p), noise)
	if err != nil {
		t.Fatal(err)
	}
	dense := linalg.NewMatrix(n, n)
	if err := op.DenseTo(context.Background(), dense); err != nil {
		t.Fatal(err)
	}
	for i, v := range noise {
		dense.Data[i*n+i] += v
	}
	khat := mat.NewDense(n, n, dense.Data)
	var ks, h mat.Dense
	ks.Mul(khat, f.s)
	h.Mul(f.s.T(), &ks)
	k, _ := h.Dims()
	sym := mat.NewSymDense(k, nil)
	for i := range k {
		for j := i; j < k; j++ {
			sym.SetSym(i, j, (h.At(i, j)+h.At(j, i))/2)
		}
	}
	var es mat.EigenSym
	es.Factorize(sym, true)
	var vec mat.Dense
	es.VectorsTo(&vec)
	logs := 0.0
	for a, lam := range es.Values(nil) {
		for i := range f.probes {
			s := 0.0
			for l := range f.c.Rows {
				s += vec.At(l, a) * f.c.At(l, i)
			}
			logs += math.Log(lam) * s * s / float64(f.probes)
		}
	}
	kv := mat.NewVecDense(n, nil)
	kv.MulVec(khat, mat.NewVecDense(n, f.v))
	r, q := make([]float64, n), 0.0
	for i, y := range f.d.Y {
		r[i] = y - p.Mean - kv.AtVec(i)
		q += 2*r[i]*f.v[i] + f.v[i]*kv.AtVec(i)
	}
	q += f.rest(r)
	return -0.5 * (float64(n)*math.Log(2*math.Pi) + f.logDet + logs + q)
}

// TestGradientDifferences holds the gradient against central differences of L~
// with P, probes, basis, v and β fixed: at the point P was built at, and away.
func TestGradientDifferences(t *testing.T) {
	for _, kernel := range gp.Families() {
		for _, nn := range []int{0, 8} {
			d, p := gptest.SmoothTable(90, 3, 0.1), gptest.TestParams(kernel, 3, 0.05)
			d.NoiseScale = make([]float64, 90)
			for i := range d.NoiseScale {
				d.NoiseScale[i] = 1 + 0.5*math.Sin(float64(i))
			}
			o := thorough(t, d, p)
			opt := evidence.Options{Request: cost.Request{Probes: 5, Rank: 10, Neighbours: nn}, Eps: 1,
				Precision: "f64", Gradient: true}
			if err := o.Rebuild(context.Background(), p, opt); err != nil {
				t.Fatal(err)
			}
			for away := range 2 {
				p.Lengthscales[0] *= 1 + 0.3*float64(away)
				p.Noise *= 1 + 0.5*float64(away)
				ev, err := o.Evaluate(context.Background(), p, opt)
				if err != nil {
					t.Fatal(err)
				}
				f := freeze(t, o, ev.Alpha)
				if got := f.value(t, p); math.Abs(got-ev.Lower) > 1e-8*(1+math.Abs(got)) {
					t.Errorf("%s nn %d: lower end %.10g, dense %.10g", kernel, nn, ev.Lower, got)
				}
				f.rest = func(r []float64) float64 { // what the gradient takes for r'K̂⁻¹r
					x := linalg.NewMatrix(o.n, 1)
					o.pre.FInvTo(x, linalg.Column(r))
					return o.b.stepAhead(o.lanczos.H) * o.e.Dot(x.Data, x.Data)
				}
				compareDifferences(t, f, p, ev)
			}
		}
	}
}

func compareDifferences(t *testing.T, f *frozen, p gp.Params, ev *evidence.Value) {
	t.Helper()
	grad := gptest.Flatten(ev.Gradient.Lengthscales, ev.Gradient.Variance, ev.Gradient.Noise, ev.Gradient.Mean)
	set := func(p *gp.Params) []*float64 {
		var at []*float64
		for j := range p.Lengthscales {
			at = append(at, &p.Lengthscales[j])
		}
		return append(at, &p.Variance, &p.Noise, &p.Mean)
	}
	for i, got := range grad {
		diff := func(h float64) float64 {
			up, down := p.Clone(), p.Clone()
			step := h * max(math.Abs(*set(&up)[i]), 0.1)
			*set(&up)[i] += step
			*set(&down)[i] -= step
			return (f.value(t, up) - f.value(t, down)) / (2 * step)
		}
		// Richardson: the error of fourth order is far below 1e-6.
		want := (4*diff(5e-4) - diff(1e-3)) / 3
		if math.Abs(got-want) > 1e-6*math.Abs(want)+1e-8*math.Abs(ev.LML) {
			t.Errorf("%s, component %d of %d: gradient %.9g, "+
				"difference %.9g (R %d)", p.Kernel, i, len(grad), got, want, ev.GradColumns)
		}
	}
}
