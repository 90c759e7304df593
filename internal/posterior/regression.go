package posterior

import (
	"context"
	"math"

	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/precond"
)

// Variances from above by regression on near rows, and on V: what a combination
// f* - b'y_N leaves is no less than var(f*|y), and the probes (probes.go) measure by how
// much it is more. Rows that stay too wide are regressed on more.

// nearestTiers are the numbers of nearest rows to regress on, without and with V. The time of a row
// goes as their cube, with V as their square, so they grow by about 2^1/2: by steps of 2 the rows that
// 160 leave too wide took twice as long.
var nearestTiers = [2][]int{{80, 112, 160, 224, 320, 448, 640, 896, 1280, 2048}, {56, 88, 128, 192, 272, 384, 544}}

// iterationCost: nn nearest rows cost a row nn³/10 cycles, the iteration about 20
// passes of n²/8. On kin40k (n = 26800) a fifth of the rows is too wide with 512,
// none with 1024: 40 ms instead of 700 for each of these.
const iterationCost = 25

func dearerThanIteration(nn, n int) bool { return nn*nn*nn > iterationCost*n*n }

// extended returns the operator of the training rows and, after them, others.
func (p *Posterior) extended(xs linalg.Matrix) (*kernelmv.Op, error) {
	x := stack(p.data.X, xs)
	noise := make([]float64, x.Rows)
	copy(noise, p.op.Noise())
	return kernelmv.NewOp(p.e, x, p.kernel(), noise)
}

// settledWidth is how many times as wide as without rounding bounds are of which that is what is left. Below it more
// rows gain more, and cost less than an iteration.
const settledWidth = 1.25

// A regression is a block of rows to predict that are bounded by regressions and the
// gapProbes.
type regression struct {
	p    *Posterior
	v    *varianceBounds
	rows []int         // of std
	xs   linalg.Matrix // these
	ext  *kernelmv.Op  // the training rows and, after them, these
	low  linalg.Matrix // B of all of them
	kg   linalg.Matrix // [V'k*, (ω - V V'ε)'k*]
	own  []float64     // rounding of entries
	tol  float64
	// settled says of a row that its bounds would be narrow but for rounding: more rows would not help.
	settled []bool
}

