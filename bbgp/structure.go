package bbgp

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/posterior"
	"bbgp.dev/linalg"
)

// Whether the inputs tell the target at all. Where the likelihood is less than
// structureNats above that of independent rows about one mean,
//
//	L0 = max over c, s² of Σ log N(y_i; c, s² d_i + e_i),
//
// the model is one of a constant: what a fit has found in so few rows is as likely to be
// their noise, and the intervals that follow from it too short. Its mean is known to
// 1/A, A = Σ 1/(s² d_i + e_i): in the terms of the process all lengthscales are infinite
// and σ_f² = n/A, the information of one row. With K̂ = σ_f² 11' + Σ and r = y - c,
//
//	log det K̂ = log det Σ + log(1 + σ_f² A),   K̂⁻¹r = Σ⁻¹(r - σ_f² B/(1 + σ_f² A)),   B = 1'Σ⁻¹r.
//
// With no more rows than parameters no structure can be proven: priors hold. Rows that
// repeat measure the noise, which is what goes wrong otherwise.

const (
	structureNats = 3
	fewRepeats    = 2  // rows beside others at their place that measure the noise
	unevenScale   = 4  // between the largest weight and the middle one
	manyRows      = 50 // rows a parameter, from which on intervals are normal
	// Up to so many rows a parameter, and rows in all, left-out rows tell whether intervals are
	// to be widened for few rows; beyond, there is little to save.
	smoothRows, smoothMost = 10, 1000
)

// judge makes m a model of a constant where no more than that was found, and says how
// far the intervals of few rows are to be trusted.
func (f *fit) judge(ctx context.Context, m *Model) {
	r := &m.Result
	n, d := r.N, r.D-len(r.Constant)
	c := f.constantFit()
	gain := r.LML - c.value
	sure := gain+float64(r.Upper)-r.LML+2*r.StdErr < structureNats &&
		(r.Stopped == enum.StoppedConverged || r.Stopped == enum.StoppedStalled)
	const advice = "look for inputs that tell more, or leave out rows that lie far off"
	switch {
	case sure && !evidence.TooFewRows(n, d) && n-r.Distinct < fewRepeats && !f.uneven(n, d):
		f.flatten(m, c)
		r.warn("no structure found: the log likelihood of the best model is %.3g above that of noise alone, too "+
			"little to predict by; the model is the mean; %s", gain, advice)
		if !f.opt.FixMean {
			n--
		}
		r.DF = float64(max(n, 1))
		return
	case gain < structureNats && n >= 3 && !f.uneven(n, d):
		r.warn("no structure found: the log likelihood is %.3g above that of noise alone; %s", gain, advice)
	}
	// Numbers that were taken from the rows: mean, two variances, lengthscales, or next
	// to one where priors hold.
	if p := 1 + (1-f.opt.guide.Weight)*float64(d+2); float64(n) < manyRows*p {
		r.DF = max(float64(n)-p, 1)
		if spare := float64(n-1) - r.DF; spare > 0 && float64(n) <= smoothRows*p && n <= smoothMost {
			r.DF += spare * max(0, 1-f.leftOutSquare(ctx, m))
		}
	}
}

// uneven says whether some of few rows have far larger weights than the middle one. Smaller ones, as
// a robust fit gives to rows far off, do no harm.
func (f *fit) uneven(n, d int) bool {
	s := slices.Sorted(slices.Values(f.full.NoiseScale))
	return len(s) > 0 && n < smoothRows*(d+3) && s[len(s)/2] > unevenScale*s[0]
}

// leftOutSquare returns the mean square of what targets differ by from what the other rows say
// of them, in the deviations that the model gives that: 1 where these are right, less where the
// function is smoother than the kernel takes it for, so that intervals need no widening. With
// K̂α = y - c it is the mean of α_i²/(K̂⁻¹)_ii (Dubrule 1983). Where rounding leaves no factor it
// tells nothing, and 1 is returned.
func (f *fit) leftOutSquare(ctx context.Context, m *Model) float64 {
	p, d := m.Parameters, f.Whole
	n := d.X.Rows
	o, err := gp.NewCholesky(f.opt.Engine, d, p)
	if err == nil {
		err = o.Factor(ctx, p)
	}
	if err != nil {
		return 1
	}
	alpha, inverse := linalg.NewMatrix(n, 1), linalg.NewMatrix(n, n)
	for i, y := range d.Y {
		alpha.Data[i] = y - p.Mean
	}
	o.Chol.SolveTo(alpha, alpha)
	o.Chol.InverseTo(inverse)
	sum := 0.0
	for i, a := range alpha.Data {
		sum += a * a / inverse.At(i, i)
	}
	return sum / float64(n)
}

