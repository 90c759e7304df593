package bbgp

import (
	"fmt"
	"math"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/internal/gp"
)

// What a prediction says of an observation. The function is N(mean, sd²), the noise of
// a row N(0, σ_n² d + e), with its scale d and its known variance e, or σ_n d^1/2 times
// Student's t where the fit was robust. Both are known up to a factor where rows are
// few: the variances of a fit that has taken p numbers from n rows are too small by
// about (n - p)/n, and the law is Student's t with n - p degrees of freedom.

// A lawyer makes the laws of one model's observations, in the units of the target.
type lawyer struct {
	noise float64     // σ_n²
	grow  float64     // factor on variances that were fitted
	all   *score.Tail // of the whole law; nil where it is normal
	df    float64     // degrees of freedom of the variances; 0 where rows are many
	own   *score.Tail // of the noise; nil where it is normal
	sd    float64     // factor on the sd of the function
}

func (m *Model) lawyer() *lawyer {
	r, s := &m.Result, m.Scaling.YScale
	l := &lawyer{noise: s * s * m.Parameters.Noise, grow: 1, sd: 1, own: score.NewTail(r.NoiseDF)}
	if df := r.DF; df > 0 {
		if l.own != nil {
			df = min(df, r.NoiseDF)
		}
		l.all, l.df, l.grow = score.NewTail(df), df, float64(r.N)/r.DF
		l.sd = score.Law{Mixed: l.grow, Tail: l.all}.SD()
	}
	return l
}

// normal says whether laws are those of the model as it is.
func (l *lawyer) normal() bool { return l.df == 0 && l.own == nil }

// of returns the law of an observation with noise variance σ_n² scale + extra at a row
// where the function, by the model alone, is N(mean, sd²).
func (l *lawyer) of(mean, sd, scale, extra float64) score.Law {
	f, noise := sd*sd, l.noise*scale
	switch {
	case l.all != nil: // what is known of the noise is not in doubt
		return score.Law{Mean: mean, Fixed: extra, Mixed: l.grow * (f + noise), Tail: l.all}
	case l.own != nil:
		return score.Law{Mean: mean, Fixed: f + extra, Mixed: noise, Tail: l.own}
	}
	return score.Law{Mean: mean, Fixed: l.grow*(f+noise) + extra}
}

// whole returns the law of an observation whose variance, by the model alone, is v, noise
// included.
func (l *lawyer) whole(mean, v, scale, extra float64) score.Law {
	if l.normal() {
		return score.Law{Mean: mean, Fixed: v}
	}
	return l.of(mean, math.Sqrt(max(v-l.noise*scale-extra, 0)), scale, extra)
}

// unknown is what a model of one row can say: where, not how far off.
func unknown(mean float64) score.Law { return score.Law{Mean: mean, Fixed: math.Inf(1)} }

// observe fills in SDObs and the laws, and widens what is known of the function where
// rows are few.
func (m *Model) observe(p *Prediction, opt PredictOptions) {
	l := m.lawyer()
	p.Laws = make([]score.Law, len(p.Mean))
	for i, mean := range p.Mean {
		p.Laws[i] = l.of(mean, p.SD[i], at(opt.NoiseScale, i, 1), at(opt.NoiseExtra, i, 0))
		p.SDObs[i] = p.Laws[i].SD()
		p.SD[i], p.SDLower[i], p.SDUpper[i] = l.sd*p.SD[i], l.sd*p.SDLower[i], l.sd*p.SDUpper[i]
	}
}

// observeLeftOut fills in the laws of targets of which variances are known.
func (m *Model) observeLeftOut(o *LeftOut) {
	l, unit, t := m.lawyer(), m.Scaling.YScale*m.Scaling.YScale, m.post.Data()
	for i, mean := range o.Mean {
		d, e := at(t.NoiseScale, i, 1), unit*at(t.NoiseExtra, i, 0)
		law := func(sd float64) score.Law { return l.whole(mean, sd*sd, d, e) }
		o.Laws[i] = law(o.SDObs[i])
		if !l.normal() {
			o.SDObs[i], o.SDObsLower[i], o.SDObsUpper[i] = o.Laws[i].SD(), law(o.SDObsLower[i]).SD(),
				law(o.SDObsUpper[i]).SD()
		}
	}
}

// predictConstant predicts n rows where the target was the same in all rows of the training,
// with deviations if sd is set. One row says nothing of how far off others may be.
func (m *Model) predictConstant(p *Prediction, n int, sd bool) {
	p.Mean = make([]float64, n)
	for i := range p.Mean {
		p.Mean[i] = m.Scaling.YMean + m.Scaling.YScale*m.Parameters.Mean
	}
	if !sd {
		return
	}
	p.makeDeviations()
	copy(p.MeanLower, p.Mean)
	copy(p.MeanUpper, p.Mean)
	p.BoundKind = enum.BoundExact
	p.Laws = make([]score.Law, len(p.Mean))
	for i, mean := range p.Mean {
		p.Laws[i] = m.constantLaw(mean)
		sd := p.Laws[i].SD()
		p.SD[i], p.SDLower[i], p.SDUpper[i], p.SDObs[i] = sd, sd, sd, sd
	}
}

// constantLaw is the law of an observation where the target was the same in all rows.
func (m *Model) constantLaw(mean float64) score.Law {
	if m.Result.N == 1 {
		return unknown(mean)
	}
	return score.Law{Mean: mean}
}

func at(v []float64, i int, missing float64) float64 {
	if v == nil {
		return missing
	}
	return v[i]
}

// checkNoise tells whether scales and variances of noise fit n rows.
func checkNoise(scale, extra []float64, n int) error {
	for _, v := range [][]float64{scale, extra} {
		if v != nil && len(v) != n {
			return &DataError{Row: -1, Reason: fmt.Sprintf("the noise of %d rows, there are %d", len(v), n)}
		}
	}
	for i := range n {
		if d, e := at(scale, i, 1), at(extra, i, 0); !(d > 0 && e >= 0) || !gp.Finite(d+e) {
			return &DataError{Row: i, Reason: fmt.Sprintf("noise of scale %v and known variance %v", d, e)}
		}
	}
	return nil
}
