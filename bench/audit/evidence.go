package main

import (
	"context"
	"fmt"
	"math"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/gp"
)

// The likelihood: its intervals, the bounds of its bias, its gradient.

const (
	tightEps    = 1e-5 // of the evaluation that stands for the truth about the bias
	gradientTol = 1e-4 // of the size of the terms of a derivative, and of
	leastSize   = 10   // nats, where these are smaller
)

const (
	gradientRows  = 200 // below which gradients by probes are held against the truth
	gradientSeeds = 24  // of probes whose mean gradient is
)

// manyRows is how many rows make the truth so dear that every way of computing is held
// against it.
const manyRows = 1500

func holdEvidence(p *problem, t *tally) {
	ctx := context.Background()
	scaling := gp.Identity(p.data.X.Cols)
	if !p.plain {
		scaling = gp.Standardise(p.data.X, p.data.Y, p.options().ScaleFloor)
	}
	got, err := bbgp.LogMarginalLikelihood(ctx, p.data, p.params, p.options())
	if err != nil {
		t.refuse(p, "the likelihood", err)
		return
	}
	truth, err := newTruth(p, &bbgp.Model{Parameters: p.params, Scaling: scaling})
	if err != nil {
		t.fail("%s: %v", p.recipe(), err)
		return
	}
	lml := truth.lml()
	p.likelihood(t, truth, lml, got)
	if got.BoundKind != "exact" {
		p.bias(ctx, t, truth, lml, got)
	}
	if p.number%4 == 0 {
		p.sparse(ctx, t, lml)
	}
	if p.number%6 == 1 && !p.dense && len(p.data.Y) < gradientRows {
		p.probed(ctx, t, truth)
	}
	if len(truth.x) < manyRows {
		return
	}
	for _, q := range p.otherWays() {
		got, err := bbgp.LogMarginalLikelihood(ctx, q.data, q.params, q.options())
		if err != nil {
			t.refuse(q, "the likelihood", err)
			continue
		}
		q.likelihood(t, truth, lml, got)
	}
}

// likelihood holds the value and, where that is dense, the gradient.
func (p *problem) likelihood(t *tally, truth *truth, lml float64, got *bbgp.LMLReport) {
	t.evaluations++
	if len(truth.x) > manyRows {
		t.large++
	}
	if got.BoundKind != "exact" {
		t.interval("likelihood, 95 % interval", 0.94, got.Interval95, lml, p.recipe())
		t.interval("likelihood, 99.9 % interval", 0.997, got.Interval999, lml, p.recipe())
		return
	}
	lo, hi := float64(got.Lower), float64(got.Upper)
	t.within("likelihood", "exact", lo, lml, hi, hi-lo > 1e-6*math.Abs(lml), p.recipe())
	want, size := truth.gradient()
	p.gradient(t, "gradient, dense", got.Gradient, want, size, hi-lo)
}

// bias holds the bounds of the bias and the gradient against a tight evaluation in float64 with the same
// preconditioner and probes, and the likelihood without gradient, whose products may be float32.
func (p *problem) bias(ctx context.Context, t *tally, truth *truth, lml float64, got *bbgp.LMLReport) {
	opt := p.options()
	opt.NoGradient = true
	value, err := bbgp.LogMarginalLikelihood(ctx, p.data, p.params, opt)
	if err != nil {
		t.refuse(p, "the likelihood without gradient", err)
		return
	}
	p.likelihood(t, truth, lml, value)
	if tight := p.tight(ctx, t, got); tight != nil {
		p.biasBounds(t, got, tight)
		_, size := truth.gradient()
		p.gradient(t, "gradient by probes, bias", got.Gradient, tight.Gradient, size, float64(tight.Upper-tight.Lower))
	}
	if tight := p.tight(ctx, t, value); tight != nil {
		p.biasBounds(t, value, tight)
	}
}

// tight evaluates p in float64 with next to no bias, with the preconditioner and probes of got; nil where it was
// answered otherwise and there is nothing to compare with.
func (p *problem) tight(ctx context.Context, t *tally, got *bbgp.LMLReport) *bbgp.LMLReport {
	opt := p.options()
	opt.Eps, opt.Probes, opt.Precision = tightEps, got.Probes, "f64"
	opt.NoGradient = got.Gradient == nil
	tight, err := bbgp.LogMarginalLikelihood(ctx, p.data, p.params, opt)
	if err != nil || tight.Rank != got.Rank || tight.Neighbours != got.Neighbours || tight.BoundKind == "exact" {
		return nil
	}
	t.evaluations++
	return tight
}

