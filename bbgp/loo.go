package bbgp

import (
	"context"
	"errors"
	"math"
	"slices"

	"bbgp.dev/bbgp/score"
	"bbgp.dev/linalg"
)

// Leaving one row out, at the parameters of the model: the prediction of y_i from
// all other rows has
//
//	v_i = 1/(K̂⁻¹)_ii,   mean_i = y_i - α_i v_i,   α = K̂⁻¹(y - c)
//
// (Dubrule 1983). The dense method inverts K̂. Otherwise y_i is regressed on its
// nearest rows, which bounds v_i from above by u_i, and the gap u_i - v_i is measured
// by the probes of gauge.go: with x = (1, -coefficients) and ε = K̂ω, x'ε and ω_i are
// normal with the covariance [u_i 1; 1 1/v_i], hence
//
//	Σ_s (ω_is - x'ε_s/u_i)² = (1/v_i - 1/u_i) χ²_S.

// looTiers are the numbers of rows to regress on.
var looTiers = []int{80, 256}

// A LeftOut holds, for each training row, what the others say about its target,
// in the units of the data. Rows that were merged because they repeat are left
// out together; Y is their weighted mean.
type LeftOut struct {
	Y, Mean, SDObs []float64
	// The exact answers lie between these, see Prediction.BoundKind.
	MeanLower, MeanUpper, SDObsLower, SDObsUpper []float64
	BoundKind                                    string
	// Laws are those of the targets; SDObs is what Prediction.SDObs is.
	Laws []score.Law
}

// LeaveOneOut predicts the target of each training row from all other rows, at
// the parameters of the model; e nil means the default engine. SDObs includes the
// noise of the row. The cost is n³ for models that predict densely, that of some
// passes over the kernel matrix otherwise.
func (m *Model) LeaveOneOut(ctx context.Context, e *linalg.Engine) (*LeftOut, error) {
	if err := m.callable(ctx, e); err != nil {
		return nil, err
	}
	e, err := m.engineOr(e)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.N()
	l := &LeftOut{}
	for _, v := range []*[]float64{&l.Y, &l.Mean, &l.SDObs, &l.MeanLower, &l.MeanUpper, &l.SDObsLower, &l.SDObsUpper} {
		*v = make([]float64, n)
	}
	l.Laws = make([]score.Law, n)
	if m.Result.ConstantTarget {
		for i := range n {
			l.set(m, i, m.y[i], m.y[i], 0, 0)
			l.Laws[i] = m.constantLaw(l.Mean[i])
			l.SDObs[i] = l.Laws[i].SD()
			l.SDObsLower[i], l.SDObsUpper[i] = l.SDObs[i], l.SDObs[i]
		}
		l.BoundKind = "exact"
		return l, nil
	}
	p, err := m.prepare(ctx, e, true)
	if err != nil {
		return nil, err
	}
	if p.chol != nil {
		err = m.looDense(ctx, p, l)
	} else {
		l.BoundKind = "probable"
		err = m.looGauge(ctx, p, l)
	}
	if err == nil {
		m.observeLeftOut(l)
	}
	return l, err
}

// set sets row i from bounds of its mean and of the variance of its target.
func (l *LeftOut) set(m *Model, i int, meanLo, meanHi, lo, hi float64) {
	s := &m.Scaling
	unit := func(v float64) float64 { return s.YMean + s.YScale*v }
	l.Y[i], l.Mean[i], l.MeanLower[i], l.MeanUpper[i] = unit(m.y[i]), unit((meanLo+meanHi)/2), unit(meanLo),
		unit(meanHi)
	l.SDObsLower[i], l.SDObsUpper[i] = s.YScale*math.Sqrt(lo), s.YScale*math.Sqrt(hi)
	l.SDObs[i] = (l.SDObsLower[i] + l.SDObsUpper[i]) / 2
}

func (m *Model) looDense(ctx context.Context, p *prepared, l *LeftOut) error {
	n, round := m.N(), p.round
	round.weigh(m.weights)
	inverse := linalg.NewMatrix(n, n)
	done := p.e.Par.Until(ctx)
	p.chol.InverseTo(inverse)
	done()
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range n {
		v := 1 / inverse.At(i, i)
		c := round.alone(round.entry[i])
		for j, a := range inverse.Row(i) {
			if j != i {
				round.add(&c, j, a*v)
			}
		}
		off := 2 * round.top * c.size * c.loud
		mean, w := m.y[i]-(m.weights[i]+p.delta[i])*v, round.residual*c.size
		l.bracket(m, i, m.weights[i]+p.delta[i], mean, w, max(v-off, p.op.Noise()[i]), v+off)
	}
	l.BoundKind = "exact"
	return nil
}

