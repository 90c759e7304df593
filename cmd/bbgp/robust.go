package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/enum"
)

// Noise of Student's t with ν degrees of freedom is normal noise whose variance
// is σ² d_i/w_i, w_i drawn from a gamma distribution. Its variational EM: fit with
// the w_i at their expectations, then set, with the fit's mean and sd,
//
//	w_i = (ν + 1) / (ν + ((y_i - mean_i)² + sd_i²)/(σ² d_i)),
//
// until they rest (Jylänki, Vanhatalo and Vehtari 2011). σ² is that of the core of
// the noise. It begins with residuals from the median, so that not even the
// first fit sees rows that lie far off at their full weight.

const (
	robustDF    = 4
	robustFits  = 12
	robustRest  = 0.05 // change of log w that ends it
	robustRows  = 5000 // most rows whose sd is computed; without it w is a little too large
	robustFresh = 2    // fits that start afresh: weights still change what is there
)

func robustFit(ctx context.Context, ts *trainingSet, opt bbgp.Options) (*bbgp.Model, error) {
	budget := allowance{time.Now(), opt.Time} // of all fits
	work, done := budget.within(ctx, opt.Engine)
	defer done()
	d := *ts.data
	base := d.NoiseScale
	n := len(d.Y)
	square, variance := fromMedian(d.Y)
	w, last := make([]float64, n), (*bbgp.Model)(nil)
	if base != nil { // until a fit has told the noise at weight 1, that of the middle weight is as the spread
		variance /= slices.Sorted(slices.Values(base))[n/2]
	}
	for k := range robustFits {
		moved := reweigh(w, square, base, variance)
		if last != nil && moved < robustRest {
			break
		}
		d.NoiseScale = noiseScale(w, base)
		opt.Start = nil
		if k >= robustFresh && last != nil && !last.Result.NoStructure {
			opt.Start = &last.Parameters
		}
		if budget.all > 0 {
			opt.Time = max(budget.all-time.Since(budget.began), 1)
		}
		m, err := bbgp.Fit(ctx, &d, opt)
		if m == nil || last != nil && len(m.Result.Trace) == 0 {
			m = last // an interrupt or the end of the time came before an evaluation
		}
		if m == nil {
			return nil, err
		}
		m.Result.NoiseDF = robustDF
		last = m
		var p *bbgp.Prediction
		if err == nil && m.Result.Stopped != enum.StoppedTime {
			if n <= robustRows {
				deviating(m, opt.Memory)
			}
			p, err = m.Predict(work, d.X, bbgp.PredictOptions{SD: n <= robustRows, Once: true, Engine: opt.Engine})
		}
		if p == nil {
			if ctx.Err() == nil && (err == nil || errors.Is(err, context.DeadlineExceeded)) {
				m.Result.Stopped, err = enum.StoppedTime, nil
			}
			return m, err
		}
		for i, y := range d.Y {
			square[i] = (y - p.Mean[i]) * (y - p.Mean[i])
			if p.SD != nil {
				square[i] += p.SD[i] * p.SD[i]
			}
		}
		variance = m.Parameters.Noise * m.Scaling.YScale * m.Scaling.YScale
	}
	return last, nil
}

// fromMedian returns the squares of what y is off its median, and the square of their spread.
func fromMedian(y []float64) (square []float64, variance float64) {
	center := slices.Sorted(slices.Values(y))[len(y)/2]
	square, off := make([]float64, len(y)), make([]float64, len(y))
	for i, v := range y {
		off[i] = math.Abs(v - center)
		square[i] = off[i] * off[i]
	}
	variance = spread(off) * spread(off)
	if variance == 0 { // half of the rows have one value
		variance = max(mean(square), math.SmallestNonzeroFloat64)
	}
	return square, variance
}

// noiseScale are the noise ratios of rows with weights w, base without them.
func noiseScale(w, base []float64) []float64 {
	scale := make([]float64, len(w))
	for i := range w {
		scale[i] = 1 / w[i]
		if base != nil {
			scale[i] *= base[i]
		}
	}
	return scale
}

// reweigh sets the weights and returns the largest change of their logarithms.
func reweigh(w, square, base []float64, variance float64) float64 {
	moved := 0.0
	for i, s := range square {
		if base != nil {
			s /= base[i]
		}
		v := (robustDF + 1) / (robustDF + s/variance)
		moved = max(moved, math.Abs(math.Log(v/w[i])))
		w[i] = v
	}
	return moved
}

func mean(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}
