package posterior

import (
	"context"
	"errors"
	"math"

	"bbgp.dev/linalg"
)

// The variance of f(x*), σ_f² - q with q = k*'K̂⁻¹k*, by one of three ways:
//
//	dense     σ_f² - |L⁻¹k*|² for K̂ = LL', where the spec says so
//	probes    a regression on the nearest rows (and V), an upper bound, and its gap
//	          from probes (probes.go); rows that stay too wide are regressed on more
//	iterate   conjugate gradients (cgvariance.go), for what is still too wide, and
//	          for a few rows, which do not pay for the probes unless rounding leaves them unknown

const (
	varianceBlock = 1024 // rows at a time at most
	// fewRows is how many rows a model must have been asked for, in all, before it
	// makes the probes: those cost as much as iterations for twice as many rows.
	fewRows = 2 * probeCount
)

// Bounds of rows, all in standardised units, with what rounding may do to them
// (rounding.go).
type varianceBounds struct {
	lo, hi []float64 // of var f
	// The exact mean differs from that of the weights by shift ± width.
	shift, width []float64
}

// newVarianceBounds returns what is known of n rows without any work.
func newVarianceBounds(n int, variance float64) *varianceBounds {
	b := make([][]float64, 4)
	for i := range b {
		b[i] = make([]float64, n)
	}
	v := &varianceBounds{b[0], b[1], b[2], b[3]}
	for i := range v.hi {
		v.hi[i], v.width[i] = variance, math.Inf(1)
	}
	return v
}

// meet takes what other bounds of row i add.
func (v *varianceBounds) meet(i int, lo, hi float64) {
	v.hi[i] = min(v.hi[i], max(hi, 0))
	v.lo[i] = min(max(v.lo[i], lo), v.hi[i])
}

// variances returns bounds lo <= var <= hi at standardised rows, 0 <= lo, with
// the relative half width of (lo^1/2, hi^1/2) at most SDTol where rounding allows.
func (p *Posterior) variances(ctx context.Context, std linalg.Matrix, opt Options) (*varianceBounds,
	error) {
	v := newVarianceBounds(std.Rows, p.params.Variance)
	p.round.weigh(p.weights)
	for i := range v.width {
		v.width[i] = p.meanError + p.round.mean(math.Inf(1), 0)
	}
	all := make([]int, std.Rows)
	for i := range all {
		all[i] = i
	}
	if p.chol != nil {
		return v, p.dense(ctx, std, opt, v)
	}
	p.askedSD += std.Rows
	if err := p.makeProbes(ctx, p.askedSD >= fewRows && !opt.Rigorous); err != nil {
		return nil, err
	}
	tooWide, err := all, error(nil)
	if p.probes != nil && !opt.Rigorous {
		var rounded []int
		if tooWide, rounded, err = p.regressAll(ctx, std, all, opt.SDTol, v); err != nil {
			return nil, err
		}
		if err := p.iterateRounded(ctx, std, rounded, opt.SDTol, v); err != nil {
			return nil, err
		}
	}
	if err := p.iterate(ctx, std, tooWide, opt.SDTol, v); err != nil || p.probes != nil || opt.Rigorous {
		return v, err
	}
	return v, p.regressUnknown(ctx, std, opt.SDTol, v)
}

// makeProbes makes the probes, where that is asked for and they are not there.
func (p *Posterior) makeProbes(ctx context.Context, asked bool) error {
	if !asked || p.probes != nil || p.noProbes {
		return nil
	}
	g, err := p.newGapProbes(ctx, true)
	if errors.Is(err, errNoProbes) {
		p.noProbes = true // such a matrix is left to the iteration
		return nil
	}
	p.probes = g
	return err
}

// regressAll bounds the given rows by regressions and the probes; tooWide and rounded as those of regress.
func (p *Posterior) regressAll(ctx context.Context, std linalg.Matrix, rows []int, tol float64,
	v *varianceBounds) (tooWide, rounded []int, err error) {
	for i := 0; i < len(rows); i += p.probes.size.Rows {
		block := rows[i:min(i+p.probes.size.Rows, len(rows))]
		left, open, err := p.regress(ctx, std, block, tol, v)
		if err != nil {
			return nil, nil, err
		}
		tooWide, rounded = append(tooWide, left...), append(rounded, open...)
	}
	return tooWide, rounded, nil
}

// unknownWidth is the relative half width from which a deviation that an iteration has left is unknown.
const unknownWidth = 0.25

// regressUnknown makes the probes after all for a few rows of which iterations tell next to nothing: they lose more to
// rounding where the noise is a tiny part of σ_f² than regressions on near rows do.
func (p *Posterior) regressUnknown(ctx context.Context, std linalg.Matrix, tol float64, v *varianceBounds) error {
	var unknown []int
	for i := range v.lo {
		if !narrow(max(tol, unknownWidth), v.lo[i], v.hi[i]) {
			unknown = append(unknown, i)
		}
	}
	if err := p.makeProbes(ctx, len(unknown) > 0); err != nil || p.probes == nil {
		return err
	}
	_, _, err := p.regressAll(ctx, std, unknown, tol, v)
	return err
}

// roundedGain is the part of its width that a variance has to lose by the iteration for that to be worth its cost.
const roundedGain = 0.5

