package asm

import (
	"fmt"
	"math"
	"unsafe"
)

// Float is an element type of a tile.
type Float interface{ float32 | float64 }

const (
	Pad     = 96 // packed arrays hold a multiple of Pad points; cols of a tile too
	Panel   = 12 // points in a panel of XI
	RowUnit = 24 // rows of a tile are a multiple of this
	ColUnit = 4  // columns of V are a multiple of this
)

// Block is the number of points of T in 64 bytes: 16 for float32, 8 for float64.
func Block[T Float]() int {
	var t T
	return 64 / int(unsafe.Sizeof(t))
}

// A Family is a covariance function of unit variance, h(r) with a = c r/l.
type Family uint8

const (
	Matern12 Family = iota // exp(-a),               a = r
	Matern32               // (1 + a) exp(-a),       a = √3 r
	Matern52               // (1 + a + a²/3) exp(-a), a = √5 r
	Gaussian               // exp(-r²/2)
	families
)

// String returns the name that users write: "matern12", "matern32",
// "matern52" or "gaussian".
func (f Family) String() string {
	if f < families {
		return [...]string{"matern12", "matern32", "matern52", "gaussian"}[f]
	}
	return fmt.Sprintf("Family(%d)", uint8(f))
}

// Scale is the factor c of the scaled coordinates x' = c x / l.
func (f Family) Scale() float64 {
	const log2e = 1.442695040888963407359924681001892137
	switch f {
	case Matern12:
		return log2e
	case Matern32:
		return 1.7320508075688772935274463415058723669 * log2e
	case Matern52:
		return 2.2360679774997896964091736687312762354 * log2e
	case Gaussian:
		return 0.8493218002880190427215028341028896 // sqrt(log2(e)/2)
	}
	panic("asm: Scale: unknown family")
}

// Clamp is the largest squared distance of scaled points that Dist returns for
// f: it keeps 2^-r a normal number, and what it hides is below 1e-17.
func Clamp[T Float](f Family) T {
	switch single := unsafe.Sizeof(T(0)) == 4; {
	case single && f == Gaussian:
		return 60
	case single:
		return 3600
	case f == Gaussian:
		return 500
	}
	return 250000
}

// An Impl is one implementation of every routine. It never changes.
type Impl struct {
	Name string // "generic", "avx2", "avx512" or "neon"
	F32  Kit[float32]
	F64  Kit[float64]

	widen    func(dst *float64, src *float32, n int)
	widenAdd func(dst *float64, src *float32, n int)
	cut      func(sum, x *float64, place float64, n int)
	cutTwo   func(high, low, x *float64, place, below float64, n int)
	within   func(mask *uint32, tile, limit *float32, rows, cols int)

	triSolve func(x *float64, stride int, l *float64)

	cholRows func(a, tau *float64, i int)
	cholLast func(a, tau *float64, n int)

	gatherLanes  func(dst *float64, dstStride int, src *float64, stride int, idx *int32, rows, n int)
	laneDist     func(tri, x *float64, d, i int, clamp float64)
	laneDistLast func(tri, x *float64, d, i int, clamp float64)
	laneSyrk     func(tri, x *float64, d, i int)
	laneSyrkLast func(tri, x *float64, d, i int)
	laneScore    func(acc, tri, w, v, x *float64, d, i int)

	gatherRows  func(y, w *float64, idx *int32, x *float64, rows, width int)
	scatterRows func(y, w *float64, idx *int32, x *float64, rows, width int)
}

// A Kit holds the tile routines for one element type.
type Kit[T Float] struct {
	TileRows, TileCols int // preferred size of a tile

	dist   func(dst, xi, xj *T, d, rows, cols int, clamp T)
	cov    [families]func(buf *T, n int)
	weight [families]func(buf *T, n int)
	accJ   func(yj, k, vi *T, rows, cols, p int)
	accI   func(yi *float64, k, vj *T, rows, cols, p int)
	fused1 [families]func(yi *float64, yj, buf, vi, vj *T, rows, cols int)
	fused2 [families]func(yi *float64, yj, buf, vi, vj *T, rows, cols int)
	outer  func(w, ui, uj *T, r, rows, cols int)
	rowSum func(dst *float64, k *T, rows, cols int)

	roots []rootKit[T] // by minDepth; for less depth, Radii is Dist

	gemm       func(c *float64, ldc int, a, b, next *T, k int, alpha float64, add int)
	gemmPanels func(c *float64, ldc int, a, b, next *T, k int, alpha float64, add int)
	transpose  func(dst *T, dstStride int, src *T, srcStride, n int)
	dot        func(x, y *T, n int) float64
	axpy       func(a T, x, y *T, n int)

	peak      func(n int)
	peakFlops int // operations in a round of peak
}