// biasBounds holds the bounds of the bias of got.
func (p *problem) biasBounds(t *tally, got, tight *bbgp.LMLReport) {
	lo, hi := float64(got.Lower), float64(got.Upper)
	// The truth is somewhere between the tight bounds.
	at := min(max(tight.LML, lo), hi)
	at = min(max(at, float64(tight.Lower)), float64(tight.Upper))
	t.within("bias, "+string(got.Precision), string(got.BoundKind), lo, at, hi, hi-lo > 2.1, p.recipe())
}

// probed holds the gradient by probes against the truth, in the mean over several seeds, by Student's
// t of 23 degrees of freedom as a number that is normal, nearly.
func (p *problem) probed(ctx context.Context, t *tally, truth *truth) {
	want, size := truth.gradient()
	opt := p.options()
	doubt := 0.0
	fits := make([][]float64, gradientSeeds)
	for i := range fits {
		opt.Seed = uint64(i)
		got, err := bbgp.LogMarginalLikelihood(ctx, p.data, p.params, opt)
		if err != nil || got.BoundKind == "exact" {
			return
		}
		doubt = max(doubt, float64(got.Upper-got.Lower))
		fits[i] = p.logarithmic(got.Gradient)
	}
	for j, v := range p.logarithmic(want)[:len(size)] {
		mean, spread := 0.0, 0.0
		for _, f := range fits {
			mean += f[j] / gradientSeeds
		}
		for _, f := range fits {
			spread += (f[j] - mean) * (f[j] - mean) / (gradientSeeds - 1)
		}
		off := max(0, math.Abs(mean-v)-gradientTol*max(size[j], leastSize)-doubt)
		z := 0.0
		if off != 0 {
			z = off * math.Sqrt(gradientSeeds/max(spread, math.SmallestNonzeroFloat64))
		}
		t.atMost("gradient, mean over seeds", z, p.recipe())
	}
}

// sparse holds the lower bounds of the other methods.
func (p *problem) sparse(ctx context.Context, t *tally, lml float64) {
	for _, method := range []string{"sgpr", "cglb"} {
		opt := p.options()
		opt.Method, opt.Rank, opt.Neighbours = enum.Method(method), min(50, p.data.X.Rows/2), 0
		got, err := bbgp.LogMarginalLikelihood(ctx, p.data, p.params, opt)
		if err != nil {
			t.refuse(p, method, err)
			continue
		}
		t.evaluations++
		t.within("likelihood, "+method, string(got.BoundKind), float64(got.Lower), lml, math.Inf(1), false, p.recipe())
	}
}

// gradient compares derivatives by logarithms of the parameters. They may be off by the
// rounding that the value says it has, which is α'δK α/2 for the most part: where |L| is 1e10,
// float64 entries of K know no more.
func (p *problem) gradient(t *tally, what string, got, want *bbgp.Gradient, size []float64, rounding float64) {
	a, b := p.logarithmic(got), p.logarithmic(want)
	for i, v := range b[:len(size)] {
		off := gradientTol*max(size[i], leastSize) + rounding
		t.within(what, "1e-4 of its terms", v-off, a[i], v+off, false, p.recipe()+fmt.Sprintf(", derivative %d", i))
	}
}

// logarithmic returns the derivatives by log σ_f², log σ_n² and log ℓ.
func (p *problem) logarithmic(g *bbgp.Gradient) []float64 {
	out := []float64{g.Variance * p.params.Variance, g.Noise * p.params.Noise}
	for j, l := range p.params.Lengthscales {
		if p.counts(j) {
			out = append(out, g.Lengthscales[j]*l)
		}
	}
	return out
}

// counts says whether input j is in the distance.
func (p *problem) counts(j int) bool {
	for i := range p.data.X.Rows {
		if p.data.X.At(i, j) != p.data.X.At(0, j) {
			return !math.IsInf(p.params.Lengthscales[j], 1)
		}
	}
	return false
}

// lml is the log marginal likelihood. Repeated rows are one row with their mean target; what
// that leaves of the likelihood needs no matrix.
func (t *truth) lml() float64 {
	logs, squares := t.within()
	q := dot(t.y, t.alpha).add(squares)
	return -0.5 * (logs + float64(len(t.x))*math.Log(2*math.Pi) + t.f.logDet() + q.float())
}

