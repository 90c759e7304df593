package posterior

import (
	"context"
	"errors"
	"math"
	"slices"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
)

// Variances by iteration: for few rows, and for those that regressions leave too
// wide. For any x, with ρ = k* - K̂x and a at or below the spectrum of F⁻¹K̂F⁻ᵀ
// (the bound of Artemev et al. 2021 for the quadratic term, with k* for y),
//
//	k*'x + ρ'x <= q <= k*'x + ρ'x + ρ'P⁻¹ρ / a.
//
// With x = K̂_NN⁻¹ k*_N on the nearest rows N, 0 elsewhere, ρ is 0 on N and the
// left side is what conditioning on these rows alone gives. Where the interval is
// wider than asked, block conjugate gradients for K̂δ = ρ improve x, with the same
// two bounds at every pass. P of low rank alone makes the first step itself, from
// x = 0; the bounds are rigorous then, as K̂ >= P.

const (
	cgBatch   = 32
	cgNearest = 128
	// formSlack: P is K̂ >= P up to what its Q is not orthonormal by (linalg/precond/precond.go,
	// preLoss), ten times: of a form in P⁻¹ that is the whole variance nothing is left.
	formSlack = 1e-5
	// float32Variance is the ratio σ_f²/σ_n² above which float32 products could be
	// seen in a variance.
	float32Variance = 1e3
)

func transpose(a linalg.Matrix) linalg.Matrix {
	t := linalg.NewMatrix(a.Cols, a.Rows)
	for i := range a.Rows {
		for j, v := range a.Row(i) {
			t.Data[j*t.Stride+i] = v
		}
	}
	return t
}

// A cgInterval bounds the variances of one batch after the other. The
// iteration may use float32 products; the bounds that count come from a residual
// in float64.
type cgInterval struct {
	p          *Posterior
	fast, op64 linalg.SymOp
	tol        float64
	cg         *krylov.CG
	near       int     // nearest rows to start from; 0 for none
	all        []int32 // 0..n-1
	lo, hi     []float64
	size       []float64 // 1 + |x|_1
	entry      []float64 // rounding of entries K(x*, X)

	rows      []int         // put aside for the iteration
	k, x, rho linalg.Matrix // their columns, n×cgBatch
}

// newCGInterval returns the work areas for the variances at xs.
func newCGInterval(p *Posterior, tol float64, lo, hi []float64, xs linalg.Matrix) (*cgInterval, error) {
	n := p.N()
	w := &cgInterval{p: p, tol: tol, lo: lo, hi: hi, size: make([]float64, len(lo)),
		entry: make([]float64, len(lo)),
		cg:    krylov.NewCG(p.e, n, cgBatch)}
	if err := p.op.EntryRounding(w.entry, xs); err != nil {
		return nil, err
	}
	w.all = make([]int32, n)
	for i := range w.all {
		w.all[i] = int32(i)
	}
	w.op64 = p.op.With(kernelmv.F64)
	w.fast = w.op64
	if p.params.Variance <= float32Variance*p.params.Noise {
		w.fast = p.op.With(kernelmv.F32)
	}
	if !p.pre.NodeIsOne() {
		w.near = min(cgNearest, n)
	}
	w.k, w.x, w.rho = linalg.NewMatrix(n, cgBatch), linalg.NewMatrix(n, cgBatch),
		linalg.NewMatrix(n, cgBatch)
	return w, nil
}

