package krylov

import (
	"fmt"
	"math"

	"bbgp.dev/linalg"
)

// A BlockTri is the symmetric block tridiagonal matrix H = T'A T of a block
// Lanczos process, k×k in t diagonal blocks, with the coupling to the block
// that has not entered H yet:
//
//	    | A_1 B_1'         |
//	H = | B_1 A_2 ..       |      A_j  p_j×p_j symmetric
//	    |     ..  .. B_t-1'|      B_j  p_j+1×p_j
//	    |        B_t-1 A_t |      B_t couples H to the next block
//
// The start block is W0 = T_1 R0, so column i of W0 has the coordinates
// c_i = [R0 e_i; 0] in the basis.
type BlockTri struct {
	R0   linalg.Matrix
	a, b []linalg.Matrix
	off  []int // off[j] is the first row of block j; one more entry than blocks
	pool []float64
}

// Blocks returns t, the number of diagonal blocks.
func (h *BlockTri) Blocks() int { return len(h.a) }

// Dim returns k.
func (h *BlockTri) Dim() int {
	if len(h.off) == 0 {
		return 0
	}
	return h.off[len(h.off)-1]
}

// Diag returns A_j, j from 0, which shares the memory of h.
func (h *BlockTri) Diag(j int) linalg.Matrix { return h.a[j] }

// Sub returns B_j, j from 0, which shares the memory of h.
func (h *BlockTri) Sub(j int) linalg.Matrix { return h.b[j] }

// Coupling returns the last B_t; it has no rows once the basis spans an
// invariant subspace, where every quantity that depends on H is exact.
func (h *BlockTri) Coupling() linalg.Matrix { return h.b[len(h.b)-1] }

// NewBlockTri returns an H without blocks for the start coordinates r0, p_1×p.
func NewBlockTri(r0 linalg.Matrix) *BlockTri { return &BlockTri{R0: r0.Clone(), off: []int{0}} }

// reserve makes room for cols more columns in blocks of at most p, so that
// Push does not allocate.
func (h *BlockTri) reserve(cols, p int) {
	if need := 2 * cols * p; cap(h.pool)-len(h.pool) < need {
		h.pool = make([]float64, 0, need)
	}
	if want := len(h.a) + cols; cap(h.a) < want {
		h.a = append(make([]linalg.Matrix, 0, 2*want), h.a...)
		h.b = append(make([]linalg.Matrix, 0, 2*want), h.b...)
		h.off = append(make([]int, 0, 2*want+1), h.off...)
	}
}

func (h *BlockTri) keep(m linalg.Matrix) linalg.Matrix {
	n := m.Rows * m.Cols
	if cap(h.pool)-len(h.pool) < n {
		h.pool = make([]float64, 0, max(n, 4096))
	}
	c := linalg.Matrix{Rows: m.Rows, Cols: m.Cols, Stride: m.Cols}
	c.Data = h.pool[len(h.pool) : len(h.pool)+n]
	h.pool = h.pool[:len(h.pool)+n]
	c.CopyFrom(m)
	return c
}

// Push appends the diagonal block a, p_t×p_t, and its coupling b to the block
// that follows; copies are kept.
func (h *BlockTri) Push(a, b linalg.Matrix) {
	p := a.Rows
	if a.Cols != p || b.Cols != p || len(h.b) > 0 && h.Coupling().Rows != p || len(h.b) == 0 && h.R0.Rows != p {
		panic("krylov: Push: shapes do not fit")
	}
	h.a = append(h.a, h.keep(a))
	h.b = append(h.b, h.keep(b))
	h.off = append(h.off, h.Dim()+p)
}

// Truncated returns the H of the first t blocks, which shares the memory of h.
func (h *BlockTri) Truncated(t int) *BlockTri {
	return &BlockTri{R0: h.R0, a: h.a[:t:t], b: h.b[:t:t], off: h.off[: t+1 : t+1]}
}

// DenseTo sets dst = H, k×k.
func (h *BlockTri) DenseTo(dst linalg.Matrix) {
	dst.Zero()
	for j, a := range h.a {
		o := h.off[j]
		dst.Sub(o, o+a.Rows, o, o+a.Rows).CopyFrom(a)
		if j+1 == len(h.a) {
			break
		}
		b := h.b[j]
		for r := range b.Rows {
			for c := range b.Cols {
				dst.Set(h.off[j+1]+r, o+c, b.At(r, c))
				dst.Set(o+c, h.off[j+1]+r, b.At(r, c))
			}
		}
	}
}