// iterateRounded iterates for rows that rounding keeps from being narrow. V carries what is explained in numbers of
// σ_f, and where that is hundreds of times the noise, as smooth functions have it, their rounding is more than what is
// left; an iteration for the row itself has weights of about 1. Where those are lost as well the first rows tell, and
// the others are left alone.
func (p *Posterior) iterateRounded(ctx context.Context, std linalg.Matrix, rows []int, tol float64,
	v *varianceBounds) error {
	for len(rows) > 0 && !p.lost {
		part := rows[:min(cgBatch, len(rows))]
		if p.gained {
			part = rows
		}
		before, better := v.of(part), 0
		if err := p.iterate(ctx, std, part, tol, v); err != nil {
			return err
		}
		for k, i := range part {
			if v.hi[i]-v.lo[i] <= (1-roundedGain)*(before.Hi[k]-before.Lo[k]) {
				better++
			}
		}
		p.gained = p.gained || 2*better >= len(part)
		p.lost, rows = !p.gained, rows[len(part):]
	}
	return nil
}

// dense sets the variances σ_f² - |L⁻¹k|². Ranks share blocks of rows out.
func (p *Posterior) dense(ctx context.Context, std linalg.Matrix, opt Options, v *varianceBounds) error {
	const block = 128
	if err := p.needDelta(ctx); err != nil {
		return err
	}
	rows := make([]int32, p.N())
	for i := range rows {
		rows[i] = int32(i)
	}
	entry := make([]float64, std.Rows)
	if err := p.op.EntryRounding(entry, std); err != nil {
		return err
	}
	blocks := make([][]int, 0, (std.Rows+block-1)/block)
	for i := 0; i < std.Rows; i += block {
		blocks = append(blocks, span(i, min(i+block, std.Rows)))
	}
	found, err := linalg.Tasks(ctx, p.e, len(blocks), func(ctx context.Context, b int) (rowBounds, error) {
		i, count := blocks[b][0], len(blocks[b])
		kt, combs := linalg.NewMatrix(count, p.N()), make([]combination, count)
		if err := p.op.CrossTo(ctx, kt, std.Sub(i, i+count, 0, std.Cols), rows); err != nil {
			return rowBounds{}, err
		}
		for a := range count { // the mean of the weights is off by k*'δ
			v.shift[i+a] = p.e.Dot(kt.Row(a), p.delta)
		}
		k := transpose(kt)
		p.chol.SolveLTo(k, k)
		q := linalg.ColumnDots(k, k)
		if !p.settled(combs, entry[i:i+count], q, v, i, opt) {
			p.chol.SolveLTransTo(k, k)
			for c := range combs {
				combs[c] = p.round.alone(entry[i+c])
			}
			p.round.combine(combs, k)
			p.bound(combs, q, v, i)
		}
		return v.of(blocks[b]), nil
	})
	for b := range found {
		v.set(blocks[b], found[b])
	}
	return err
}

// smallRounding is the share of the tolerances asked for below which bounds of rounding are not made closer.
const smallRounding = 0.01

// settled bounds rows from i on by what their variances say of x = K̂⁻¹k* (rounding.go), first by that of f*
// alone, then by those found so. It saves the second half of the solution where that is close enough for all of them,
// which it tells.
func (p *Posterior) settled(combs []combination, entry, q []float64, v *varianceBounds, i int, opt Options) bool {
	for range 2 {
		for c := range combs {
			combs[c] = p.round.within(entry[c], min(v.hi[i+c], p.params.Variance))
		}
		p.bound(combs, q, v, i)
	}
	mean := MeanTol
	if opt.MeanTol > 0 {
		mean = min(mean, opt.MeanTol)
	}
	for c := range combs {
		lo, hi, width := v.lo[i+c], v.hi[i+c], v.width[i+c]
		if !(hi-lo <= smallRounding*opt.SDTol*lo && width <= smallRounding*mean) {
			return false
		}
	}
	return true
}

// bound sets the bounds of rows from i on, of which q was computed with what rounding makes of combs.
func (p *Posterior) bound(combs []combination, q []float64, v *varianceBounds, i int) {
	for c, comb := range combs {
		off, hi := 2*p.round.top*comb.size*comb.loud, max(p.params.Variance-q[c], 0)
		v.lo[i+c], v.hi[i+c] = max(hi-off, 0), hi+off
		v.width[i+c] = p.round.residual * comb.size
	}
}

// iterate bounds the given rows by conjugate gradients.
func (p *Posterior) iterate(ctx context.Context, std linalg.Matrix, rows []int, tol float64,
	v *varianceBounds) error {
	if len(rows) == 0 {
		return nil
	}
	if err := p.preconditionVariances(ctx); err != nil {
		return err
	}
	xs, lo, hi := linalg.NewMatrix(len(rows), std.Cols), make([]float64, len(rows)), make([]float64, len(rows))
	for c, i := range rows {
		copy(xs.Row(c), std.Row(i))
	}
	w, err := newCGInterval(p, tol, lo, hi, xs)
	if err != nil {
		return err
	}
	for i := 0; i < len(rows); i += cgBatch {
		if err := w.first(ctx, xs.Sub(i, min(i+cgBatch, len(rows)), 0, xs.Cols), i); err != nil {
			return err
		}
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	for c, i := range rows {
		v.meet(i, lo[c], hi[c]) // bounds of the regressions hold too
		if off := p.meanError + p.round.mean(w.size[c], hi[c]-lo[c]); off < v.width[i] {
			v.shift[i], v.width[i] = 0, off
		}
	}
	return nil
}
