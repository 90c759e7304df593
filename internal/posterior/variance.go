package posterior

import (
	"context"
	"errors"
	"math"

	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// The variance of f(x*), σ_f² - q with q = k*'K̂⁻¹k*, by one of three ways:
//
//	dense     σ_f² - |L⁻¹k*|² for K̂ = LL', where the recipe says so
//	probes    a regression on the nearest rows (and V), an upper bound, and its gap
//	          from probes (probes.go); rows that stay too wide are regressed on more
//	iterate   conjugate gradients (cgvariance.go), for what is still too wide, and
//	          for a few rows, which do not pay for the probes

const (
	varianceBlock = 1024 // rows at a time
	// fewRows is how many rows a model must have been asked for, in all, before it
	// makes the probes: those cost as much as iterations for twice as many rows.
	fewRows = 2 * gaugeProbes
)

// nearestTiers are the numbers of nearest rows to regress on, without and with V.
var nearestTiers = [2][]int{{80, 256, 512, 1024, 2048}, {56, 128, 384}}

// iterationCost: nn nearest rows cost a row nn³/10 cycles, the iteration about 20
// passes of n²/8. On kin40k (n = 26800) a fifth of the rows is too wide with 512,
// none with 1024: 40 ms instead of 700 for each of these.
const iterationCost = 25

func dearerThanIteration(nn, n int) bool { return nn*nn*nn > iterationCost*n*n }

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
		return v, p.dense(ctx, std, v)
	}
	if p.askedSD += std.Rows; p.askedSD >= fewRows && p.gauge == nil && !p.noGauge && !opt.Rigorous {
		g, err := p.newGauge(ctx, true)
		switch {
		case errors.Is(err, errNoGauge):
			p.noGauge = true // such a matrix is left to the iteration
		case err != nil:
			return nil, err
		}
		p.gauge = g
	}
	if p.gauge != nil && !opt.Rigorous {
		var wide []int
		for i := 0; i < std.Rows; i += varianceBlock {
			block := all[i:min(i+varianceBlock, std.Rows)]
			left, err := p.regress(ctx, std, block, opt.SDTol, v)
			if err != nil {
				return nil, err
			}
			wide = append(wide, left...)
		}
		all = wide
	}
	return v, p.iterate(ctx, std, all, opt.SDTol, v)
}

// dense sets the variances σ_f² - |L⁻¹k|².
func (p *Posterior) dense(ctx context.Context, std linalg.Matrix, v *varianceBounds) error {
	const block = 128
	rows := make([]int32, p.N())
	for i := range rows {
		rows[i] = int32(i)
	}
	entry := make([]float64, std.Rows)
	if err := p.op.EntryRounding(entry, std); err != nil {
		return err
	}
	for i := 0; i < std.Rows; i += block {
		j := min(i+block, std.Rows)
		kt, combs := linalg.NewMatrix(j-i, p.N()), make([]combination, j-i)
		if err := p.op.CrossTo(ctx, kt, std.Sub(i, j, 0, std.Cols), rows); err != nil {
			return err
		}
		for a := range j - i { // the mean of the weights is off by k*'δ
			v.shift[i+a] = p.e.Dot(kt.Row(a), p.delta)
		}
		k := transpose(kt)
		p.chol.SolveLTo(k, k)
		q, x := linalg.ColumnDots(k, k), k
		p.chol.SolveLTransTo(x, x)
		for c := range combs {
			combs[c] = p.round.alone(entry[i+c])
		}
		p.round.combine(combs, x)
		for c := range j - i {
			off := 2 * p.round.top * combs[c].size * combs[c].loud
			hi := max(p.params.Variance-q[c], 0)
			v.lo[i+c], v.hi[i+c] = max(hi-off, 0), hi+off
			v.width[i+c] = p.round.residual * combs[c].size
		}
	}
	return nil
}