// MulTo sets dst = H src, both k×q; they do not overlap.
func (h *BlockTri) MulTo(dst, src linalg.Matrix) {
	if dst.Rows != h.Dim() || src.Rows != h.Dim() || dst.Cols != src.Cols {
		panic("krylov: BlockTri.MulTo: shapes differ")
	}
	dst.Zero()
	for j, a := range h.a {
		o := h.off[j]
		addMul(dst, o, a, src, o, 1)
		if j+1 < len(h.a) {
			addMul(dst, h.off[j+1], h.b[j], src, o, 1)
			addMulTrans(dst, o, h.b[j], src, h.off[j+1], 1)
		}
	}
}

// addMul adds dst[do:] += f m src[so:], the rows that m needs.
func addMul(dst linalg.Matrix, do int, m, src linalg.Matrix, so int, f float64) {
	for r := range m.Rows {
		addRows(dst.Row(do+r), f, m.Row(r), 1, m.Cols, src, so)
	}
}

// addMulTrans adds dst[do:] += f m' src[so:].
func addMulTrans(dst linalg.Matrix, do int, m, src linalg.Matrix, so int, f float64) {
	for c := range m.Cols {
		addRows(dst.Row(do+c), f, m.Data[c:], m.Stride, m.Rows, src, so)
	}
}

// addRows adds f coef_k times row from + k of x to y, for one k < n after the other, coef with that stride: four of
// them while an element of y is at hand, with the bits of one at a time.
func addRows(y []float64, f float64, coef []float64, stride, n int, x linalg.Matrix, from int) {
	k := 0
	for ; k+4 <= n; k += 4 {
		a0, a1, a2, a3 := f*coef[k*stride], f*coef[(k+1)*stride], f*coef[(k+2)*stride], f*coef[(k+3)*stride]
		x0, x1, x2, x3 := x.Row(from+k), x.Row(from+k+1), x.Row(from+k+2), x.Row(from+k+3)
		y, x1, x2, x3 := y[:len(x0)], x1[:len(x0)], x2[:len(x0)], x3[:len(x0)]
		for i, v := range x0 {
			sum := y[i] + float64(a0*v)
			sum += float64(a1 * x1[i])
			sum += float64(a2 * x2[i])
			sum += float64(a3 * x3[i])
			y[i] = sum
		}
	}
	for ; k < n; k++ {
		axpyRow(y, f*coef[k*stride], x.Row(from+k))
	}
}

func axpyRow(y []float64, a float64, x []float64) {
	for i, v := range x {
		y[i] += float64(a * v)
	}
}

// A BlockLDL is the block factorisation of H - σI: S_1 = A_1 - σI and
// S_j+1 = A_j+1 - σI - B_j S_j^-1 B_j', each S_j by Cholesky. It exists iff H - σI
// is positive definite. It grows with H at O(p³) a block.
type BlockLDL struct {
	h     *BlockTri
	shift float64
	chol  []linalg.Matrix // lower factors L_j of S_j
	half  []linalg.Matrix // L_j^-1 B_j', p_j×p_j+1
	pool  []float64
	bad   *linalg.NotPDError // why the factorisation ended
}

// Reset points the factorisation at H - shift I and computes what H holds.
// It reports whether H - shift I is positive definite.
func (f *BlockLDL) Reset(h *BlockTri, shift float64) bool {
	f.h, f.shift, f.bad = h, shift, nil
	f.chol, f.half, f.pool = f.chol[:0], f.half[:0], f.pool[:0]
	return f.Extend()
}

// Extend takes in the blocks that H has got since the last call. It reports
// whether H - shift I is positive definite.
func (f *BlockLDL) Extend() bool {
	for j := len(f.chol); f.bad == nil && j < f.h.Blocks(); j++ {
		a, b := f.h.a[j], f.h.b[j]
		s := f.matrix(a.Rows, a.Rows)
		s.CopyFrom(a)
		for i := range s.Rows {
			s.Data[i*s.Stride+i] -= f.shift
		}
		if j > 0 {
			subGram(s, f.half[j-1])
		}
		if f.bad = cholSmall(s, f.h.off[j]); f.bad != nil {
			return false
		}
		g := f.matrix(b.Cols, b.Rows)
		for r := range b.Rows {
			for c := range b.Cols {
				g.Set(c, r, b.At(r, c))
			}
		}
		solveLower(s, g, 0)
		f.chol, f.half = append(f.chol, s), append(f.half, g)
	}
	return f.bad == nil
}

