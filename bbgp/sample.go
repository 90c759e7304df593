package bbgp

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// What float32 products have done to an evaluation: judged by a sample,
// corrected by float64 products where it matters.

// entryError is the rms of K64 - K32 in units of s2: without pattern, such errors
// E leave ‖K̂^-1/2 E K̂^-1/2‖_F²/4 nats after a correction of first order.
const entryError = 5e-8

func secondOrder(variance, trace float64) float64 {
	size := entryError * variance * trace
	return size * size / 4
}

// coarse reports that the first-order correction does not make float32 products
// good enough: it is above eps/4 and what it leaves is not negligible; or it is
// above 2 eps.
func (r *run) coarse(t *tail) bool {
	first := math.Abs(t.fix) / 2
	second := secondOrder(r.p.Variance, r.o.e.Dot(t.u.Data, t.u.Data))
	return first > 2*r.opt.Eps || first > r.opt.Eps/4 && second > r.opt.Eps/20
}

// tooCoarse foresees that, before any pass, by tr P⁻¹ from one probe: on elevators,
// pol, bike and kin40k within a fifth of the sum of squares of U.
func (o *krylovObjective) tooCoarse(p Params, eps float64) bool {
	z := linalg.NewMatrix(o.n, 1)
	for i := range o.n {
		z.Data[i] = o.probes.At(i, 0)
	}
	o.pre.FInvTransTo(z, z)
	return secondOrder(p.Variance, o.e.Dot(z.Data, z.Data)) > eps/20
}

// sample judges what float32 products have done. Where they are harmless in the
// worst case, a few hundred rows of K in both precisions say how much, and r and
// q are those of the process. Otherwise one float64 product serves v and, after
// float32 products, a random combination z = Σ ±u_r, for which E[z'(K64 - K32)z]
// is the effect on tr log A; where that is not far below eps, all of U follows.
func (r *run) sample(t *tail) error {
	o, n := r.o, r.o.n
	if r.prec == kernelmv.F64 {
		kv := linalg.NewMatrix(n, 1)
		if err := r.exactly(kv, t.v); err != nil {
			return err
		}
		r.residual(t, kv)
		return nil
	}
	signs, x := signProbes(t.u.Cols, 1, r.opt.Seed^0x73616d706c65), linalg.NewMatrix(n, 2)
	o.e.GemmTo(x.Sub(0, n, 1, 2), 1, t.u, false, signs, false, 0)
	for i, v := range t.v.Data {
		x.Data[i*2] = v
	}
	if r.harmless() {
		if ok, err := r.sampleRows(t, x); err != nil || ok {
			return err
		}
	}
	kx := linalg.NewMatrix(n, 2)
	if err := r.exactly(kx, x); err != nil {
		return err
	}
	r.residual(t, kx)
	// z'K32 z = (Y s)'H(Y s), with s the signs.
	h := o.lanczos.H
	ys, hys := linalg.NewMatrix(h.Dim(), 1), linalg.NewMatrix(h.Dim(), 1)
	o.e.GemmTo(ys, 1, t.y, false, signs, false, 0)
	h.MulTo(hys, ys)
	effect := 0.0
	for i := range n {
		effect += x.Data[2*i+1] * kx.Data[2*i+1]
	}
	for i, v := range ys.Data {
		effect -= v * hys.Data[i]
	}
	if t.doubt = 0.5 * math.Abs(effect); t.doubt <= r.opt.Eps/8 {
		return nil
	}
	return r.correctAll(t)
}

// harmless reports that float32 products move no eigenvalue of K̂ by more than a
// hundredth, in the worst case seen: 2.5e-9 n s2 / noise (kernels card, section 7).
func (r *run) harmless() bool {
	return 2.5e-9*float64(r.o.n)*r.p.Variance < 0.01*slices.Min(r.o.op.Noise())
}

// sampleRows estimates v'Ev and z'Ez for E = K64 - K32 from a random sample of
// rows; x = [v, z]. If that is well below eps, the residual is that of the
// process and the answer true.
func (r *run) sampleRows(t *tail, x linalg.Matrix) (ok bool, err error) {
	const rows = 240
	o, n := r.o, r.o.n
	m := min(rows, n)
	rng := rand.New(rand.NewPCG(r.opt.Seed, 0x726f7773))
	xs, at := linalg.NewMatrix(m, o.d.X.Cols), rng.Perm(n)[:m]
	for i, row := range at {
		copy(xs.Row(i), o.d.X.Row(row))
	}
	start := time.Now()
	kept := o.op.Precision()
	defer o.op.SetPrecision(kept)
	var k [2]linalg.Matrix
	for i, prec := range []kernelmv.Precision{kernelmv.F64, kernelmv.F32} {
		k[i] = linalg.NewMatrix(m, 2)
		o.op.SetPrecision(prec)
		if err := o.op.CrossMulTo(r.ctx, k[i], xs, x); err != nil {
			return false, err
		}
	}
	o.phases.product += time.Since(start).Seconds()
	for c := range 2 {
		sum, square := 0.0, 0.0
		for i, row := range at {
			v := float64(n) * x.At(row, c) * (k[0].At(i, c) - k[1].At(i, c))
			sum += v / float64(m)
			square += v * v / float64(m)
		}
		t.doubt += 0.5 * (math.Abs(sum) + 2*math.Sqrt(max(square-sum*sum, 0)/float64(m)))
	}
	if t.doubt > r.opt.Eps/20 {
		t.doubt = 0
		return false, nil
	}
	t.q, t.kv = o.b.quadLow, t.own
	r.seen(t)
	return true, nil
}

// seen takes u = Nr and r'Nr from the process.
func (r *run) seen(t *tail) {
	o := r.o
	start := time.Now()
	o.lanczos.NextTo(t.w, o.b.weighted)
	o.pre.FInvTransTo(t.w, t.w)
	for i := range t.w.Data {
		t.w.Data[i] = -t.w.Data[i]
	}
	o.phases.precond += time.Since(start).Seconds()
	t.rest = o.b.rest
	t.wkv = o.e.Dot(t.w.Data, r.resid.Data) - t.rest
}

// correctAll corrects tr log A by the product with every column of U.
func (r *run) correctAll(t *tail) error {
	ku := linalg.NewMatrix(r.o.n, t.u.Cols)
	if err := r.exactly(ku, t.u); err != nil {
		return err
	}
	exact := make([]float64, t.u.Cols)
	for i := range ku.Rows {
		for c, v := range ku.Row(i) {
			exact[c] += v * t.u.At(i, c)
		}
	}
	for c, v := range exact {
		t.fix += v - t.ku[c]
	}
	t.ku, t.doubt = exact, 0
	return nil
}
