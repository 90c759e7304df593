package asm

import (
	"math"
	"unsafe"
)

// The reference of every routine in plain Go. It needs no particular CPU, and
// its elementwise routines define the bits that the assembly must give.

var generic = Impl{
	Name: "generic",
	F32:  genericKit[float32](192),
	F64:  genericKit[float64](96),

	widen:    genericWiden,
	widenAdd: genericWidenAdd,
	cut:      genericCut,
	cutTwo:   genericCutTwo,
	within:   genericWithin,

	triSolve: genericTriSolve,

	cholRows: genericCholRows,
	cholLast: genericCholLast,

	gatherLanes:  genericGatherLanes,
	laneDist:     genericLaneDist,
	laneDistLast: genericLaneDistLast,
	laneSyrk:     genericLaneSyrk,
	laneSyrkLast: genericLaneSyrkLast,
	laneScore:    genericLaneScore,

	gatherRows:  genericGatherRows,
	scatterRows: genericScatterRows,
}

func genericKit[T Float](tileCols int) Kit[T] {
	k := Kit[T]{
		TileRows: RowUnit, TileCols: tileCols,
		dist: genericDist[T], accJ: genericAccJ[T], accI: genericAccI[T],
		outer: genericOuter[T], rowSum: genericRowSum[T],
		gemm: genericGemm[T], gemmPanels: genericGemmPanels[T], transpose: genericTranspose[T], dot: genericDot[T],
		axpy: genericAxpy[T],
		peak: genericPeak[T], peakFlops: 2 * genericPeakFMAs,
	}
	for f := range families {
		k.cov[f] = func(buf *T, n int) { genericCov(f, unsafe.Slice(buf, n)) }
		k.weight[f] = func(buf *T, n int) { genericWeight(f, unsafe.Slice(buf, n)) }
		k.fused1[f] = func(yi *float64, yj, buf, vi, vj *T, rows, cols int) {
			genericFused(f, yi, yj, buf, vi, vj, rows, cols, 1)
		}
		k.fused2[f] = func(yi *float64, yj, buf, vi, vj *T, rows, cols int) {
			genericFused(f, yi, yj, buf, vi, vj, rows, cols, 2)
		}
	}
	return k
}

// fma is a·b + c with one rounding, for both types.
func fma[T Float](a, b, c T) T {
	if unsafe.Sizeof(a) == 8 {
		return T(math.FMA(float64(a), float64(b), float64(c)))
	}
	// The product is exact in float64. Rounding the sum to odd keeps the final
	// rounding to float32 from rounding twice.
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	if math.IsInf(s, 0) || s != s {
		return T(s)
	}
	bb := s - p
	if err := (p - (s - bb)) + (q - bb); err != 0 {
		if bits := math.Float64bits(s); bits&1 == 0 {
			if (err > 0) == (s > 0) {
				bits++
			} else {
				bits--
			}
			s = math.Float64frombits(bits)
		}
	}
	return T(s)
}

func sqrt[T Float](x T) T { return T(math.Sqrt(float64(x))) }

func genericDist[T Float](dst, xi, xj *T, d, rows, cols int, clamp T) {
	out, a, b := unsafe.Slice(dst, rows*cols), unsafe.Slice(xi, rows*d), unsafe.Slice(xj, cols*d)
	blk := Block[T]()
	for i := range rows {
		ai := a[i/Panel*Panel*d+i%Panel:]
		for j := range cols {
			bj := b[j/blk*blk*d+j%blk:]
			var s T
			for k := range d {
				t := ai[k*Panel] - bj[k*blk]
				s = fma(t, t, s)
			}
			out[i*cols+j] = min(s, clamp)
		}
	}
}

// exp2Coef are the coefficients of a minimax polynomial of 2^f, f in [-1/2, 1/2]:
// relative error 2.6e-9 (float32) and 3e-16 (float64).
var (
	exp2Coef32 = []float32{
		1, 0.6931472149680392, 0.2402265278287590, 0.05550310550996589,
		0.009617692974921842, 0.001340664390478938, 0.0001559467753985015,
	}
	exp2Coef64 = []float64{
		1, 0.6931471805599516162, 0.2402265069591047216, 0.05550410866434658354, 0.009618129107380713245,
		0.001333355824648078606, 1.540353080081950714e-4, 1.525264774766342992e-5, 1.321523563418560257e-6,
		1.021050646431343299e-7, 7.111758783757878126e-9,
	}
)

// exp2neg is 2^-r for 0 <= r <= the clamp of T.
func exp2neg[T Float](r T) T {
	if unsafe.Sizeof(r) == 4 {
		const magic = float32(3 << 22)
		t := float32(r) + magic
		f := (t - magic) - float32(r)
		c := exp2Coef32
		p := c[6]
		for i := 5; i >= 0; i-- {
			p = fma(p, f, c[i])
		}
		return T(math.Float32frombits(math.Float32bits(p) - math.Float32bits(t)<<23))
	}
	const magic = float64(3 << 51)
	t := float64(r) + magic
	f := (t - magic) - float64(r)
	c := exp2Coef64
	p := c[10]
	for i := 9; i >= 0; i-- {
		p = math.FMA(p, f, c[i])
	}
	return T(math.Float64frombits(math.Float64bits(p) - math.Float64bits(t)<<52))
}

const (
	ln2    = 0.693147180559945309417232121458176568
	ln2sq3 = ln2 * ln2 / 3
)

