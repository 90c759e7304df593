package asm

import (
	"fmt"
	"math"
	"math/big"
	"testing"
)

// TestBadLengths checks that every method panics on wrong lengths before it
// writes anything.
func TestBadLengths(t *testing.T) {
	forEachKit(t, testBadLengths[float32], testBadLengths[float64])
	forEach(t, func(t *testing.T, im *Impl) {
		a, b := make([]float64, 3), make([]float32, 4)
		for name, f := range map[string]func(){
			"Widen":    func() { im.Widen(a, b) },
			"WidenAdd": func() { im.WidenAdd(a, b) },
			"Cut":      func() { im.Cut(a, a[1:], 1) },
			"CutTwo":   func() { im.CutTwo(a, a[1:], a, 1, 1) },
			"CutTwo x": func() { im.CutTwo(a, a, a[1:], 1, 1) },
		} {
			if !panics(f) {
				t.Errorf("%s accepted wrong lengths", name)
			}
		}
	})
}

func testBadLengths[T Float](t *testing.T, k *Kit[T]) {
	const rows, cols, d, p = 24, 96, 3, 4
	m := func(n int) []T { return make([]T, n) }
	out := guard(make([]T, rows*cols), 0)
	y := guard(make([]float64, rows*p), 0)
	for i := range out.data {
		out.data[i] = nan[T]() // a write would show
	}
	for i := range y.data {
		y.data[i] = math.NaN()
	}
	o, yi := out.data, y.data
	for name, f := range map[string]func(){
		"Dist dst":     func() { k.Dist(o[1:], m(rows*d), m(cols*d), d, rows, cols, 1) },
		"Dist xi":      func() { k.Dist(o, m(rows*d-1), m(cols*d), d, rows, cols, 1) },
		"Dist xj":      func() { k.Dist(o, m(rows*d), m(cols*d-1), d, rows, cols, 1) },
		"Dist d":       func() { k.Dist(o, m(rows*d), m(cols*d), 0, rows, cols, 1) },
		"Dist rows":    func() { k.Dist(o, m(rows*d), m(cols*d), d, rows-1, cols, 1) },
		"Dist cols":    func() { k.Dist(o, m(rows*d), m(cols*d), d, rows, cols-1, 1) },
		"Cov":          func() { k.Cov(Matern32, o[1:]) },
		"Cov family":   func() { k.Cov(families, o) },
		"Weight":       func() { k.Weight(Matern12, o[1:]) },
		"AccJ yj":      func() { k.AccJ(o[:p*cols-1], m(rows*cols), m(rows*p), rows, cols, p) },
		"AccJ tile":    func() { k.AccJ(o, m(rows*cols-1), m(rows*p), rows, cols, p) },
		"AccJ vi":      func() { k.AccJ(o, m(rows*cols), m(rows*p-1), rows, cols, p) },
		"AccJ p":       func() { k.AccJ(o, m(rows*cols), m(rows*p), rows, cols, 3) },
		"AccI yi":      func() { k.AccI(yi[1:], m(rows*cols), m(p*cols), rows, cols, p) },
		"AccI vj":      func() { k.AccI(yi, m(rows*cols), m(p*cols-1), rows, cols, p) },
		"AccI p":       func() { k.AccI(yi, m(rows*cols), m(p*cols), rows, cols, 2) },
		"Fused yi":     func() { k.Fused(Matern32, yi[:rows-1], o, m(rows*cols), m(rows), m(cols), rows, cols, 1) },
		"Fused p":      func() { k.Fused(Matern32, yi, o, m(rows*cols), m(rows*p), m(p*cols), rows, cols, 3) },
		"Fused family": func() { k.Fused(families, yi, o, m(rows*cols), m(rows), m(cols), rows, cols, 1) },
		"Outer w":      func() { k.Outer(o[1:], m(rows*d), m(cols*d), d, rows, cols) },
		"Outer r":      func() { k.Outer(o, m(rows*d), m(cols*d), 0, rows, cols) },
		"Radii":        func() { k.Radii(Matern32, o[1:], m(rows*d), m(cols*d), d, rows, cols) },
		"CovRadii":     func() { k.CovRadii(Matern32, 50, o[1:], rows, cols) },
		"WeightRadii":  func() { k.WeightRadii(Matern32, 50, o[1:], rows, cols) },
		"FusedRadii":   func() { k.FusedRadii(Matern32, 50, yi, o, m(rows*cols), m(rows*p), m(cols*p), rows, cols, 4) },
		"RowSum":       func() { k.RowSum(yi[:rows-1], m(rows*cols), rows, cols) },
		"Dot":          func() { k.Dot(o, o[1:]) },
		"Axpy":         func() { k.Axpy(1, o, o[1:]) },
		"Peak":         func() { k.Peak(0) },
	} {
		if !panics(f) {
			t.Errorf("%s: wrong lengths accepted", name)
		}
	}
	for _, x := range o {
		if x == x {
			t.Fatal("a panicking call wrote something")
		}
	}
	for _, x := range yi {
		if x == x {
			t.Fatal("a panicking call wrote something")
		}
	}
}