// within returns what merging has left out of -2 L: logarithms, and squares over the noise.
func (t *truth) within() (logs float64, squares twice) {
	noise, s := t.p.params.Noise, &t.scaling
	for _, c := range t.counts {
		m := float64(c)
		logs += math.Log(m) + (m-1)*math.Log(2*math.Pi*noise)
	}
	group := t.groups()
	for i, y := range t.p.data.Y {
		z := wide(y).sub(wide(s.YMean)).div(wide(s.YScale)).sub(wide(t.p.params.Mean)).sub(t.y[group[i]])
		squares = squares.add(z.mul(z).div(wide(noise)))
	}
	return logs, squares
}

// groups returns the merged row of every row of the table.
func (t *truth) groups() []int {
	at := map[string]int{}
	for k, i := range t.first {
		at[keyOf(t.p.data.X.Row(i))] = k
	}
	of := make([]int, t.p.data.X.Rows)
	for i := range of {
		of[i] = at[keyOf(t.p.data.X.Row(i))]
	}
	return of
}

// derivatives returns, by log σ_f², log σ_n² and log ℓ of the inputs that count, the two terms
// α'∂K̂α/2 and tr(K̂⁻¹∂K̂)/2, whose difference is the derivative but for what merged rows add to
// that by the noise.
func (t *truth) derivatives() (fits, traces []float64) {
	n, q := len(t.x), t.p.params
	inverse := t.f.inverse()
	d := 0
	if n > 0 {
		d = len(t.x[0])
	}
	sums := make([]twice, 2+d) // weights of opposite sign cancel by many digits
	traces = make([]float64, 2+d)
	for i := range n {
		for j := range i + 1 {
			twofold := 1.0
			if i == j {
				twofold = 0.5
			}
			aa, inv := t.alpha[i].mul(t.alpha[j]).mul(wide(twofold)), twofold*inverse.At(i, j)
			k := t.k[i][j]
			if i == j {
				k = t.variance
			}
			sums[0] = sums[0].add(aa.mul(k))
			traces[0] += inv * k.float()
			if i == j {
				v := q.Noise / float64(t.counts[i])
				sums[1] = sums[1].add(aa.mul(wide(v)))
				traces[1] += inv * v
			}
			w := t.weight(t.x[i], t.x[j])
			for c := range d {
				e := t.x[i][c].sub(t.x[j][c]).float()
				sums[2+c] = sums[2+c].add(aa.mul(wide(w * e * e)))
				traces[2+c] += inv * w * e * e
			}
		}
	}
	for _, s := range sums {
		fits = append(fits, s.float())
	}
	return fits, traces
}

// weight is w with ∂k/∂log ℓ_d = w ((a_d - b_d)/ℓ_d)².
func (t *truth) weight(a, b []twice) float64 {
	r2 := 0.0
	for j, v := range a {
		e := v.sub(b[j]).float()
		r2 += e * e
	}
	v := t.variance.float()
	switch r := math.Sqrt(r2); t.p.params.Kernel {
	case "matern12":
		if r == 0 {
			return 0
		}
		return v * math.Exp(-r) / r
	case "matern32":
		return 3 * v * math.Exp(-math.Sqrt(3)*r)
	case "matern52":
		return 5. / 3 * v * (1 + math.Sqrt(5)*r) * math.Exp(-math.Sqrt(5)*r)
	}
	return v * math.Exp(-r2/2)
}

// gradient is that of the likelihood by the parameters, sizes those of its terms by
// their logarithms.
func (t *truth) gradient() (g *bbgp.Gradient, size []float64) {
	fits, traces := t.derivatives()
	q := t.p.params
	_, squares := t.within()
	traces[1] += 0.5 * float64(t.p.data.X.Rows-len(t.x))
	fits[1] += 0.5 * squares.float()
	g = &bbgp.Gradient{Lengthscales: make([]float64, len(q.Lengthscales))}
	for i := range fits {
		size = append(size, math.Abs(fits[i])+math.Abs(traces[i]))
	}
	g.Variance, g.Noise = (fits[0]-traces[0])/q.Variance, (fits[1]-traces[1])/q.Noise
	c := 2
	for j, l := range q.Lengthscales {
		if t.p.counts(j) {
			g.Lengthscales[j] = (fits[c] - traces[c]) / l
			c++
		}
	}
	return g, size
}