// iterate brackets the given rows by conjugate gradients.
func (p *Posterior) iterate(ctx context.Context, std linalg.Matrix, rows []int, tol float64,
	v *varianceBounds) error {
	if len(rows) == 0 {
		return nil
	}
	if err := p.sharpen(ctx); err != nil {
		return err
	}
	xs, lo, hi := linalg.NewMatrix(len(rows), std.Cols), make([]float64, len(rows)), make([]float64, len(rows))
	for c, i := range rows {
		copy(xs.Row(c), std.Row(i))
	}
	w, err := newBracketWork(p, tol, lo, hi, xs)
	if err != nil {
		return err
	}
	for i := 0; i < len(rows); i += bracketBatch {
		if err := w.first(ctx, xs.Sub(i, min(i+bracketBatch, len(rows)), 0, xs.Cols), i); err != nil {
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

// extended returns the operator of the training rows and, after them, others.
func (p *Posterior) extended(xs linalg.Matrix) (*kernelmv.Op, error) {
	x := stack(p.data.X, xs)
	noise := make([]float64, x.Rows)
	copy(noise, p.op.Noise())
	return kernelmv.NewOp(p.e, x, p.kernel(), noise)
}

// A regressing is a block of rows to predict that are bracketed by regressions and the
// gauge.
type regressing struct {
	p    *Posterior
	v    *varianceBounds
	rows []int         // of std
	xs   linalg.Matrix // these
	ext  *kernelmv.Op  // the training rows and, after them, these
	low  linalg.Matrix // B of all of them
	kg   linalg.Matrix // [V'k*, (ω - V V'ε)'k*]
	own  []float64     // rounding of entries
	tol  float64
	// settled says of a row that rounding alone keeps its bounds apart: more rows would not help.
	settled []bool
}

// regress brackets the given rows of std, at most varianceBlock, by regressions
// and the gauge, and returns those that stay wider than tol.
func (p *Posterior) regress(ctx context.Context, std linalg.Matrix, rows []int, tol float64,
	v *varianceBounds) (wide []int, err error) {
	g, n := p.gauge, p.N()
	r := &regressing{p: p, v: v, rows: rows, xs: linalg.NewMatrix(len(rows), std.Cols), tol: tol,
		own: make([]float64, len(rows)), settled: make([]bool, len(rows))}
	for c, i := range rows {
		copy(r.xs.Row(c), std.Row(i))
	}
	if r.ext, err = p.extended(r.xs); err != nil {
		return nil, err
	}
	if err := p.op.EntryRounding(r.own, r.xs); err != nil {
		return nil, err
	}
	r.kg = linalg.NewMatrix(len(rows), g.cols.Cols)
	if err := p.op.CrossMulTo(ctx, r.kg, r.xs, g.cols); err != nil {
		return nil, err
	}
	at := make([]int, len(rows)) // places in rows
	for c := range at {
		at[c] = c
	}
	narrower := func() {
		left := at[:0]
		for _, c := range at {
			if i := rows[c]; !r.settled[c] && !narrow(tol, v.lo[i], v.hi[i]) {
				left = append(left, c)
			}
		}
		at = left
	}
	r.low = linalg.Matrix{Rows: n + len(rows)}
	tiers := nearestTiers[0]
	if g.rank > 0 {
		r.low = g.low.Sub(0, n+len(rows), 0, g.rank)
		r.low.Sub(n, r.low.Rows, 0, g.rank).CopyFrom(r.kg.Sub(0, len(rows), 0, g.rank))
		tiers = nearestTiers[1]
		for _, c := range at { // V alone
			own := r.kg.Row(c)[:g.rank]
			r.bracket(c, p.params.Variance-p.e.Dot(own, own), nil, nil)
		}
		narrower()
	}
	for _, nn := range tiers {
		if len(at) == 0 || dearerThanIteration(nn, n) {
			break
		}
		if err := r.on(ctx, at, min(nn, n)); err != nil {
			return nil, err
		}
		if narrower(); nn >= n {
			break
		}
	}
	for _, c := range at {
		wide = append(wide, rows[c])
	}
	return wide, nil
}

// on brackets the rows at those places by a regression on nn nearest rows.
func (r *regressing) on(ctx context.Context, at []int, nn int) error {
	p, n := r.p, r.p.N()
	near, err := p.op.Nearest(ctx, pickRows(r.xs, at), nn)
	if err != nil {
		return err
	}
	lists := make([]int32, 0, len(at)*(1+nn))
	for a, c := range at {
		lists = append(lists, int32(n+c))
		lists = append(lists, near[a*nn:(a+1)*nn]...)
	}
	coef, variance := linalg.NewMatrix(len(at), nn), make([]float64, len(at))
	if err := p.e.Regress(ctx, r.ext, r.low, p.gauge.noise[:n+len(r.rows)], lists, coef, variance); err != nil {
		return err
	}
	p.e.Par.For(len(at), func(_, a int) {
		r.bracket(at[a], variance[a], near[a*nn:(a+1)*nn], coef.Row(a))
	})
	return ctx.Err()
}

// bracket takes the bounds of the row at place c from a regression on the rows near with
// coefficients coef, which has left that variance.
func (r *regressing) bracket(c int, variance float64, near []int32, coef []float64) {
	g, round := r.p.gauge, r.p.round
	i, row := r.rows[c], r.kg.Row(c)
	left := make([]float64, gaugeProbes+1) // ω'ρ of the probes, and -x'r
	copy(left, row[g.rank:])
	left[gaugeProbes] -= r.p.e.Dot(row[:len(g.vr)], g.vr)
	comb := round.alone(r.own[c])
	for t, b := range coef {
		k := int(near[t])
		round.add(&comb, k, b)
		if g.rank > 0 {
			variance -= b * b * g.noise[k] * (ridge / (1 + ridge))
		}
		r.p.e.Axpy(-b, g.own.Row(k), left)
	}
	sum := r.p.e.Dot(left[:gaugeProbes], left[:gaugeProbes])
	off := round.regression(comb, g.rank, len(near)) + g.slackV(comb.size, r.own[c])
	lo, hi := g.between(variance, off, sum, (comb.loud+float64(g.rank)*comb.size*0x1p-52)*g.reach)
	if !gp.Finite(lo) || !gp.Finite(hi) {
		return // coefficients that are nothing but rounding
	}
	r.v.meet(i, lo, hi)
	lo, hi = g.between(variance, 0, sum, 0)
	r.settled[c] = narrow(r.tol, max(lo, 0), max(hi, 0))
	gap := g.most * sum
	size := comb.size
	if g.rank > 0 {
		size = math.Inf(1)
	}
	if w := math.Sqrt(gap*g.rest) + round.mean(size, gap); w < r.v.width[i] {
		r.v.shift[i], r.v.width[i] = -left[gaugeProbes], w
	}
}

// pickRows returns some rows of a.
func pickRows(a linalg.Matrix, rows []int) linalg.Matrix {
	some := linalg.NewMatrix(len(rows), a.Cols)
	for i, r := range rows {
		copy(some.Row(i), a.Row(r))
	}
	return some
}
