package bbgp

import (
	"context"
	"errors"
	"math"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// The variance of f(x*), σ_f² - q with q = k*'K̂⁻¹k*, by one of three ways:
//
//	dense     σ_f² - |L⁻¹k*|² for K̂ = LL', where the recipe says so
//	gauge     a regression on the nearest rows (and V), an upper bound, and its gap
//	          from probes (gauge.go); rows that stay too wide are regressed on more
//	iterate   conjugate gradients (bracket.go), for what is still too wide, and
//	          for a few rows, which do not pay for the probes

const (
	varianceBlock = 1024 // rows at a time
	// fewRows is how many rows a model must have been asked for, in all, before it
	// makes the probes: those cost as much as iterations for twice as many rows.
	fewRows = 2 * gaugeProbes
	// denseSize: at a condition of 1e13 (bike, n = 2000) dense variances were off by
	// up to 8 n^1/2 2^-52 σ_f², means by up to 54 times their rounding.
	denseSize = 8
)

// nearestTiers are the numbers of nearest rows to regress on, without and with V.
var nearestTiers = [2][]int{{80, 256, 512, 1024, 2048}, {56, 128, 384}}

// iterationCost: nn nearest rows cost a row nn³/10 cycles, the iteration about 20
// passes of n²/8. On kin40k (n = 26800) a fifth of the rows is too wide with 512,
// none with 1024: 40 ms instead of 700 for each of these.
const iterationCost = 25

func dearerThanIteration(nn, n int) bool { return nn*nn*nn > iterationCost*n*n }

// Bounds of one row, all in standardised units.
type varianceBounds struct {
	lo, hi []float64 // of var f
	// The exact mean differs from that of the weights by shift ± width.
	shift, width []float64
	// |(1, x)|_1 of the combination f* - x'y that bounds the variance, which is what
	// magnifies rounding: entries of K that are off by 2^-52 σ_f² move its variance
	// by 2^-52 σ_f² size², and a residual that is off by e, x'e, by |e|_max size.
	size []float64
}

func newVarianceBounds(n int) *varianceBounds {
	b := make([][]float64, 5)
	for i := range b {
		b[i] = make([]float64, n)
	}
	return &varianceBounds{b[0], b[1], b[2], b[3], b[4]}
}

// magnified is what entries of K that are off by 2^-52 σ_f² do to a variance of that size.
func magnified(variance, size float64) float64 { return 0x1p-52 * variance * size * size }

// widen makes room for rounding of entries of K, at last: no iteration would
// remove it.
func (v *varianceBounds) widen(variance float64) {
	for i, size := range v.size {
		r := magnified(variance, size)
		v.lo[i], v.hi[i] = max(v.lo[i]-r, 0), v.hi[i]+r
	}
}

// variances returns bounds lo <= var <= hi at standardised rows, 0 <= lo, with
// the relative half width of (lo^1/2, hi^1/2) at most SDTol where rounding allows.
func (m *Model) variances(ctx context.Context, p *prepared, std linalg.Matrix, opt PredictOptions) (*varianceBounds, error) {
	v := newVarianceBounds(std.Rows)
	for i := range v.width {
		v.width[i] = m.meanError
	}
	all := make([]int, std.Rows)
	for i := range all {
		all[i] = i
	}
	if p.chol != nil {
		err := m.dense(ctx, p, std, v)
		v.widen(m.Parameters.Variance)
		return v, err
	}
	if p.asked += std.Rows; p.asked >= fewRows && p.gauge == nil && !p.noGauge && !opt.Rigorous {
		g, err := m.newGauge(ctx, p, true)
		switch {
		case errors.Is(err, errNoGauge), errors.Is(err, linalg.ErrNotDefinite):
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
			left, err := m.regress(ctx, p, std, block, opt.SDTol, v)
			if err != nil {
				return nil, err
			}
			wide = append(wide, left...)
		}
		all = wide
	} else {
		for i := range v.hi {
			v.hi[i] = m.Parameters.Variance
		}
	}
	if err := m.iterate(ctx, p, std, all, opt.SDTol, v); err != nil {
		return nil, err
	}
	v.widen(m.Parameters.Variance)
	return v, nil
}

// dense sets the variances σ_f² - |L⁻¹k|².
func (m *Model) dense(ctx context.Context, p *prepared, std linalg.Matrix, v *varianceBounds) error {
	const block = 128
	rows := make([]int32, m.N())
	for i := range rows {
		rows[i] = int32(i)
	}
	for i := 0; i < std.Rows; i += block {
		j := min(i+block, std.Rows)
		kt := linalg.NewMatrix(j-i, m.N())
		if err := p.op.CrossTo(ctx, kt, std.Sub(i, j, 0, std.Cols), rows); err != nil {
			return err
		}
		for a := range j - i { // the mean of the weights is off by k*'δ
			v.shift[i+a], v.width[i+a] = p.e.Dot(kt.Row(a), p.delta), 0
		}
		k, hi := transpose(kt), v.hi[i:j]
		p.chol.SolveLTo(k, k)
		for c := range hi {
			hi[c] = m.Parameters.Variance
		}
		for r := range k.Rows {
			for c, x := range k.Row(r) {
				hi[c] -= x * x
			}
		}
		for c := range hi {
			hi[c] = max(hi[c], 0)
			v.lo[i+c] = hi[c]
			v.size[i+c] = denseSize * math.Sqrt(math.Sqrt(float64(m.N()))) // for a sum of n squares
		}
	}
	return nil
}

// iterate brackets the given rows by conjugate gradients.
func (m *Model) iterate(ctx context.Context, p *prepared, std linalg.Matrix, rows []int, tol float64, v *varianceBounds) error {
	if len(rows) == 0 {
		return nil
	}
	if err := m.sharpen(ctx, p); err != nil {
		return err
	}
	xs, lo, hi := linalg.NewMatrix(len(rows), std.Cols), make([]float64, len(rows)), make([]float64, len(rows))
	for c, i := range rows {
		copy(xs.Row(c), std.Row(i))
	}
	w := newBracketWork(m, p, tol, lo, hi)
	for i := 0; i < len(rows); i += bracketBatch {
		if err := w.first(ctx, xs.Sub(i, min(i+bracketBatch, len(rows)), 0, xs.Cols), i); err != nil {
			return err
		}
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	for c, i := range rows {
		// Bounds of the regressions hold too.
		v.hi[i] = min(v.hi[i], hi[c])
		v.lo[i] = min(max(v.lo[i], lo[c]), v.hi[i])
		v.size[i] = max(v.size[i], w.size[c])
	}
	return nil
}

// extended returns the operator of the training rows and, after them, others.
func (m *Model) extended(p *prepared, xs linalg.Matrix) (*kernelmv.Op, error) {
	x := stack(m.x, xs)
	noise := make([]float64, x.Rows)
	copy(noise, p.op.Noise())
	return kernelmv.NewOp(p.e, x, m.kernelFor(p), noise)
}

// regress brackets the given rows of std, at most varianceBlock, by regressions
// and the gauge, and returns those that stay wider than tol.
func (m *Model) regress(ctx context.Context, p *prepared, std linalg.Matrix, rows []int, tol float64, v *varianceBounds) (wide []int, err error) {
	g, n := p.gauge, m.N()
	xs := linalg.NewMatrix(len(rows), std.Cols)
	for c, i := range rows {
		copy(xs.Row(c), std.Row(i))
		v.hi[i] = m.Parameters.Variance
	}
	ext, err := m.extended(p, xs)
	if err != nil {
		return nil, err
	}
	kg := linalg.NewMatrix(len(rows), g.cols.Cols)
	if err := p.op.CrossMulTo(ctx, kg, xs, g.cols); err != nil {
		return nil, err
	}
	low := linalg.Matrix{Rows: n + len(rows)}
	if g.rank > 0 {
		low = g.low.Sub(0, n+len(rows), 0, g.rank)
		low.Sub(n, low.Rows, 0, g.rank).CopyFrom(kg.Sub(0, len(rows), 0, g.rank))
	}
	tiers := nearestTiers[0]
	if g.rank > 0 {
		tiers = nearestTiers[1]
	}
	at := make([]int, len(rows)) // places in rows
	for c := range at {
		at[c] = c
	}
	for _, nn := range tiers {
		if len(at) == 0 || dearerThanIteration(nn, n) {
			break
		}
		if err := m.regressOn(ctx, p, ext, low, kg, xs, at, min(nn, n), rows, v); err != nil {
			return nil, err
		}
		left := at[:0]
		for _, c := range at {
			if i := rows[c]; !narrow(tol, v.lo[i], v.hi[i]) {
				left = append(left, c)
			}
		}
		if at = left; nn >= n {
			break
		}
	}
	for _, c := range at {
		wide = append(wide, rows[c])
	}
	return wide, nil
}

// regressOn brackets the rows at those places by a regression on nn nearest rows.
func (m *Model) regressOn(ctx context.Context, p *prepared, ext *kernelmv.Op, low, kg, xs linalg.Matrix, at []int, nn int, rows []int, v *varianceBounds) error {
	g, n := p.gauge, m.N()
	some := linalg.NewMatrix(len(at), xs.Cols)
	for a, c := range at {
		copy(some.Row(a), xs.Row(c))
	}
	near, err := p.op.Nearest(ctx, some, nn)
	if err != nil {
		return err
	}
	lists := make([]int32, 0, len(at)*(1+nn))
	for a, c := range at {
		lists = append(lists, int32(n+c))
		lists = append(lists, near[a*nn:(a+1)*nn]...)
	}
	coef, upper := linalg.NewMatrix(len(at), nn), make([]float64, len(at))
	if err := p.e.Regress(ctx, ext, low, ext.Noise(), lists, coef, upper); err != nil {
		return err
	}
	p.e.Par.For(len(at), func(_, a int) {
		i, row := rows[at[a]], kg.Row(at[a])
		left := make([]float64, gaugeProbes+1) // ω'ρ of the probes, and -x'r
		copy(left, row[g.rank:])
		left[gaugeProbes] -= p.e.Dot(row[:len(g.vr)], g.vr)
		size := 1.0
		for t, b := range coef.Row(a) {
			size += math.Abs(b)
			p.e.Axpy(-b, g.own.Row(int(near[a*nn+t])), left)
		}
		sum := p.e.Dot(left[:gaugeProbes], left[:gaugeProbes])
		lo, hi, ok := g.between(upper[a], sum, size)
		if !ok {
			return
		}
		v.size[i] = size
		v.hi[i] = min(v.hi[i], hi)
		v.lo[i] = min(max(v.lo[i], lo), v.hi[i])
		if w := math.Sqrt(g.most * sum * g.rest); w < v.width[i] {
			v.shift[i], v.width[i] = -left[gaugeProbes], w
		}
	})
	return ctx.Err()
}
