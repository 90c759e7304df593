package bbgp

import (
	"context"
	"errors"
	"math"

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
	l.Y[i], l.Mean[i], l.MeanLower[i], l.MeanUpper[i] = unit(m.y[i]), unit((meanLo+meanHi)/2), unit(meanLo), unit(meanHi)
	l.SDObsLower[i], l.SDObsUpper[i] = s.YScale*math.Sqrt(lo), s.YScale*math.Sqrt(hi)
	l.SDObs[i] = (l.SDObsLower[i] + l.SDObsUpper[i]) / 2
}

func (m *Model) looDense(ctx context.Context, p *prepared, l *LeftOut) error {
	n := m.N()
	inverse := linalg.NewMatrix(n, n)
	done := p.e.Par.Until(ctx)
	p.chol.InverseTo(inverse)
	done()
	if err := ctx.Err(); err != nil {
		return err
	}
	alpha := linalg.NewMatrix(n, 1)
	for i, y := range m.y {
		alpha.Data[i] = y - m.Parameters.Mean
	}
	p.chol.SolveTo(alpha, alpha)
	for i := range n {
		v := 1 / inverse.At(i, i)
		mean := m.y[i] - alpha.Data[i]*v
		l.set(m, i, mean, mean, v, v)
	}
	l.BoundKind = "exact"
	return nil
}

func (m *Model) looGauge(ctx context.Context, p *prepared, l *LeftOut) error {
	n := m.N()
	g, err := m.newGauge(ctx, p, false) // V has seen the row that is left out
	if err != nil {
		return errors.Join(errors.New("leaving one out"), err)
	}
	lo, hi, size, at := make([]float64, n), make([]float64, n), make([]float64, n), make([]int, n)
	for i := range at {
		at[i], hi[i] = i, math.Inf(1)
	}
	for _, nn := range looTiers {
		nn = min(nn, n-1)
		for i := 0; i < len(at); i += varianceBlock {
			if err := m.looRegress(ctx, p, g, at[i:min(i+varianceBlock, len(at))], nn, lo, hi, size); err != nil {
				return err
			}
		}
		left := at[:0]
		for _, i := range at {
			if !narrow(0.02, lo[i], hi[i]) {
				left = append(left, i)
			}
		}
		at = left
	}
	rounding := m.meanRounding()
	for i := range n {
		r := 0x1p-52 * m.Parameters.Variance * size[i] * size[i]
		lo[i], hi[i] = max(lo[i]-r, 0), hi[i]+r
		// α_i is known to ((K̂⁻¹)_ii r'K̂⁻¹r)^1/2, but for rounding.
		a, b := math.Inf(1), math.Inf(-1)
		for _, v := range []float64{lo[i], hi[i]} {
			w := math.Sqrt(v*g.rest) + rounding*size[i]
			mean := m.y[i] - m.weights[i]*v
			a, b = min(a, mean-w), max(b, mean+w)
		}
		l.set(m, i, a, b, lo[i], hi[i])
	}
	return nil
}

// looRegress bounds v_i for the given training rows by a regression on nn others,
// and sets what rounding is magnified by (varianceBounds.size).
func (m *Model) looRegress(ctx context.Context, p *prepared, g *gauge, rows []int, nn int, lo, hi, size []float64) error {
	xs := linalg.NewMatrix(len(rows), m.D())
	for a, i := range rows {
		copy(xs.Row(a), m.x.Row(i))
	}
	near, err := p.op.Nearest(ctx, xs, nn+1)
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
		i, u := rows[a], upper[a]
		e := append([]float64{}, g.own.Row(i)[:gaugeProbes]...)
		size[i] = 1
		for t, b := range coef.Row(a) {
			size[i] += math.Abs(b)
			p.e.Axpy(-b, g.own.Row(int(lists[a*(1+nn)+1+t]))[:gaugeProbes], e)
		}
		sum := 0.0
		for s, w := range g.cols.Row(i) {
			sum += (w - e[s]/u) * (w - e[s]/u)
		}
		lo[i], hi[i] = max(lo[i], 1/(1/u+g.most*sum)), min(hi[i], 1/(1/u+g.least*sum))
	})
	return ctx.Err()
}
