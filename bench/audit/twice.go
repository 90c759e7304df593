package main

import "math"

// A twice is the unevaluated sum of two float64, hi + lo with |lo| <= ulp(hi)/2: about
// 32 digits. Sums and products follow Dekker (1971) and Knuth's two-sum, with FMA for
// the error of a product; each operation is exact to some 2^-104.
type twice struct{ hi, lo float64 }

func wide(a float64) twice { return twice{a, 0} }

func quickSum(a, b float64) twice { // |a| >= |b|
	s := a + b
	return twice{s, b - (s - a)}
}

func (x twice) add(y twice) twice {
	s := x.hi + y.hi
	z := s - x.hi
	e := (x.hi - (s - z)) + (y.hi - z)
	t := x.lo + y.lo
	w := t - x.lo
	f := (x.lo - (t - w)) + (y.lo - w)
	r := quickSum(s, e+t)
	return quickSum(r.hi, r.lo+f)
}

func (x twice) neg() twice        { return twice{-x.hi, -x.lo} }
func (x twice) sub(y twice) twice { return x.add(y.neg()) }

func (x twice) mul(y twice) twice {
	p := x.hi * y.hi
	e := math.FMA(x.hi, y.hi, -p)
	return quickSum(p, e+(x.hi*y.lo+x.lo*y.hi))
}

func (x twice) div(y twice) twice {
	q := x.hi / y.hi
	r := x.sub(y.mul(wide(q)))
	p := r.hi / y.hi
	r = r.sub(y.mul(wide(p)))
	return quickSum(q, p).add(wide(r.hi / y.hi))
}

func (x twice) sqrt() twice {
	if x.hi <= 0 {
		return twice{}
	}
	s := math.Sqrt(x.hi)
	p := s * s
	rest := x.sub(twice{p, math.FMA(s, s, -p)})
	return quickSum(s, rest.float()/(2*s)) // a step of Newton's doubles the digits
}

var ln2 = twice{math.Ln2, 2.3190468138462996e-17}

// shares are 1/1!, 1/2!, …
var shares = func() (s [11]twice) {
	f := wide(1)
	for i := range s {
		f = f.div(wide(float64(i + 1)))
		s[i] = f
	}
	return s
}()

// steps are 2^(i/64), by a Taylor series of what is 2^-8 of the logarithm and eight squarings.
var steps = func() (s [64]twice) {
	for i := range s {
		r := ln2.mul(wide(float64(i) / 64 / 256))
		sum := twice{}
		for k := len(shares) - 1; k >= 0; k-- { // e^r - 1, which keeps its digits when squared
			sum = shares[k].add(sum).mul(r)
		}
		for range 8 {
			sum = sum.mul(wide(2)).add(sum.mul(sum))
		}
		s[i] = sum.add(wide(1))
	}
	return s
}()

// exp is e^x, by x = k ln 2/64 + r, |r| <= ln 2/128, and a Taylor series of r, whose terms from the
// seventh on are less than 2^-53 of the sum.
func (x twice) exp() twice {
	if x.hi < -700 {
		return twice{}
	}
	k := math.Round(x.hi * (64 / math.Ln2))
	r := x.sub(ln2.mul(wide(k / 64)))
	tail := 0.0
	for i := len(shares) - 1; i >= 6; i-- {
		tail = (tail + shares[i].hi) * r.hi
	}
	sum := wide(tail)
	for i := 5; i >= 0; i-- {
		sum = shares[i].add(sum).mul(r)
	}
	i := int(k) & 63
	e := steps[i].add(steps[i].mul(sum))
	f := math.Ldexp(1, (int(k)-i)/64)
	return twice{e.hi * f, e.lo * f}
}

func (x twice) float() float64 { return x.hi + x.lo }

// dot adds Σ a_i b_i, with four chains that do not wait for each other.
func dot(a, b []twice) twice {
	var s [4]twice
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		for c := range 4 {
			s[c] = s[c].fma(a[i+c], b[i+c])
		}
	}
	for ; i < len(a); i++ {
		s[0] = s[0].fma(a[i], b[i])
	}
	return s[0].add(s[1]).add(s[2].add(s[3]))
}

// fma is x + a b, a little less exact than add: to some 2^-102 of the larger term.
func (x twice) fma(a, b twice) twice {
	p := a.hi * b.hi
	e := math.FMA(a.hi, b.hi, -p) + (a.hi*b.lo + a.lo*b.hi)
	s := x.hi + p
	z := s - x.hi
	return quickSum(s, (x.hi-(s-z))+(p-z)+e+x.lo)
}

// dotFloat adds Σ a_i b_i where b has the digits of float64 alone.
func dotFloat(a []twice, b []float64) twice {
	var hi, lo [4]float64
	b = b[:len(a)]
	for i, v := range a {
		c := i & 3
		p := v.hi * b[i]
		e := math.FMA(v.lo, b[i], math.FMA(v.hi, b[i], -p))
		s := hi[c] + p
		z := s - hi[c]
		lo[c] += (hi[c] - (s - z)) + (p - z) + e
		hi[c] = s
	}
	sum := twice{}
	for c, h := range hi {
		sum = sum.add(wide(h)).add(wide(lo[c]))
	}
	return sum
}