// cov1 is h of the squared distance s of scaled points.
func cov1[T Float](f Family, s T) T {
	if f == Gaussian {
		return exp2neg(s)
	}
	r := sqrt(s)
	e := exp2neg(r)
	switch f {
	case Matern32:
		return e * fma(r, T(ln2), 1)
	case Matern52:
		return e * fma(fma(r, T(ln2sq3), T(ln2)), r, 1)
	}
	return e
}

// weight1 is the weight of Kit.Weight at the squared distance s.
func weight1[T Float](f Family, s T) T {
	if f == Gaussian {
		return exp2neg(s)
	}
	r := sqrt(s)
	e := exp2neg(r)
	switch f {
	case Matern12:
		if r < MinR[T]() {
			return 0
		}
		return e / r
	case Matern52:
		return e * fma(r, T(ln2), 1)
	}
	return e
}

func genericCov[T Float](f Family, buf []T) {
	for i, s := range buf {
		buf[i] = cov1(f, s)
	}
}

func genericWeight[T Float](f Family, buf []T) {
	for i, s := range buf {
		buf[i] = weight1(f, s)
	}
}

func genericAccJ[T Float](yj, k, vi *T, rows, cols, p int) {
	y, a, v := unsafe.Slice(yj, p*cols), unsafe.Slice(k, rows*cols), unsafe.Slice(vi, rows*p)
	for i := range rows {
		row := a[i*cols : (i+1)*cols]
		for c := range p {
			out, b := y[c*cols:(c+1)*cols], v[i*p+c]
			for j, x := range row {
				out[j] = fma(x, b, out[j])
			}
		}
	}
}

func genericAccI[T Float](yi *float64, k, vj *T, rows, cols, p int) {
	y, a, v := unsafe.Slice(yi, rows*p), unsafe.Slice(k, rows*cols), unsafe.Slice(vj, p*cols)
	for i := range rows {
		row := a[i*cols : (i+1)*cols]
		for c := range p {
			var s T
			for j, x := range v[c*cols : (c+1)*cols] {
				s = fma(row[j], x, s)
			}
			y[i*p+c] += float64(s)
		}
	}
}

func genericFused[T Float](f Family, yi *float64, yj, buf, vi, vj *T, rows, cols, p int) {
	y, a, v := unsafe.Slice(yi, rows*p), unsafe.Slice(buf, rows*cols), unsafe.Slice(vi, rows*p)
	yo, w := unsafe.Slice(yj, p*cols), unsafe.Slice(vj, p*cols)
	for i := range rows {
		var sum [2]T
		for j := range cols {
			k := cov1(f, a[i*cols+j])
			for c := range p {
				yo[c*cols+j] = fma(k, v[i*p+c], yo[c*cols+j])
				sum[c] = fma(k, w[c*cols+j], sum[c])
			}
		}
		for c := range p {
			y[i*p+c] += float64(sum[c])
		}
	}
}

func genericOuter[T Float](w, ui, uj *T, r, rows, cols int) {
	out, a, b := unsafe.Slice(w, rows*cols), unsafe.Slice(ui, rows*r), unsafe.Slice(uj, cols*r)
	blk := Block[T]()
	for i := range rows {
		ai := a[i/Panel*Panel*r+i%Panel:]
		for j := range cols {
			bj := b[j/blk*blk*r+j%blk:]
			var s T
			for k := range r {
				s = fma(ai[k*Panel], bj[k*blk], s)
			}
			out[i*cols+j] *= s
		}
	}
}

func genericRowSum[T Float](dst *float64, k *T, rows, cols int) {
	y, a := unsafe.Slice(dst, rows), unsafe.Slice(k, rows*cols)
	for i := range rows {
		var s T
		for _, x := range a[i*cols : (i+1)*cols] {
			s += x
		}
		y[i] += float64(s)
	}
}

func genericWiden(dst *float64, src *float32, n int) {
	x, y := unsafe.Slice(src, n), unsafe.Slice(dst, n)
	for i, v := range x {
		y[i] = float64(v)
	}
}

func genericWidenAdd(dst *float64, src *float32, n int) {
	x, y := unsafe.Slice(src, n), unsafe.Slice(dst, n)
	for i, v := range x {
		y[i] += float64(v)
	}
}

func genericCut(sum, x *float64, place float64, n int) {
	s := unsafe.Slice(sum, n)
	for i, v := range unsafe.Slice(x, n) {
		high := v + place
		high -= place
		s[i] += high
	}
}

func genericCutTwo(high, low, x *float64, place, below float64, n int) {
	hs, ls := unsafe.Slice(high, n), unsafe.Slice(low, n)
	for i, v := range unsafe.Slice(x, n) {
		h := v + place
		h -= place
		l := v - h
		l += below
		l -= below
		hs[i] += h
		ls[i] += l
	}
}

func genericDot[T Float](x, y *T, n int) float64 {
	a, b := unsafe.Slice(x, n), unsafe.Slice(y, n)
	var s [lanes]float64
	for i, v := range a {
		s[i%lanes] = math.FMA(float64(v), float64(b[i]), s[i%lanes])
	}
	for half := lanes / 2; half > 0; half /= 2 {
		for l := range half {
			s[l] += s[l+half]
		}
	}
	return s[0]
}

func genericAxpy[T Float](a T, x, y *T, n int) {
	u, v := unsafe.Slice(x, n), unsafe.Slice(y, n)
	for i, b := range u {
		v[i] = fma(a, b, v[i])
	}
}
