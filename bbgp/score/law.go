package score

import "math"

// A Law is the distribution of an observation
//
//	y = μ + (a + b/w)^1/2 z,   z ~ N(0, 1),   w ~ Gamma(ν/2, rate ν/2):
//
// normal with variance a + b without a Tail, Student's t with ν degrees of freedom
// and scale b^1/2 where a = 0, and the sum of a normal function and a noise of
// Student's t otherwise. A variance of 0 stands for a value known for certain, one
// of +Inf for a value of which only the mean is known: neither has a density.
type Law struct {
	Mean, Fixed, Mixed float64
	Tail               *Tail // nil: normal
}

// Normal returns the law N(mean, sd²).
func Normal(mean, sd float64) Law { return Law{Mean: mean, Fixed: sd * sd} }

// z95 is the 97.5 % quantile of N(0, 1).
const z95 = 1.959963984540054

// Dense says whether the law has a density.
func (l Law) Dense() bool {
	v := l.Fixed + l.Mixed
	return v > 0 && !math.IsInf(v, 1)
}

// SD returns half the width of the central 95 % interval over 1.96: the standard
// deviation of a normal law. (That of Student's t does not exist up to ν = 2, and is
// within 2 % of this from ν = 3 on.)
func (l Law) SD() float64 {
	switch {
	case l.Tail == nil || !l.Dense():
		return math.Sqrt(l.Fixed + l.Mixed)
	case l.Fixed == 0:
		return math.Sqrt(l.Mixed) * l.Tail.q95 / z95
	}
	return l.HalfWidth(0.95) / z95
}

// LogDensity returns log p(y), NaN where the law has no density.
func (l Law) LogDensity(y float64) float64 {
	e := y - l.Mean
	normal := func(v float64) float64 { return -0.5 * (e*e/v + math.Log(2*math.Pi*v)) }
	switch {
	case !l.Dense():
		return math.NaN()
	case l.Tail == nil:
		return normal(l.Fixed + l.Mixed)
	}
	top := math.Inf(-1)
	terms := make([]float64, len(l.Tail.share))
	for k, s := range l.Tail.share {
		terms[k] = math.Log(s) + normal(l.Fixed+l.Mixed*l.Tail.inverse[k])
		top = max(top, terms[k])
	}
	sum := 0.0
	for _, t := range terms {
		sum += math.Exp(t - top)
	}
	return top + math.Log(sum)
}

// Beyond returns the probability of |Y - μ| > |y - μ|.
func (l Law) Beyond(y float64) float64 { return l.outside(math.Abs(y - l.Mean)) }

// outside returns P(|Y - μ| > e); at a law without density 1 or 0.
func (l Law) outside(e float64) float64 {
	if !l.Dense() {
		if e > l.Fixed+l.Mixed { // 0 or +Inf
			return 0
		}
		return 1
	}
	if l.Tail == nil {
		return math.Erfc(e / math.Sqrt(2*(l.Fixed+l.Mixed)))
	}
	p := 0.0
	for k, s := range l.Tail.share {
		p += s * math.Erfc(e/math.Sqrt(2*(l.Fixed+l.Mixed*l.Tail.inverse[k])))
	}
	return min(p, 1)
}

