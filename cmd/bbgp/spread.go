package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/linalg"
)

// Noise whose spread is not the same everywhere. The sizes |z_i| of what the rows around
// leave of a row, in deviations, have the same law everywhere if the model is right,
// whatever the law of the noise. Spearman's rank correlation ρ of |z| with the prediction
// or an input has then an sd of (n-1)^-1/2.

const (
	sampledRows  = 2000
	sampledWork  = 4e8  // distances between sampled and other rows
	fewestRows   = 40   // that tell a spread
	growsBeyond  = 4.5  // sd of ρ: 1 in 10⁵ of right models, for up to hundreds of inputs
	growsBy      = 1.4  // between the spreads of the outer quarters; less does little harm
	leastNoise   = 0.25 // share of the variance of z: below, z tells of the function
	predictionIs = 0.9  // of the largest ρ: then it is the prediction that is named
)

// A grading is how residuals spread along something.
type grading struct {
	input     int     // -1: the prediction
	score     float64 // ρ (n-1)^1/2
	low, high float64 // spread of the residuals in the lowest quarter and in the highest
}

// around returns what the rows around say of the sampled rows.
func around(ctx context.Context, m *bbgp.Model, e *linalg.Engine) ([]score.Outlier, error) {
	n := m.N()
	count := min(n, sampledRows, max(fewestRows, int(sampledWork)/n))
	rows := make([]int, count)
	for k := range rows {
		rows[k] = k * n / count
	}
	return m.Around(ctx, rows, bbgp.LeaveOutOptions{Engine: e})
}

// adviseSpread warns of noise that is not the same everywhere.
func (ts *trainingSet) adviseSpread(m *bbgp.Model, at []score.Outlier, warn func(string, ...any)) {
	if len(at) < fewestRows || m.Result.NoiseDF > 0 || twoValues(ts.data.Y) {
		return
	}
	noise := make([]float64, len(at))
	for k, o := range at {
		noise[k] = m.Parameters.Noise * m.Scaling.YScale * m.Scaling.YScale / (o.SDObs * o.SDObs)
	}
	slices.Sort(noise)
	if noise[len(noise)/2] < leastNoise {
		return
	}
	g, ok := uneven(m, at)
	if !ok {
		return
	}
	what := "the prediction"
	if g.input >= 0 {
		what = m.Names[g.input]
	}
	how, mend := "grows with "+what, ""
	if g.score < 0 {
		how = "falls with " + what
	}
	switch {
	case g.input >= 0 && ts.plan.Inputs[g.input].Kind == inputs.Level:
		how = "differs with " + what
		mend = "a column of weights (1 over the variance, up to a factor) for --weight says so"
	case g.input < 0 && g.score > 0 && slices.Min(ts.data.Y) > 0:
		mend = fmt.Sprintf("%s is positive: take its logarithm as the target", ts.plan.Target)
	default:
		mend = "where the variances are known up to a factor, a column of weights (1 over the variance) for " +
			"--weight says so; --noise-var takes known variances"
	}
	warn("the spread of the residuals %s: about %.2g in the lowest quarter, %.2g in the highest; with one noise sd "+
		"for all rows, intervals are too wide in one and too narrow in the other; %s",
		how, g.low, g.high, mend)
}

// twoValues says whether there are two different values or fewer: of classes.
func twoValues(y []float64) bool {
	lo, hi := slices.Min(y), slices.Max(y)
	return !slices.ContainsFunc(y, func(v float64) bool { return v != lo && v != hi })
}

// uneven returns what the residuals spread along, if there is such a thing.
func uneven(m *bbgp.Model, at []score.Outlier) (grading, bool) {
	size, off, along := make([]float64, len(at)), make([]float64, len(at)), make([]float64, len(at))
	for k, o := range at {
		size[k], off[k], along[k] = math.Abs(o.Z), math.Abs(o.Y-o.Mean), o.Mean
	}
	size = ranks(size)
	var best, prediction grading
	look := func(input int) grading {
		g := grading{input: input, score: correlation(ranks(along), size) * math.Sqrt(float64(len(at)-1))}
		g.low, g.high = quarters(along, off)
		if ratio := g.high / g.low; !(math.Abs(g.score) > growsBeyond) || !(max(ratio, 1/ratio) > growsBy) ||
			(ratio > 1) != (g.score > 0) {
			g.score = 0
		}
		return g
	}
	if !m.Result.NoStructure {
		prediction = look(-1)
		best = prediction
	}
	x := m.Training().X
	for j := range m.D() {
		for k, o := range at {
			along[k] = x.At(o.Row, j)
		}
		if g := look(j); math.Abs(g.score) > math.Abs(best.score) {
			best = g
		}
	}
	if math.Abs(prediction.score) > predictionIs*math.Abs(best.score) {
		best = prediction
	}
	return best, best.score != 0
}

// ranks returns the ranks of v about their mean, equal values at the mean of theirs.
func ranks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(v[a], v[b]), cmp.Compare(a, b)) })
	out := make([]float64, len(v))
	for a := 0; a < len(order); {
		b := a
		for b < len(order) && v[order[b]] == v[order[a]] {
			b++
		}
		for _, i := range order[a:b] {
			out[i] = (float64(a+b) - float64(len(v))) / 2
		}
		a = b
	}
	return out
}

// correlation of values about their means; 0 where one does not vary.
func correlation(a, b []float64) float64 {
	ab, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		ab, aa, bb = ab+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i]
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// quarters returns the spreads of residuals where along is in its lowest quarter and in
// its highest; where these are one value, at its least and its greatest.
func quarters(along, off []float64) (low, high float64) {
	v := slices.Sorted(slices.Values(along))
	a, b := v[len(v)/4], v[len(v)-1-len(v)/4]
	if a == b {
		a, b = v[0], v[len(v)-1]
	}
	var lows, highs []float64
	for i, x := range along {
		if x <= a {
			lows = append(lows, off[i])
		}
		if x >= b {
			highs = append(highs, off[i])
		}
	}
	return spread(lows), spread(highs)
}