// Dist sets the tile dst[i][j] = min(Σ_d (XI[i][d] - XJ[j][d])², clamp).
func (k *Kit[T]) Dist(dst, xi, xj []T, d, rows, cols int, clamp T) {
	if d < 1 || badTile(rows, cols) || len(dst) < rows*cols || len(xi) < rows*d || len(xj) < cols*d {
		panic("asm: Dist: bad lengths")
	}
	k.dist(&dst[0], &xi[0], &xj[0], d, rows, cols, clamp)
}

// Cov replaces squared distances of scaled points by h, in place. The length
// is a multiple of Pad.
func (k *Kit[T]) Cov(f Family, buf []T) {
	if f >= families || len(buf)%Pad != 0 {
		panic("asm: Cov: bad lengths")
	}
	if len(buf) > 0 {
		k.cov[f](&buf[0], len(buf))
	}
}

// Weight replaces squared distances of scaled points by the factor of the
// derivative by log l_d, so that ∂h/∂log l_d = WeightFactor · weight · (x'_id - x'_jd)²:
// Matérn-1/2 2^-r/r (0 where r < MinR), 3/2 2^-r, 5/2 (1 + ln2 r) 2^-r, Gaussian 2^-r.
func (k *Kit[T]) Weight(f Family, buf []T) {
	if f >= families || len(buf)%Pad != 0 {
		panic("asm: Weight: bad lengths")
	}
	if len(buf) > 0 {
		k.weight[f](&buf[0], len(buf))
	}
}

// WeightFactor is the constant that goes with Weight.
func (f Family) WeightFactor() float64 {
	const ln2 = 0.693147180559945309417232121458176568
	switch f {
	case Matern12:
		return ln2
	case Matern32:
		return ln2 * ln2
	case Matern52:
		return ln2 * ln2 / 3
	case Gaussian:
		return 2 * ln2
	}
	panic("asm: WeightFactor: unknown family")
}

// MinR is the scaled distance below which Weight takes two points of
// Matérn-1/2 for the same one.
func MinR[T Float]() T {
	if unsafe.Sizeof(T(0)) == 4 {
		return 1.0 / 1024
	}
	return 1.0 / (1 << 20)
}

// AccJ adds yJ[c][j] += Σ_i K[i][j] VI[i][c].
func (k *Kit[T]) AccJ(yj, tile, vi []T, rows, cols, p int) {
	if badTile(rows, cols) || badCols(p) || len(yj) < p*cols || len(tile) < rows*cols || len(vi) < rows*p {
		panic("asm: AccJ: bad lengths")
	}
	k.accJ(&yj[0], &tile[0], &vi[0], rows, cols, p)
}

// AccI adds yI[i][c] += Σ_j K[i][j] VJ[c][j]; the sum over j is taken in T.
func (k *Kit[T]) AccI(yi []float64, tile, vj []T, rows, cols, p int) {
	if badTile(rows, cols) || badCols(p) || len(yi) < rows*p || len(tile) < rows*cols || len(vj) < p*cols {
		panic("asm: AccI: bad lengths")
	}
	k.accI(&yi[0], &tile[0], &vj[0], rows, cols, p)
}

// Fused does Cov, AccJ and AccI of a tile of squared distances in one loop,
// for p = 1 or 2. The tile is not written. Where AccI is not wanted (a diagonal
// tile), pass a scratch area as yi.
func (k *Kit[T]) Fused(f Family, yi []float64, yj, tile, vi, vj []T, rows, cols, p int) {
	if f >= families || p < 1 || p > 2 || badTile(rows, cols) || len(yi) < rows*p ||
		len(yj) < p*cols || len(tile) < rows*cols || len(vi) < rows*p || len(vj) < p*cols {
		panic("asm: Fused: bad lengths")
	}
	run := k.fused1[f]
	if p == 2 {
		run = k.fused2[f]
	}
	run(&yi[0], &yj[0], &tile[0], &vi[0], &vj[0], rows, cols)
}