// newRegression returns the block of the given rows of std.
func (p *Posterior) newRegression(ctx context.Context, std linalg.Matrix, rows []int, tol float64,
	v *varianceBounds) (r *regression, err error) {
	r = &regression{p: p, v: v, rows: rows, xs: linalg.NewMatrix(len(rows), std.Cols), tol: tol,
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
	r.low = linalg.Matrix{Rows: p.N() + len(rows)}
	r.kg = linalg.NewMatrix(len(rows), p.probes.cols.Cols)
	return r, p.op.CrossMulTo(ctx, r.kg, r.xs, p.probes.cols)
}

// regress bounds the given rows of std, at most g.size.Rows, by regressions
// and the probes, and returns those that stay wider than tol, and those that would not but for
// what rounding may do.
func (p *Posterior) regress(ctx context.Context, std linalg.Matrix, rows []int, tol float64,
	v *varianceBounds) (tooWide, rounded []int, err error) {
	g, n := p.probes, p.N()
	r, err := p.newRegression(ctx, std, rows, tol, v)
	if err != nil {
		return nil, nil, err
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
	tiers := nearestTiers[0]
	if g.rank > 0 {
		r.low = g.low.Sub(0, n+len(rows), 0, g.rank)
		r.low.Sub(n, r.low.Rows, 0, g.rank).CopyFrom(r.kg.Sub(0, len(rows), 0, g.rank))
		tiers = nearestTiers[1]
		for _, c := range at { // V alone
			own := r.kg.Row(c)[:g.rank]
			r.bound(c, p.params.Variance-p.e.Dot(own, own), nil, nil)
		}
		narrower()
	}
	for _, nn := range tiers {
		if len(at) == 0 || dearerThanIteration(nn, n) || nn > g.size.Nearest {
			break
		}
		if err := r.on(ctx, at, min(nn, n)); err != nil {
			return nil, nil, err
		}
		narrower()
		if nn >= n {
			break
		}
	}
	for _, c := range at {
		tooWide = append(tooWide, rows[c])
	}
	for c, i := range rows {
		if r.settled[c] && !narrow(tol, v.lo[i], v.hi[i]) {
			rounded = append(rounded, i)
		}
	}
	return tooWide, rounded, nil
}

// on bounds the rows at those places by a regression on nn nearest rows.
func (r *regression) on(ctx context.Context, at []int, nn int) error {
	p := r.p
	near, err := p.op.Nearest(ctx, pickRows(r.xs, at), nn)
	if err != nil {
		return err
	}
	if nn >= groupNear && p.probes.rank == 0 {
		alone, err := r.inGroups(ctx, at, near, nn)
		if err != nil {
			return err
		}
		some, rest := make([]int, len(alone)), make([]int32, 0, len(alone)*nn)
		for a, i := range alone {
			some[a] = at[i]
			rest = append(rest, near[i*nn:(i+1)*nn]...)
		}
		at, near = some, rest
	}
	return r.single(ctx, at, near, nn)
}

// single bounds the rows at those places by a factor each, on their nearest rows near (·×nn).
func (r *regression) single(ctx context.Context, at []int, near []int32, nn int) error {
	p, n := r.p, r.p.N()
	lists := make([]int32, 0, len(at)*(1+nn))
	for a, c := range at {
		lists = append(lists, int32(n+c))
		lists = append(lists, near[a*nn:(a+1)*nn]...)
	}
	coef, variance := linalg.NewMatrix(len(at), nn), make([]float64, len(at))
	if err := precond.Regress(ctx, p.e, r.ext, r.low, p.probes.noise[:n+len(r.rows)], lists, coef,
		variance); err != nil {
		return err
	}
	p.e.Par.For(len(at), func(_, a int) {
		r.bound(at[a], variance[a], near[a*nn:(a+1)*nn], coef.Row(a))
	})
	return ctx.Err()
}

// bound takes the bounds of the row at place c from a regression on the rows near with
// coefficients coef, which has left that variance.
func (r *regression) bound(c int, variance float64, near []int32, coef []float64) {
	g, round := r.p.probes, r.p.round
	i, row := r.rows[c], r.kg.Row(c)
	left := make([]float64, probeCount+1) // ω'ρ of the probes, and -x'r
	copy(left, row[g.rank:])
	left[probeCount] -= r.p.e.Dot(row[:len(g.vr)], g.vr)
	comb := round.alone(r.own[c])
	for t, b := range coef {
		k := int(near[t])
		round.add(&comb, k, b)
		if g.rank > 0 {
			variance -= b * b * g.noise[k] * (ridge / (1 + ridge))
		}
		r.p.e.Axpy(-b, g.own.Row(k), left)
	}
	sum := r.p.e.Dot(left[:probeCount], left[:probeCount])
	off := round.regression(comb, g.rank, len(near)) + g.slackV(comb.size, r.own[c])
	lo, hi := g.between(variance, off, sum, (comb.loud+float64(g.rank)*comb.size*0x1p-52)*g.reach)
	if !gp.Finite(lo) || !gp.Finite(hi) {
		return // coefficients that are nothing but rounding
	}
	r.v.meet(i, lo, hi)
	exactLo, exactHi := g.between(variance, 0, sum, 0)
	r.settled[c] = hi-lo >= settledWidth*(exactHi-exactLo) && narrow(r.tol, max(exactLo, 0), max(exactHi, 0))
	gap := g.most * sum
	size := comb.size
	if g.rank > 0 {
		size = math.Inf(1)
	}
	if w := math.Sqrt(gap*g.rest) + round.mean(size, gap); w < r.v.width[i] {
		r.v.shift[i], r.v.width[i] = -left[probeCount], w
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