// A constantFit is the model of independent rows about one mean.
type constantFit struct {
	mean, noise float64 // c and s²
	value       float64 // L0
	variance    float64 // σ_f² of the process that stands for it
	lml         float64 // of that
	slope       float64 // of L0 by s²
	a, b        float64
	square      float64 // mean of (y - c)²/d
}

// constantFit fits all rows, which need not be merged. Their inputs tell nothing of a constant.
func (f *fit) constantFit() constantFit {
	bare := *f.full
	bare.X = linalg.NewMatrix(bare.X.Rows, 0)
	s := f.opt.scaling(&bare)
	c := f.constantOf(s.Apply(bare.table()).InNoiseUnit(f.unit))
	c.noise /= f.unit
	return c
}

// constantOf fits the rows of d, whose weights are not far from 1.
func (f *fit) constantOf(d *gp.Table) constantFit {
	if d.NoiseExtra == nil { // s² scales all: its maximum is the mean square
		return f.constantAt(d, max(f.constantAt(d, 1).square, gp.MinParam))
	}
	// The best of a grid over log s², and between its neighbours where the slope changes sign: the
	// value is too flat there to tell more than half the digits of s².
	const steps = 24
	low, high := math.Log(gp.MinParam), math.Log(10*f.constantAt(d, 1).square+1)
	best, at := constantFit{value: math.Inf(-1)}, low
	for k := range steps + 1 {
		u := low + (high-low)*float64(k)/steps
		if c := f.constantAt(d, math.Exp(u)); c.value > best.value {
			best, at = c, u
		}
	}
	lo, hi := max(low, at-(high-low)/steps), min(high, at+(high-low)/steps)
	for range 60 {
		at = (lo + hi) / 2
		if best = f.constantAt(d, math.Exp(at)); best.slope > 0 {
			lo = at
		} else {
			hi = at
		}
	}
	return best
}

// constantAt fits the mean for a given s².
func (f *fit) constantAt(d *gp.Table, noise float64) constantFit {
	c := constantFit{noise: noise}
	logs, sum := 0.0, 0.0
	for i, y := range d.Y {
		v := noise*d.ScaleOf(i) + at(d.NoiseExtra, i, 0)
		c.a += 1 / v
		sum += y / v
		logs += math.Log(v)
	}
	switch {
	case !f.opt.FixMean:
		c.mean = sum / c.a
	case f.opt.Start != nil:
		c.mean = f.opt.Start.Mean
	}
	quad := 0.0
	for i, y := range d.Y {
		v, e := noise*d.ScaleOf(i)+at(d.NoiseExtra, i, 0), y-c.mean
		quad += e * e / v
		c.slope += 0.5 * d.ScaleOf(i) * (e*e/v - 1) / v
		c.b += e / v
		c.square += e * e / d.ScaleOf(i) / float64(len(d.Y))
	}
	n := float64(len(d.Y))
	c.value = -0.5 * (logs + quad + n*math.Log(2*math.Pi))
	c.variance = max(n/c.a, gp.MinParam)
	grow := 1 + c.variance*c.a
	c.lml = c.value - 0.5*(math.Log(grow)-c.variance*c.b*c.b/grow)
	return c
}

// flatten makes m the process that stands for c.
func (f *fit) flatten(m *Model, c constantFit) {
	p := DefaultParams(m.Parameters.Kernel, m.D())
	p.Mean, p.Variance, p.Noise = c.mean, c.variance, c.noise
	for j := range p.Lengthscales {
		p.Lengthscales[j] = math.Inf(1)
	}
	m.Parameters, m.Result.Parameters = p, p
	weights := make([]float64, m.N())
	shrink := c.variance * c.b / (1 + c.variance*c.a)
	for i, v := range gp.NoiseOf(p, f.Whole) {
		weights[i] = (f.Whole.Y[i] - c.mean - shrink) / v
	}
	spec := m.post.Spec()
	spec.Rank, spec.Neighbours, spec.Latents, spec.Node = -1, -1, 0, 0
	m.post = f.posterior(p, spec, posterior.Weights{Alpha: weights})
	r := &m.Result
	r.NoStructure = true
	off := 0x1p-52 * float64(r.N) * (math.Abs(c.lml) + float64(r.N)) // of sums of so many terms
	r.LML, r.StdErr, r.BoundKind = c.lml, 0, enum.BoundExact
	r.Lower, r.Upper = Bound(c.lml-off), Bound(c.lml+off)
	r.Interval95, r.Interval999 = Interval{r.Lower, r.Upper}, Interval{r.Lower, r.Upper}
}