// looGauge leaves out one row after the other by regressions.
func (m *Model) looGauge(ctx context.Context, p *prepared, l *LeftOut) error {
	n, round := m.N(), p.round
	round.weigh(m.weights)
	g, err := m.newGauge(ctx, p, false) // V has seen the row that is left out
	if errors.Is(err, errNoGauge) {
		if err = m.factor(ctx, p); err == nil {
			return m.looDense(ctx, p, l)
		}
	}
	if err != nil {
		return errors.Join(errors.New("leaving one out"), err)
	}
	b := &looBounds{lo: slices.Clone(p.op.Noise()), hi: make([]float64, n), size: make([]float64, n),
		gap: make([]float64, n)}
	at := make([]int, n)
	for i := range at {
		at[i], b.hi[i] = i, math.Inf(1)
	}
	for _, nn := range looTiers {
		nn = min(nn, n-1)
		for i := 0; i < len(at); i += varianceBlock {
			if err := m.looRegress(ctx, p, g, at[i:min(i+varianceBlock, len(at))], nn, b); err != nil {
				return err
			}
		}
		left := at[:0]
		for _, i := range at {
			if !narrow(0.02, b.lo[i], b.hi[i]) {
				left = append(left, i)
			}
		}
		at = left
	}
	for i := range n {
		// α_i is known to ((K̂⁻¹)_ii r'K̂⁻¹r)^1/2, but for rounding.
		w := math.Sqrt(b.hi[i]*g.rest) + round.mean(b.size[i], b.gap[i])
		l.bracket(m, i, m.weights[i], m.y[i]-m.weights[i]*(b.lo[i]+b.hi[i])/2, w, b.lo[i], b.hi[i])
	}
	return nil
}

// bracket sets row i from bounds of the variance of its target, α_i, and what the mean
// y_i - α_i v may be off by at any v.
func (l *LeftOut) bracket(m *Model, i int, alpha, mean, off, lo, hi float64) {
	a, b := m.y[i]-alpha*lo, m.y[i]-alpha*hi
	off += 0x1p-50 * (math.Abs(m.y[i]) + math.Abs(alpha)*hi)
	l.set(m, i, min(a, b)-off, max(a, b)+off, lo, hi)
}

// looBounds are those of the variances of the targets, v_i.
type looBounds struct {
	lo, hi    []float64
	size, gap []float64 // of the combination that gave them, and what it leaves
}

// looRegress bounds v_i for the given training rows by a regression on nn others.
func (m *Model) looRegress(ctx context.Context, p *prepared, g *gauge, rows []int, nn int, out *looBounds) error {
	near, err := p.op.Nearest(ctx, pickRows(m.x, rows), nn+1)
	if err != nil {
		return err
	}
	lists := make([]int32, 0, len(rows)*(1+nn))
	for a, i := range rows {
		lists = append(lists, int32(i))
		for _, r := range near[a*(nn+1) : (a+1)*(nn+1)] {
			if int(r) != i && len(lists) < (a+1)*(1+nn) {
				lists = append(lists, r)
			}
		}
	}
	coef, upper := linalg.NewMatrix(len(rows), nn), make([]float64, len(rows))
	if err := p.e.Regress(ctx, p.op, linalg.Matrix{Rows: m.N()}, p.op.Noise(), lists, coef, upper); err != nil {
		return err
	}
	p.e.Par.For(len(rows), func(_, a int) {
		i, u, round := rows[a], upper[a], p.round
		e := append([]float64{}, g.own.Row(i)[:gaugeProbes]...)
		c := round.alone(round.entry[i])
		for t, b := range coef.Row(a) {
			k := int(lists[a*(1+nn)+1+t])
			round.add(&c, k, b)
			p.e.Axpy(-b, g.own.Row(k)[:gaugeProbes], e)
		}
		sum, most := 0.0, 0.0
		for s, w := range g.cols.Row(i) {
			sum += (w - e[s]/u) * (w - e[s]/u)
			most = max(most, math.Abs(e[s]))
		}
		off := round.regression(c, 0, nn)
		if !(off < u/2) {
			return
		}
		// Each of these is off by d: of x'ε, and of u.
		d := math.Sqrt(gaugeProbes) * (c.loud*g.reach/u + most*off/(u*(u-off)))
		w := math.Sqrt(sum)
		lo := 1 / (1/(u-off) + g.most*(w+d)*(w+d))
		hi := 1 / (1/(u+off) + g.least*max(w-d, 0)*max(w-d, 0))
		out.lo[i], out.hi[i] = max(out.lo[i], lo), max(min(out.hi[i], hi), out.lo[i])
		out.size[i], out.gap[i] = c.size, max(u+off-out.lo[i], 0)
	})
	return ctx.Err()
}