// Err is ErrNotDefinite with the pivot and its value, or nil.
func (f *BlockLDL) Err() error {
	if f.bad == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrNotDefinite, f.bad)
}

func (f *BlockLDL) matrix(r, c int) linalg.Matrix {
	n := r * c
	if cap(f.pool)-len(f.pool) < n {
		// Old blocks stay where they are; the new piece is as large as they are.
		f.pool = make([]float64, 0, max(n, 8192, 2*cap(f.pool)))
	}
	m := linalg.Matrix{Rows: r, Cols: c, Stride: c, Data: f.pool[len(f.pool) : len(f.pool)+n]}
	f.pool = f.pool[:len(f.pool)+n]
	return m
}

// SolveTo sets x = (H - σI)^-1 x in place, x k×q.
func (f *BlockLDL) SolveTo(x linalg.Matrix) {
	if x.Rows != f.h.Dim() || f.bad != nil {
		panic("krylov: BlockLDL.SolveTo: wrong rows or no factorisation")
	}
	for j := range f.chol {
		if j > 0 {
			addMulTrans(x, f.h.off[j], f.half[j-1], x, f.h.off[j-1], -1)
		}
		solveLower(f.chol[j], x, f.h.off[j])
	}
	for j := len(f.chol) - 1; j >= 0; j-- {
		if j+1 < len(f.chol) {
			addMul(x, f.h.off[j], f.half[j], x, f.h.off[j+1], -1)
		}
		solveLowerTrans(f.chol[j], x, f.h.off[j])
	}
}

// SchurTo sets dst = B_t (E_t'(H - σI)^-1 E_t) B_t' for the last block, p_t+1
// square: what Gauss-Radau adds to its node.
func (f *BlockLDL) SchurTo(dst linalg.Matrix) {
	dst.Zero()
	subGram(dst, f.half[len(f.half)-1])
	for i := range dst.Rows {
		for j := range dst.Cols {
			dst.Data[i*dst.Stride+j] = -dst.Data[i*dst.Stride+j]
		}
	}
}

// subGram sets s -= g'g.
func subGram(s, g linalg.Matrix) {
	for i := range g.Cols {
		addRows(s.Row(i), -1, g.Data[i:], g.Stride, g.Rows, g, 0)
	}
}

// cholSmall overwrites the lower triangle of s by its Cholesky factor, unless it
// finds that s is not positive definite; offset is that of s within a matrix.
func cholSmall(s linalg.Matrix, offset int) *linalg.NotPDError {
	for j := range s.Rows {
		rj := s.Row(j)
		for i := j; i < s.Rows; i++ {
			ri, v := s.Row(i), 0.0
			for l := range j {
				v += float64(ri[l] * rj[l])
			}
			v = ri[j] - v
			if i > j {
				ri[j] = v / rj[j]
				continue
			}
			// The negation catches NaN as well.
			if !(v > 0) || math.IsInf(v, 0) {
				return &linalg.NotPDError{Pivot: offset + j, Value: v}
			}
			rj[j] = math.Sqrt(v)
		}
	}
	return nil
}

// solveLower sets x[o:o+p] = L^-1 x[o:o+p].
func solveLower(l, x linalg.Matrix, o int) {
	for i := range l.Rows {
		out := x.Row(o + i)
		addRows(out, -1, l.Row(i), 1, i, x, o)
		scaleRow(out, 1/l.At(i, i))
	}
}

// solveLowerTrans sets x[o:o+p] = L'^-1 x[o:o+p].
func solveLowerTrans(l, x linalg.Matrix, o int) {
	for i := l.Rows - 1; i >= 0; i-- {
		out := x.Row(o + i)
		if below := l.Rows - i - 1; below > 0 {
			addRows(out, -1, l.Data[(i+1)*l.Stride+i:], l.Stride, below, x, o+i+1)
		}
		scaleRow(out, 1/l.At(i, i))
	}
}

func scaleRow(x []float64, a float64) {
	for i := range x {
		x[i] *= a
	}
}