// Outer multiplies the tile w[i][j] *= Σ_r UI[i][r] UJ[j][r], where UI and UJ
// have the layouts of XI and XJ with r in place of d.
func (k *Kit[T]) Outer(w, ui, uj []T, r, rows, cols int) {
	if r < 1 || badTile(rows, cols) || len(w) < rows*cols || len(ui) < rows*r || len(uj) < cols*r {
		panic("asm: Outer: bad lengths")
	}
	k.outer(&w[0], &ui[0], &uj[0], r, rows, cols)
}

// RowSum adds dst[i] += Σ_j tile[i][j]; the sum over j is taken in T.
func (k *Kit[T]) RowSum(dst []float64, tile []T, rows, cols int) {
	if badTile(rows, cols) || len(dst) < rows || len(tile) < rows*cols {
		panic("asm: RowSum: bad lengths")
	}
	k.rowSum(&dst[0], &tile[0], rows, cols)
}

func badTile(rows, cols int) bool {
	return rows < 1 || rows%RowUnit != 0 || cols < 1 || cols%Pad != 0
}

func badCols(p int) bool { return p < 1 || p%ColUnit != 0 }

// lanes is the multiple that the vector routines work on; their
// methods finish the rest in Go.
const lanes = 32

// Widen sets dst[i] = src[i].
func (im *Impl) Widen(dst []float64, src []float32) {
	if len(dst) != len(src) {
		panic("asm: Widen: bad lengths")
	}
	n := len(src) / lanes * lanes
	if n > 0 {
		im.widen(&dst[0], &src[0], n)
	}
	for i := n; i < len(src); i++ {
		dst[i] = float64(src[i])
	}
}

// WidenAdd adds dst[i] += src[i].
func (im *Impl) WidenAdd(dst []float64, src []float32) {
	if len(dst) != len(src) {
		panic("asm: WidenAdd: bad lengths")
	}
	n := len(src) / lanes * lanes
	if n > 0 {
		im.widenAdd(&dst[0], &src[0], n)
	}
	for i := n; i < len(src); i++ {
		dst[i] += float64(src[i])
	}
}

// Cut adds the part of x[i] above a place to sum: sum[i] += (x[i] + place) - place.
func (im *Impl) Cut(sum, x []float64, place float64) {
	if len(sum) != len(x) {
		panic("asm: Cut: bad lengths")
	}
	n := len(x) / lanes * lanes
	if n > 0 {
		im.cut(&sum[0], &x[0], place, n)
	}
	if n < len(x) {
		genericCut(&sum[n], &x[n], place, len(x)-n)
	}
}

// CutTwo adds the part of x[i] above a place to high, h = (x[i] + place) - place, and of the rest that above one below
// it to low: low[i] += ((x[i] - h) + below) - below.
func (im *Impl) CutTwo(high, low, x []float64, place, below float64) {
	if len(high) != len(x) || len(low) != len(x) {
		panic("asm: CutTwo: bad lengths")
	}
	n := len(x) / lanes * lanes
	if n > 0 {
		im.cutTwo(&high[0], &low[0], &x[0], place, below, n)
	}
	if n < len(x) {
		genericCutTwo(&high[n], &low[n], &x[n], place, below, len(x)-n)
	}
}

// Dot returns Σ_i x[i] y[i], in float64 for both types: element i belongs to
// sum i mod 32 of fused multiply-adds, the 32 sums are added by halves (l and
// l + 16, l + 8, ...), and what is beyond the last whole 32 elements follows in
// order. All implementations give the same bits.
func (k *Kit[T]) Dot(x, y []T) float64 {
	if len(x) != len(y) {
		panic("asm: Dot: bad lengths")
	}
	n, s := len(x)/lanes*lanes, 0.0
	if n > 0 {
		s = k.dot(&x[0], &y[0], n)
	}
	for i := n; i < len(x); i++ {
		s = math.FMA(float64(x[i]), float64(y[i]), s)
	}
	return s
}

// Axpy adds y[i] += a x[i] by fused multiply-adds: the same bits in every
// implementation.
func (k *Kit[T]) Axpy(a T, x, y []T) {
	if len(x) != len(y) {
		panic("asm: Axpy: bad lengths")
	}
	n := len(x) / lanes * lanes
	if n > 0 {
		k.axpy(a, &x[0], &y[0], n)
	}
	for i := n; i < len(x); i++ {
		y[i] = fma(a, x[i], y[i])
	}
}