// first bounds the variances at rows, number i of all and on, from their
// nearest rows, and puts those that need more aside for the iteration.
func (w *cgInterval) first(ctx context.Context, rows linalg.Matrix, i int) error {
	kt := linalg.NewMatrix(rows.Rows, w.p.N())
	if err := w.p.op.CrossTo(ctx, kt, rows, w.all); err != nil {
		return err
	}
	k := transpose(kt)
	x, rho := linalg.NewMatrix(k.Rows, k.Cols), k.Clone()
	lo, hi := w.lo[i:i+k.Cols], w.hi[i:i+k.Cols]
	w.anew(lo, hi)
	combs := make([]combination, k.Cols)
	for j := range combs {
		combs[j] = w.p.round.alone(w.entry[i+j])
	}
	if w.near > 0 {
		used, err := w.nearest(ctx, rows, k, x)
		if err != nil {
			return err
		}
		if err := w.subtract(ctx, rho, x, used); err != nil {
			return err
		}
		pr := linalg.NewMatrix(k.Rows, k.Cols)
		w.p.variancePrecond.SolveTo(pr, rho)
		w.p.round.combine(combs, x)
		w.certain(combs, k, x, rho, pr, lo, hi)
	}
	for j, c := range combs {
		w.size[i+j] = c.size
		if w.near > 0 && narrow(w.tol, lo[j], hi[j]) {
			continue
		}
		c := len(w.rows)
		for r := range k.Rows {
			w.k.Set(r, c, k.At(r, j))
			w.x.Set(r, c, x.At(r, j))
			w.rho.Set(r, c, rho.At(r, j))
		}
		if w.rows = append(w.rows, i+j); len(w.rows) == cgBatch {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// subtract sets rho = rho - K̂x, in float64, for x that is 0 outside the rows used.
func (w *cgInterval) subtract(ctx context.Context, rho, x linalg.Matrix, used []int) error {
	const chunk = 128
	kc := linalg.NewMatrix(rho.Rows, chunk)
	xs := linalg.NewMatrix(chunk, x.Cols)
	noise := w.p.op.Noise()
	for i := 0; i < len(used); i += chunk {
		part := used[i:min(i+chunk, len(used))]
		some := kc.Sub(0, kc.Rows, 0, len(part))
		if err := w.p.op.ColsTo(ctx, some, 0, part); err != nil {
			return err
		}
		xp := xs.Sub(0, len(part), 0, xs.Cols)
		for a, r := range part {
			copy(xp.Row(a), x.Row(r))
			out := rho.Row(r)
			for j, v := range xp.Row(a) {
				out[j] -= noise[r] * v
			}
		}
		w.p.e.GemmTo(rho, -1, some, false, xp, false, 1)
	}
	return nil
}

// flush iterates for the rows put aside.
func (w *cgInterval) flush(ctx context.Context) error {
	q := len(w.rows)
	if q == 0 {
		return nil
	}
	lo, hi, combs := make([]float64, q), make([]float64, q), make([]combination, q)
	for c, i := range w.rows {
		combs[c] = w.p.round.alone(w.entry[i])
	}
	n := w.p.N()
	k, x, rho := w.k.Sub(0, n, 0, q), w.x.Sub(0, n, 0, q), w.rho.Sub(0, n, 0, q)
	if err := w.run(ctx, combs, k, x, rho, lo, hi); err != nil {
		return err
	}
	for c, i := range w.rows {
		w.size[i] = max(w.size[i], combs[c].size)
		// Bounds of the nearest rows hold too.
		w.hi[i] = min(w.hi[i], hi[c])
		w.lo[i] = min(max(w.lo[i], lo[c]), w.hi[i])
	}
	w.rows = w.rows[:0]
	return nil
}

// run bounds the variances of the columns of k, from x with residual rho.
func (w *cgInterval) run(ctx context.Context, combs []combination, k, x, rho linalg.Matrix, lo, hi []float64) error {
	own := slices.Clone(combs)
	// A little closer than asked, for the residual computed from x to agree.
	if w.fast != w.op64 {
		if err := w.iterate(ctx, w.fast, 0.8*w.tol, k, x, rho); err != nil {
			return err
		}
		if done, err := w.residual(ctx, combs, k, x, rho, lo, hi); err != nil || done {
			return err
		}
	}
	if err := w.iterate(ctx, w.op64, 0.9*w.tol, k, x, rho); err != nil {
		return err
	}
	before, after := slices.Clone(lo), slices.Clone(hi)
	copy(combs, own)
	if _, err := w.residual(ctx, combs, k, x, rho, lo, hi); err != nil || w.fast == w.op64 {
		return err
	}
	for j := range lo { // both hold: what rounding has spoiled does not count
		lo[j], hi[j] = max(lo[j], before[j]), min(hi[j], after[j])
	}
	return nil
}

// residual sets rho = k - K̂x in float64 and bounds anew from it; done: closely enough.
func (w *cgInterval) residual(ctx context.Context, combs []combination, k, x, rho linalg.Matrix, lo,
	hi []float64) (done bool, err error) {
	y := linalg.NewMatrix(k.Rows, k.Cols)
	if err := w.op64.MulTo(ctx, y, x.Clone()); err != nil {
		return false, err
	}
	for i := range k.Rows {
		r, yi := rho.Row(i), y.Row(i)
		for j, v := range k.Row(i) {
			r[j] = v - yi[j]
		}
	}
	w.p.variancePrecond.SolveTo(y, rho)
	w.anew(lo, hi)
	w.p.round.combine(combs, x)
	return w.certain(combs, k, x, rho, y, lo, hi), nil
}

// anew sets the bounds that hold without any work.
func (w *cgInterval) anew(lo, hi []float64) {
	for j := range lo {
		lo[j], hi[j] = 0, w.p.params.Variance
	}
}

// iterate improves x, with residual rho, by conjugate gradients. Stagnation and a
// matrix that seems not to be definite are rounding: what is reached stands.
func (w *cgInterval) iterate(ctx context.Context, op linalg.SymOp, tol float64, k, x, rho linalg.Matrix) error {
	delta := linalg.NewMatrix(k.Rows, k.Cols)
	lo, hi := make([]float64, k.Cols), make([]float64, k.Cols)
	w.anew(lo, hi)
	_, err := w.cg.Solve(ctx, op, w.p.variancePrecond, delta, rho, krylov.CGOptions{
		Tol: 1e-3 * w.tol * math.Sqrt(w.p.params.Noise),
		OnPass: func(_ int, d, r linalg.Matrix, rpr []float64) bool {
			return w.bounds(tol, w.quadratic(k, x, d, r), rpr, lo, hi)
		}})
	if err != nil && !errors.Is(err, krylov.ErrNotDefinite) {
		return err
	}
	for i := range x.Rows {
		xi := x.Row(i)
		for j, v := range delta.Row(i) {
			xi[j] += v
		}
	}
	return nil
}

// quadratic returns (k + r)'(x + d) of every column; d without rows stands for 0.
func (w *cgInterval) quadratic(k, x, d, r linalg.Matrix) []float64 {
	q := make([]float64, k.Cols)
	for i := range k.Rows {
		ki, xi, ri := k.Row(i), x.Row(i), r.Row(i)
		if d.Rows > 0 {
			for j, v := range d.Row(i) {
				q[j] += (ki[j] + ri[j]) * (xi[j] + v)
			}
			continue
		}
		for j, v := range xi {
			q[j] += (ki[j] + ri[j]) * v
		}
	}
	return q
}

// bounds tightens lo and hi by the bounds at x, where q = (k + r)'x, and says whether
// every interval is narrow enough.
func (w *cgInterval) bounds(tol float64, q, rpr, lo, hi []float64) bool {
	done := true
	for j := range q {
		up := w.p.params.Variance - q[j]
		low := up - rpr[j]/w.p.node
		hi[j] = max(min(hi[j], up), 0)
		lo[j] = min(max(lo[j], low, 0), hi[j])
		done = done && narrow(tol, lo[j], hi[j])
	}
	return done
}

// certain is bounds for a residual r computed from x and pr = P⁻¹r, with what rounding
// may do.
func (w *cgInterval) certain(combs []combination, k, x, r, pr linalg.Matrix, lo, hi []float64) bool {
	done, round := true, w.p.round
	q, rpr := w.quadratic(k, x, linalg.Matrix{}, r), linalg.ColumnDots(r, pr)
	solved := make([]combination, len(q))
	w.p.round.combine(solved, pr)
	for j, c := range combs {
		off := 2 * round.top * c.size * c.loud
		up := w.p.params.Variance - q[j]
		rest := math.Sqrt(rpr[j]/w.p.node) + math.Sqrt(round.n/(w.p.node*round.least))*round.top*c.loud
		low := up - (1+formSlack)*rest*rest - off - 4*round.top*solved[j].size*solved[j].loud/w.p.node
		hi[j] = max(min(hi[j], up+off), 0)
		lo[j] = min(max(lo[j], low, 0), hi[j])
		done = done && narrow(w.tol, lo[j], hi[j])
	}
	return done
}

// narrow says whether the relative half width of (lo^1/2, hi^1/2) is at most tol.
func narrow(tol, lo, hi float64) bool {
	a, b := math.Sqrt(lo), math.Sqrt(hi)
	return b-a <= tol*(a+b)
}

// nearest sets the columns of x to K̂_NN⁻¹ k*_N on the nearest rows N, and
// returns the rows used by any of them, in increasing order.
func (w *cgInterval) nearest(ctx context.Context, rows, k, x linalg.Matrix) (used []int, err error) {
	idx, err := w.p.op.Nearest(ctx, rows, w.near)
	if err != nil {
		return nil, err
	}
	m := w.near
	b, v := linalg.NewMatrix(m, m), linalg.NewMatrix(m, 1)
	noise := w.p.op.Noise()
	seen := make([]bool, k.Rows)
	for j := range rows.Rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		near := idx[j*m : (j+1)*m]
		w.p.op.BlockTo(0, b, near)
		for a, i := range near {
			b.Data[a*b.Stride+a] += noise[i]
			v.Data[a] = k.At(int(i), j)
		}
		chol, err := w.p.e.NewCholesky(b)
		if err != nil {
			continue // rounding at a tiny noise: this row starts from 0
		}
		chol.SolveTo(v, v)
		for a, i := range near {
			x.Set(int(i), j, v.Data[a])
			seen[i] = true
		}
	}
	for i, s := range seen {
		if s {
			used = append(used, i)
		}
	}
	return used, nil
}
