package evidence

import "math"

// What the probes leave open. -2 L has the term (1/s) Σ w_i'Mw_i, M = log A, s sign vectors
// w_i. Its variance is 2 (|M|_F² - Σ M_ii²)/s. The spread of s values tells that with s - 1
// degrees of freedom, and where a few eigenvalues rule (low-rank P) the law is skewed, and
// a low value comes with a small spread. But more is known:
//
//	w'M²w has the mean |M|_F², by chance from probe to probe with the relative variance
//	2 Σ μ⁴/(Σ μ²)², μ the eigenvalues of M: like a χ² of (Σ μ²)²/Σ μ⁴ degrees of freedom,
//	hundreds where many eigenvalues share in it, 1 where one rules;
//	|log H|_F² <= |M|_F²: of an eigenvalue that rules the process has the size.
//
// So the scale of the law is the root of 2/s times the larger of the two, over 2 for L: as a
// rule too large, by what the diagonal of M holds. The interval takes it by the quantiles
// of Student's t with s (Σ μ²)²/Σ μ⁴ degrees of freedom.

// A Scatter describes the law of the probes' part of L: how far the estimate may be off,
// in nats, as a scale of Student's t, and its degrees of freedom. Probes is 0 for none.
type Scatter struct {
	Scale, Degrees float64
	Probes         int
}

// FewSpread is the number of probes below which their own spread says too little.
const FewSpread = 4

// Merge returns the law of the mean over the probes of two.
func (a Scatter) Merge(b Scatter) Scatter {
	p, q := float64(a.Probes), float64(b.Probes)
	u, v := p*a.Scale, q*b.Scale
	m := Scatter{Scale: math.Hypot(u, v) / (p + q), Probes: a.Probes + b.Probes, Degrees: a.Degrees + b.Degrees}
	if u > 0 || v > 0 { // Welch and Satterthwaite
		m.Degrees = math.Pow(u*u+v*v, 2) / (u*u*u*u/a.Degrees + v*v*v*v/b.Degrees)
	}
	return m
}

// An Interval is [lower, upper], null in JSON where there is no such bound.
type Interval []Bound

// Shift moves both ends.
func (i Interval) Shift(v float64) {
	for k := range i {
		i[k] += Bound(v)
	}
}

// Interval returns where L is with the given probability, level < 1: the bounds of the
// bias, wider by what the probes leave open.
func (ev *Value) Interval(level float64) Interval {
	reach := 0.0
	if ev.Law.Probes > 0 && ev.Law.Scale > 0 {
		reach = ev.Law.Scale * StudentQuantile((1+level)/2, ev.Law.Degrees)
	}
	lower, upper := Ordered(ev)
	return Interval{lower - Bound(reach), upper + Bound(reach)}
}

// StudentQuantile is the quantile of Student's t with so many degrees of freedom (> 0), for
// 1/2 <= p < 1.
func StudentQuantile(p, degrees float64) float64 {
	if p <= 0.5 {
		return 0
	}
	lo, hi := 0.0, 1.0
	for studentTail(hi, degrees) > 1-p && hi < 1e100 {
		lo, hi = hi, 2*hi
	}
	for range 60 {
		if mid := (lo + hi) / 2; studentTail(mid, degrees) > 1-p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// studentTail is P(T > t), t >= 0: I_x(ν/2, 1/2)/2 with x = ν/(ν + t²).
func studentTail(t, degrees float64) float64 {
	if degrees > 1e7 {
		return 0.5 * math.Erfc(t/math.Sqrt2)
	}
	x := degrees / (degrees + t*t)
	return 0.5 * incompleteBeta(degrees/2, 0.5, x, t*t/(degrees+t*t))
}

// incompleteBeta is the regularised I_x(a, b), y = 1 - x, by its continued fraction
// (Abramowitz and Stegun 26.5.8).
func incompleteBeta(a, b, x, y float64) float64 {
	if x <= 0 || y <= 0 {
		return min(max(x, 0), 1)
	}
	if x > (a+1)/(a+b+2) {
		return 1 - incompleteBeta(b, a, y, x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log(y)) / a
	const tiny = 1e-300
	f, c, d := 1.0, 1.0, 0.0
	for i := range 10000 {
		m, numerator := float64(i/2), 1.0
		switch {
		case i == 0:
		case i%2 == 0:
			numerator = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		default:
			numerator = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		d = 1 / nonzero(1+numerator*d, tiny)
		c = nonzero(1+numerator/c, tiny)
		f *= c * d
		if math.Abs(c*d-1) < 1e-15 && i > 0 {
			break
		}
	}
	return front * (f - 1)
}

func nonzero(x, tiny float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}

// Ordered returns the bounds of ev, which rounding may have put on the wrong
// sides of a value that they meet.
func Ordered(ev *Value) (lower, upper Bound) {
	return Bound(min(ev.Lower, ev.LML)), Bound(max(ev.Upper, ev.LML))
}
