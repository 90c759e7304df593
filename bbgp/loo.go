package bbgp

import (
	"context"
	"math"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/linalg"
)

// LeaveOutOptions say how LeaveOneOut, Outlying and Around compute.
type LeaveOutOptions struct {
	// Engine computes; nil means that of the last call, or the default one.
	Engine *linalg.Engine
}

// A LeftOut holds, for each training row, what the others say about its target,
// in the units of the data. Rows that were merged because they repeat are left
// out together; Y is their weighted mean.
type LeftOut struct {
	Y, Mean, SDObs []float64
	// The exact answers lie between these, see Prediction.BoundKind.
	MeanLower, MeanUpper, SDObsLower, SDObsUpper []float64
	BoundKind                                    enum.BoundKind
	// Laws are those of the targets; SDObs is what Prediction.SDObs is.
	Laws []score.Law
}

// LeaveOneOut predicts the target of each training row from all other rows, at
// the parameters of the model. SDObs includes the noise of the row. The cost is n³ for models
// that predict densely, that of some passes over the kernel matrix otherwise.
func (m *Model) LeaveOneOut(ctx context.Context, opt LeaveOutOptions) (*LeftOut, error) {
	if err := m.callable(ctx, opt.Engine); err != nil {
		return nil, err
	}
	n := m.N()
	l := &LeftOut{Laws: make([]score.Law, n)}
	for _, v := range []*[]float64{&l.Y, &l.Mean, &l.SDObs, &l.MeanLower, &l.MeanUpper, &l.SDObsLower, &l.SDObsUpper} {
		*v = make([]float64, n)
	}
	if m.Result.ConstantTarget {
		for i, y := range m.post.Data().Y {
			l.set(m, i, y, y, 0, 0)
			l.Laws[i] = m.constantLaw(l.Mean[i])
			l.SDObs[i] = l.Laws[i].SD()
			l.SDObsLower[i], l.SDObsUpper[i] = l.SDObs[i], l.SDObs[i]
		}
		l.BoundKind = enum.BoundExact
		return l, nil
	}
	out, err := m.post.LeaveOneOut(ctx, opt.Engine)
	if err != nil {
		return nil, err
	}
	l.BoundKind = enum.BoundKind(out.Kind)
	for i := range n {
		l.set(m, i, out.MeanLo[i], out.MeanHi[i], out.Lo[i], out.Hi[i])
	}
	m.observeLeftOut(l)
	return l, nil
}

// set sets row i from bounds of its mean and of the variance of its target.
func (l *LeftOut) set(m *Model, i int, meanLo, meanHi, lo, hi float64) {
	s := &m.Scaling
	unit := func(v float64) float64 { return s.YMean + s.YScale*v }
	l.Y[i], l.Mean[i] = unit(m.post.Data().Y[i]), unit((meanLo+meanHi)/2)
	off := s.YRounding(l.Mean[i])
	l.MeanLower[i], l.MeanUpper[i] = unit(meanLo)-off, unit(meanHi)+off
	l.SDObsLower[i], l.SDObsUpper[i] = s.YScale*math.Sqrt(lo), s.YScale*math.Sqrt(hi)
	l.SDObs[i] = (l.SDObsLower[i] + l.SDObsUpper[i]) / 2
}