// TestSpecial passes NaN, infinities, signed zeros and subnormals through
// every lane of the elementwise routines and compares with the reference.
func TestSpecial(t *testing.T) { forEachKit(t, testSpecial[float32], testSpecial[float64]) }

func testSpecial[T Float](t *testing.T, k *Kit[T]) {
	tiny := math.SmallestNonzeroFloat64
	if eps[T]() > 1e-10 {
		tiny = math.SmallestNonzeroFloat32
	}
	special := []float64{0, math.Copysign(0, -1), tiny, 3 * tiny, math.NaN(), math.Inf(1), 1, 1e-30}
	// Points: differences of all pairs of special values, in one and two inputs.
	for d := 1; d <= 2; d++ {
		x, y := make([]T, RowUnit*d), make([]T, 2*Pad*d)
		for i := range x {
			x[i] = T(special[(i+i/7)%len(special)])
		}
		for i := range y {
			y[i] = T(special[(i/3+i)%len(special)])
		}
		xi, xj := packI(x, RowUnit, d), packJ(y, 2*Pad, d)
		got, want := make([]T, RowUnit*2*Pad), make([]T, RowUnit*2*Pad)
		k.Dist(got, xi, xj, d, RowUnit, 2*Pad, 3600)
		genericDist(&want[0], &xi[0], &xj[0], d, RowUnit, 2*Pad, 3600)
		sameBits(t, fmt.Sprint("Dist d=", d), got, want)
	}
	// Dist gives no infinity, but NaN passes.
	for f := range families {
		buf := make([]T, RowUnit*Pad)
		for i := range buf {
			v := special[(i+i/7)%len(special)]
			if math.IsInf(v, 1) {
				v = float64(Clamp[T](f))
			}
			buf[i] = T(v)
		}
		got, want := append([]T(nil), buf...), append([]T(nil), buf...)
		k.Cov(f, got)
		genericCov(f, want)
		sameBits(t, "Cov "+f.String(), got, want)
		got, want = append(got[:0], buf...), append(want[:0], buf...)
		k.Weight(f, got)
		genericWeight(f, want)
		sameBits(t, "Weight "+f.String(), got, want)
	}
}

// TestTruth compares Cov with 2^-r, r² the squared distance, in 200 bits, and
// checks the error bounds 2.5e-7 and 2e-15 of the covariance.
func TestTruth(t *testing.T) { forEachKit(t, testTruth[float32], testTruth[float64]) }

func testTruth[T Float](t *testing.T, k *Kit[T]) {
	bound := 2.5e-7
	if eps[T]() < 1e-10 {
		bound = 2e-15
	}
	r := newRand(9)
	for f := range families {
		buf := squares[T](r, f, RowUnit*Pad)
		got := append([]T(nil), buf...)
		k.Cov(f, got)
		worst := 0.0
		for _, i := range sizes(span(0, len(buf)-1, 23), span(0, len(buf)-1, 101)) {
			want := bigCov(f, float64(buf[i]))
			diff, _ := new(big.Float).Sub(want, big.NewFloat(float64(got[i]))).Float64()
			worst = max(worst, math.Abs(diff))
			if buf[i] == 0 && got[i] != 1 {
				t.Fatalf("%v: h(0) = %v", f, got[i])
			}
		}
		if worst > bound {
			t.Errorf("%v: error %g, bound %g", f, worst, bound)
		}
	}
}

const bigPrec = 200

func bigNum(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }

// bigLn2 is ln 2 = Σ 1/(k 2^k).
func bigLn2() *big.Float {
	sum, pow := bigNum(0), bigNum(1)
	for k := 1; k < bigPrec+10; k++ {
		pow.Quo(pow, bigNum(2))
		sum.Add(sum, new(big.Float).Quo(pow, bigNum(float64(k))))
	}
	return sum
}

// bigCov is h of the squared distance s of scaled points: with a = ln 2 r,
// exp(-a) (1 + a + a²/3), or what the family leaves of it.
func bigCov(f Family, s float64) *big.Float {
	a := bigNum(s)
	if f != Gaussian {
		a.Sqrt(a)
	}
	a.Mul(a, bigLn2())
	// exp(-a) = exp(-a/2^16)^(2^16) by its series.
	x := new(big.Float).Quo(a, bigNum(-65536))
	e, term := bigNum(1), bigNum(1)
	for k := 1; k < 40; k++ {
		term.Mul(term, x)
		term.Quo(term, bigNum(float64(k)))
		e.Add(e, term)
	}
	for range 16 {
		e.Mul(e, e)
	}
	poly := bigNum(1)
	if f == Matern32 || f == Matern52 {
		poly.Add(poly, a)
	}
	if f == Matern52 {
		third := new(big.Float).Mul(a, a)
		poly.Add(poly, third.Quo(third, bigNum(3)))
	}
	return e.Mul(e, poly)
}
