package main

import (
	"context"
	"math"

	"bbgp.dev/bbgp"
)

// The posterior: means, deviations, single rows left out, draws and intervals.

const (
	askedSD    = 0.05 // relative half width of the bounds of sd, the default
	askedLeft  = 0.05
	leftRows   = 20  // rows to leave out, of each problem
	drawEvery  = 5   // problems between those that are drawn from
	drawRows   = 5   // rows to draw at,
	draws      = 400 // so often
	level      = 0.95
	levelSlack = 0.02 // that a deviation known to askedSD may cost or win an interval
)

func holdPosterior(p *problem, t *tally) {
	ctx := context.Background()
	m, err := bbgp.NewModel(ctx, p.data, p.params, p.options())
	if err != nil {
		t.refuse(p, "the likelihood", err)
		return
	}
	truth, err := newTruth(p, m)
	if err != nil {
		t.fail("%s: %v", p.recipe(), err)
		return
	}
	p.predict(ctx, m, truth, t, bbgp.PredictOptions{SD: true})
	p.leaveOut(ctx, m, truth, t)
	if p.number%drawEvery == 0 {
		p.sample(ctx, m, truth, t)
	}
	if p.number%3 == 0 && !p.dense {
		p.predict(ctx, m, truth, t, bbgp.PredictOptions{SD: true, Rigorous: true})
	}
}

// predict holds means, deviations and intervals.
func (p *problem) predict(ctx context.Context, m *bbgp.Model, truth *truth, t *tally, opt bbgp.PredictOptions) {
	got, err := m.Predict(ctx, p.test, opt)
	if err != nil {
		t.refuse(p, "predictions", err)
		return
	}
	mean, variance := truth.posterior(p.test)
	noise := m.Parameters.Noise * m.Scaling.YScale * m.Scaling.YScale
	for i, v := range variance {
		sd := math.Sqrt(max(v, 0))
		wide := got.SDUpper[i]-got.SDLower[i] > askedSD*(got.SDUpper[i]+got.SDLower[i])*(1+1e-9)
		t.within("sd", string(got.BoundKind), got.SDLower[i], sd, got.SDUpper[i], wide, p.recipe())
		obs := math.Sqrt(v + noise)
		blurred := got.MeanUpper[i]-got.MeanLower[i] > obs/5
		t.within("mean", string(got.BoundKind), got.MeanLower[i], mean[i], got.MeanUpper[i], blurred, p.recipe())
		if wide || blurred {
			continue // the bounds say that the interval is not to be relied on
		}
		half := math.Sqrt2 * math.Erfinv(level) * got.SDObs[i]
		part := phi((got.Mean[i]+half-mean[i])/obs) - phi((got.Mean[i]-half-mean[i])/obs)
		t.within("interval of 95 %", string(got.BoundKind), level-levelSlack, part, level+levelSlack, false, p.recipe())
	}
}

// phi is the normal distribution function.
func phi(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// leaveOut holds predictions of rows by all others.
func (p *problem) leaveOut(ctx context.Context, m *bbgp.Model, truth *truth, t *tally) {
	got, err := m.LeaveOneOut(ctx, bbgp.LeaveOutOptions{})
	if err != nil {
		t.refuse(p, "leaving one out", err)
		return
	}
	n := len(truth.x)
	rows := make([]int, min(leftRows, n))
	for k := range rows {
		rows[k] = k * n / len(rows)
	}
	mean, variance := truth.leftOut(rows)
	for k, i := range rows {
		sd, lo, hi := math.Sqrt(variance[k]), got.SDObsLower[i], got.SDObsUpper[i]
		t.within("left out, sd", string(got.BoundKind), lo, sd, hi, hi-lo > askedLeft*(hi+lo)*(1+1e-9), p.recipe())
		lo, hi = got.MeanLower[i], got.MeanUpper[i]
		t.within("left out, mean", string(got.BoundKind), lo, mean[k], hi, hi-lo > sd/5, p.recipe())
	}
}

// sample holds the moments of draws, at single rows and, as draws are joint, of their sum.
func (p *problem) sample(ctx context.Context, m *bbgp.Model, truth *truth, t *tally) {
	xs := p.test.Sub(4, 4+drawRows, 0, p.test.Cols)
	got, err := m.Sample(ctx, xs, bbgp.SampleOptions{Draws: draws, Seed: uint64(p.number), Noise: true})
	if err != nil {
		t.refuse(p, "draws", err)
		return
	}
	if !got.Exact {
		return
	}
	mean, variance := truth.posterior(xs)
	noise := m.Parameters.Noise * m.Scaling.YScale * m.Scaling.YScale
	total := make([]float64, draws)
	for i := range xs.Rows {
		row := got.Values.Row(i)
		p.moments(t, "draws", row, mean[i], variance[i]+noise)
		for c, y := range row {
			total[c] += y
		}
	}
	at, v := truth.sum(xs)
	p.moments(t, "sums of draws", total, at, v+float64(xs.Rows)*noise)
}

// moments holds mean and variance of normal draws: the former is normal, the latter over the true
// one χ²/draws, here by its cube root (Wilson and Hilferty 1931).
func (p *problem) moments(t *tally, what string, ys []float64, mean, variance float64) {
	sum, squares := 0.0, 0.0
	for _, y := range ys {
		sum += (y - mean) / draws
		squares += (y - mean) * (y - mean) / (variance * draws)
	}
	t.normal("mean of "+what, sum/math.Sqrt(variance/draws), p.recipe())
	const c = 2.0 / (9 * draws)
	t.normal("variance of "+what, (math.Cbrt(squares)-(1-c))/math.Sqrt(c), p.recipe())
}