// HalfWidth returns h, [μ - h, μ + h] being the central interval of probability p,
// 0 < p < 1, to 1e-10 of its size.
func (l Law) HalfWidth(p float64) float64 {
	sd := math.Sqrt(l.Fixed + l.Mixed)
	normal := math.Sqrt2 * math.Erfinv(p)
	switch {
	case l.Tail == nil || !l.Dense():
		return normal * sd
	case l.Fixed == 0 && p == 0.95 && l.Tail.q95 > 0:
		return sd * l.Tail.q95
	}
	want := math.Log1p(-p)
	// log P(|Y - μ| > e) falls steadily: bracket, then regula falsi with halving.
	lo, hi := 0.0, normal*sd
	flo, fhi := -want, math.Log(l.outside(hi))-want
	for fhi > 0 {
		lo, flo = hi, fhi
		hi *= 2
		fhi = math.Log(l.outside(hi)) - want
	}
	for range 200 {
		if hi-lo <= 1e-11*hi {
			break
		}
		mid := (lo*fhi - hi*flo) / (fhi - flo)
		if !(mid > lo && mid < hi) {
			mid = (lo + hi) / 2
		}
		f := math.Log(l.outside(mid)) - want
		if f == 0 {
			return mid
		}
		if f > 0 {
			lo, flo = mid, f
			fhi /= 2 // Illinois: the end that stays loses weight
		} else {
			hi, fhi = mid, f
			flo /= 2
		}
	}
	return (lo + hi) / 2
}

// CRPS returns the continuous ranked probability score E|Y - y| - E|Y - Y'|/2 (Gneiting
// and Raftery 2007), for a normal law
//
//	sd (z (2Φ(z) - 1) + 2φ(z) - π^-1/2),   z = (y - μ)/sd;
//
// |y - μ| where the value is certain, +Inf where the law has no mean size.
func (l Law) CRPS(y float64) float64 {
	e, v := y-l.Mean, l.Fixed+l.Mixed
	switch {
	case v == 0:
		return math.Abs(e)
	case !l.Dense() || l.Tail != nil && l.Tail.df <= 1:
		return math.Inf(1)
	case l.Tail == nil:
		return meanSize(e, v) - meanSize(0, 2*v)/2
	}
	sum := 0.0
	for k, s := range l.Tail.share {
		v := l.Fixed + l.Mixed*l.Tail.inverse[k]
		sum += s * meanSize(e, v)
		for m, t := range l.Tail.share {
			sum -= s * t * meanSize(0, v+l.Fixed+l.Mixed*l.Tail.inverse[m]) / 2
		}
	}
	return sum
}

// meanSize is E|X|, X ~ N(e, v).
func meanSize(e, v float64) float64 {
	sd := math.Sqrt(v)
	z := e / sd
	return sd * (z*math.Erf(z/math.Sqrt2) + math.Sqrt(2/math.Pi)*math.Exp(-z*z/2))
}

// A Tail is the gamma distribution of w with ν degrees of freedom, as a sum over
// w_k = e^(u_k) of shares p_k: the trapezoidal rule in u, whose error falls with the
// step as exp(-π²/step) and is below 1e-11.
type Tail struct {
	df             float64
	inverse, share []float64 // 1/w_k, p_k
	q95            float64   // 97.5 % quantile of Student's t
}

// mostDF is the number of degrees of freedom beyond which a law counts as normal: its
// 95 % interval is within 0.1 % of that.
const mostDF = 1200

// NewTail returns the Tail of ν degrees of freedom; nil, a normal law, for ν = 0,
// which stands for infinity, and beyond 1200.
func NewTail(df float64) *Tail {
	if !(df > 0) || df > mostDF {
		return nil
	}
	t, half := &Tail{df: df}, df/2
	step := 0.35 / math.Sqrt(max(half, 1))
	g, _ := math.Lgamma(half)
	// The rule leaves out what is below e^-700 and, on the left, u < -45 or a share
	// of e^-45 whichever is farther: |y - μ| up to some 1e9 scales.
	least := -max(45, 45/half)
	for k := math.Floor(least / step); ; k++ {
		u := k * step
		log := half*(math.Log(half)+u-math.Exp(u)) - g
		if log < -700 {
			if u > 0 {
				break
			}
			continue
		}
		t.inverse, t.share = append(t.inverse, math.Exp(-u)), append(t.share, step*math.Exp(log))
	}
	t.q95 = Law{Mixed: 1, Tail: t}.HalfWidth(0.95)
	return t
}

// DF returns ν, 0 for a normal law.
func (t *Tail) DF() float64 {
	if t == nil {
		return 0
	}
	return t.df
}
