package main

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/bbgp"
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
	d := *ts.data
	base := d.NoiseScale
	n := len(d.Y)
	center := slices.Sorted(slices.Values(d.Y))[n/2]
	square, off := make([]float64, n), make([]float64, n)
	for i, y := range d.Y {
		off[i] = math.Abs(y - center)
		square[i] = off[i] * off[i]
	}
	variance := spread(off) * spread(off)
	if variance == 0 { // half of the rows have one value
		variance = max(mean(square), math.SmallestNonzeroFloat64)
	}
	var last *bbgp.Model
	w := make([]float64, n)
	for k := range robustFits {
		moved := reweigh(w, square, base, variance)
		if last != nil && moved < robustRest {
			break
		}
		d.NoiseScale = make([]float64, n)
		for i := range w {
			d.NoiseScale[i] = 1 / w[i]
			if base != nil {
				d.NoiseScale[i] *= base[i]
			}
		}
		opt.Start = nil
		if k >= robustFresh && last != nil && !last.Result.NoStructure {
			opt.Start = &last.Parameters
		}
		m, err := bbgp.Fit(ctx, &d, opt)
		if err != nil {
			if m == nil {
				m = last
			}
			if m != nil {
				m.Result.NoiseDF = robustDF
			}
			return m, err
		}
		last = m
		p, err := m.Predict(ctx, d.X, bbgp.PredictOptions{SD: n <= robustRows, Engine: opt.Engine})
		if err != nil {
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
	last.Result.NoiseDF = robustDF
	return last, nil
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
