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

// What float32 products do beyond the first order: errors E without pattern, of rms ε
// an entry, would move L by ‖K̂^-1/2 E K̂^-1/2‖_F²/4 = (ε tr K̂⁻¹)²/4. But E is another
// one in every product; the process takes its errors for directions, and L comes out
// too low by tooLow times that: 3.4 to 6.5 in 150 cases with 600 to 11121 rows, noise
// of 2e-1 to 3e-6 σ_f² and P of either kind. Where low rank leaves large eigenvalues to
// A, λ, it is up to λ largeA/n² more.
const (
	tooLow, tooLowError = 4.5, 2.5
	largeA              = 5000
	// entryError is ε in units of σ_f² where lengths are long, and as a rule less elsewhere.
	entryError = 9e-8
)

func secondOrder(entry, trace float64) float64 {
	size := entry * trace
	return size * size / 4
}

// coarse reports that float32 products are not good enough: what they do to first
// order is above 2 eps, or what is not known of the rest above eps/2.
func (r *run) coarse(t *tail) bool {
	return math.Abs(t.fix)/2 > 2*r.opt.Eps || t.unsure > r.opt.Eps/2
}

// tooCoarse foresees that, before any pass, by tr P⁻¹ from one probe: on elevators,
// pol, bike and kin40k within a fifth of the sum of squares of U.
func (o *krylovObjective) tooCoarse(p Params, eps float64) bool {
	z := linalg.NewMatrix(o.n, 1)
	for i := range o.n {
		z.Data[i] = o.probes.At(i, 0)
	}
	o.pre.FInvTransTo(z, z)
	return tooLowError*secondOrder(entryError*p.Variance, o.e.Dot(z.Data, z.Data)) > eps/2
}

// sample judges what float32 products have done. A few hundred rows of K in both
// precisions tell how much: where it is nothing, even in the worst case, r and q
// are those of the process. Otherwise one float64 product serves v and, after
// float32 products, a random combination z = Σ ±u_r, for which E[z'(K64 - K32)z]
// is the effect on tr log A; where that is not far below eps, all of U follows,
// and where the rows foresee it, all of U takes the place of z.
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
	doubt, likely, entry, err := r.sampleRows(x)
	second := secondOrder(entry, o.e.Dot(t.u.Data, t.u.Data))
	t.shift, t.unsure = tooLow*second, (tooLowError+largeA*o.b.high/float64(n*n))*second
	switch {
	case err != nil:
		return err
	case r.harmless() && doubt <= r.opt.Eps/20:
		t.doubt, t.q, t.kv = doubt, o.b.quadLow, t.own
		r.seen(t)
		return nil
	case likely > r.opt.Eps/4:
		return r.correctAll(t, true)
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
	return r.correctAll(t, false)
}

// worstError is the largest change of an eigenvalue of K̂ by float32 products that
// was seen (kernels card, section 7).
func (r *run) worstError() float64 { return 2.5e-9 * float64(r.o.n) * r.p.Variance }

// harmless reports that float32 products move no eigenvalue of K̂ by more than a
// hundredth.
func (r *run) harmless() bool {
	return r.worstError() < 0.01*slices.Min(r.o.op.Noise())
}

// sampleRows estimates v'Ev and z'Ez for E = K64 - K32 from a random sample of
// rows; x = [v, z]. doubt bounds half of both, likely is the size of half z'Ez to be
// expected: the mean as far as it is sure, and a sum of n errors without pattern.
// entry is the rms of E by |Ez|.
func (r *run) sampleRows(x linalg.Matrix) (doubt, likely, entry float64, err error) {
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
			return 0, 0, 0, err
		}
	}
	o.phases.product += time.Since(start).Seconds()
	for c := range 2 {
		sum, square, errors := 0.0, 0.0, 0.0
		for i, row := range at {
			e := k[0].At(i, c) - k[1].At(i, c)
			v := float64(n) * x.At(row, c) * e
			sum += v / float64(m)
			square += v * v / float64(m)
			errors += e * e / float64(m)
		}
		spread := max(square-sum*sum, 0)
		doubt += 0.5 * (math.Abs(sum) + 2*math.Sqrt(spread/float64(m)))
		likely = 0.5 * math.Sqrt(max(sum*sum-spread/float64(m), 0)+spread/float64(n))
		entry = errors
	}
	size := 0.0 // of z, the last
	for i := range n {
		size += x.At(i, 1) * x.At(i, 1)
	}
	return doubt, likely, math.Sqrt(entry / max(size, math.SmallestNonzeroFloat64)), nil
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

// correctAll corrects tr log A by the float64 product with every column of U, and
// takes r and q from it, too, if withV is set.
func (r *run) correctAll(t *tail, withV bool) error {
	n, rank := r.o.n, t.u.Cols
	x := t.u
	if withV {
		x = linalg.NewMatrix(n, rank+1)
		for i := range n {
			x.Set(i, copy(x.Row(i), t.u.Row(i)), t.v.Data[i])
		}
	}
	kx := linalg.NewMatrix(n, x.Cols)
	if err := r.exactly(kx, x); err != nil {
		return err
	}
	if withV {
		r.residual(t, kx.Sub(0, n, rank, rank+1))
	}
	exact := make([]float64, rank)
	for i := range n {
		for c, u := range t.u.Row(i) {
			exact[c] += kx.At(i, c) * u
		}
	}
	for c, v := range exact {
		t.fix += v - t.ku[c]
	}
	t.ku, t.doubt = exact, 0
	return nil
}
