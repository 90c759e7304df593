package linalg

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg/internal/room"
)

// Matrix products, blocked and packed as in Van Zee and van de Geijn, "BLIS: a
// framework for rapidly instantiating BLAS functionality" (2015).
//
// C is cut into micro-tiles of gemmMR rows and gemmNR columns. The sum over the
// inner dimension is cut into steps of about gemmKC, added in order. These two cuts
// fix the rounding of every element; the blocks of rows and columns that the
// threads share out (gemmMC, gemmNC) do not change a bit.
//
// BLIS keeps a block of A in the second cache and a panel of B in the first. Here
// a panel of B, which runs along the vectors, is three times one of A and does not
// fit the first cache: so a strip of B stays in the second, and the panels of A
// pass by from the third. The micro-kernel asks for the next panel of A, a part in
// every micro-tile, while it multiplies this one.
const (
	gemmKC = 504  // usual depth of a packed step
	gemmKX = 600  // its largest depth: see depthStep
	gemmNS = 96   // columns of a strip of B: NS·KC·8 bytes stay in L2
	gemmMC = 672  // rows of a packed block of A: a strip of B meets them all
	gemmNC = 2688 // columns of a packed block of B
	gemmMR = asm.GemmRows
	gemmNR = asm.GemmCols
)

// gemmShape says which elements of C a product computes.
type gemmShape uint8

const (
	gemmFull  gemmShape = iota
	gemmLower           // only elements (i, j) with j <= i
)

// A gemmJob is the state of the product that is running, and its work areas: NC·KX +
// threads·MC·KX numbers, at most 12.9 MB + 3.2 MB a thread.
type gemmJob struct {
	kit    *asm.Kit[float64]
	par    *Par
	shape  gemmShape
	c      Matrix
	add    bool // to c, which is set otherwise
	alpha  float64
	a, b   Matrix
	ta, tb bool

	ready *PackedRows // A, if it is packed already
	self  bool        // op(a) = op(b)', and all of op(b) is packed at once: for both

	j0, jn, k0, kn, mc, blocks int // the block of B and the step that is packed
	step                       int // depth of all steps but the last

	packed []float64   // B: [jn/NR][3][kn][NR/3]
	rows   [][]float64 // A, for each worker: [mc/MR][kn][MR]
	tile   [][]float64 // for each worker: a micro-tile of C that is not written whole

	packB, block func(worker, i int) // bound once: a loop allocates nothing
}

// gemm returns the work areas for products, made at the first call.
func (e *Engine) gemm() *gemmJob {
	if e.job == nil {
		e.job = newGemmJob(&e.Impl.F64, e.Par.Threads())
	}
	return e.job
}

func newGemmJob(kit *asm.Kit[float64], threads int) *gemmJob {
	g := &gemmJob{kit: kit}
	g.rows, g.tile = make([][]float64, threads), make([][]float64, threads)
	for w := range threads {
		g.tile[w] = make([]float64, gemmMR*gemmNR)
	}
	g.packB, g.block = g.packPanels, g.multiplyBlock
	return g
}

// GemmTo sets c = alpha op(a) op(b) + beta c, where op(x) is x or, where trans
// says so, x'. c is m×n, op(a) m×k, op(b) k×n; c overlaps neither a nor b. With
// beta = 0, c need not be set. NaN and Inf in a and b pass through if alpha ≠ 0.
func (e *Engine) GemmTo(c Matrix, alpha float64, a Matrix, transA bool, b Matrix, transB bool, beta float64) {
	check(a, b, c)
	m, k := shapeOf(a, transA)
	kb, n := shapeOf(b, transB)
	if c.Rows != m || c.Cols != n || k != kb {
		panic("linalg: GemmTo: shapes do not fit")
	}
	g := e.gemm()
	g.shape, g.c, g.alpha, g.a, g.ta, g.b, g.tb = gemmFull, c, alpha, a, transA, b, transB
	g.run(e.Par, m, n, k, beta)
}

// SyrkTo sets the lower triangle of c = alpha a a' + beta c (n×n, a n×k), or of
// alpha a' a + beta c (a k×n) if trans. The part above the diagonal is left as
// it is: Mirror fills it. c does not overlap a.
func (e *Engine) SyrkTo(c Matrix, alpha float64, a Matrix, trans bool, beta float64) {
	check(a, c)
	n, k := shapeOf(a, trans)
	if c.Rows != n || c.Cols != n {
		panic("linalg: SyrkTo: shapes do not fit")
	}
	g := e.gemm()
	g.shape, g.c, g.alpha, g.a, g.ta, g.b, g.tb = gemmLower, c, alpha, a, trans, a, !trans
	g.run(e.Par, n, n, k, beta)
}

// Mirror copies the lower triangle of the square matrix m to its upper one.
func (m Matrix) Mirror() {
	m.Check()
	if m.Rows != m.Cols {
		panic("linalg: Mirror: not square")
	}
	for b := 0; b*mirrorBlock < m.Rows; b++ {
		m.mirrorRows(b)
	}
}

// mirrorBlock is the order of the blocks that Mirror takes: a whole column at a time would
// touch a page for each element.
const mirrorBlock = 64

// mirrorRows does what Mirror does for block b of the rows.
func (m Matrix) mirrorRows(b int) {
	i0 := b * mirrorBlock
	for j0 := 0; j0 <= i0; j0 += mirrorBlock {
		for i := i0; i < min(i0+mirrorBlock, m.Rows); i++ {
			row := m.Data[i*m.Stride:]
			for j := j0; j < min(j0+mirrorBlock, i); j++ {
				m.Data[j*m.Stride+i] = row[j]
			}
		}
	}
}

func shapeOf(a Matrix, trans bool) (rows, cols int) {
	if trans {
		return a.Cols, a.Rows
	}
	return a.Rows, a.Cols
}

// scale multiplies the part of m that shape names by beta; 0 overwrites NaN too.
func (m Matrix) scale(beta float64, shape gemmShape) {
	if beta == 1 {
		return
	}
	for i := range m.Rows {
		row := m.Row(i)
		if shape == gemmLower {
			row = row[:i+1]
		}
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}

// run sets c to the product plus beta c: for each block of columns and each step
// in depth, pack B, then let every block of rows pack its part of A and multiply.
func (g *gemmJob) run(par *Par, m, n, k int, beta float64) {
	nothing := m == 0 || n == 0 || k == 0 || g.alpha == 0
	if nothing || beta != 0 {
		g.c.scale(beta, g.shape)
	}
	if nothing {
		g.ready = nil
		return
	}
	g.par, g.self = par, g.shape == gemmLower && n <= gemmNC
	g.mc, g.blocks = rowBlocks(m, par.Threads())
	g.step = depthStep(k)
	if g.ready != nil {
		g.step = gemmKC
	}
	g.packed = room.Reserve(g.packed, min(gemmNC, room.RoundUp(n, gemmNR))*min(g.step, k))
	for w := range g.rows {
		if g.self || g.ready != nil {
			break
		}
		g.rows[w] = room.Reserve(g.rows[w], g.mc*min(g.step, k))
	}
	for g.j0 = 0; g.j0 < n; g.j0 += gemmNC {
		g.jn = min(gemmNC, n-g.j0)
		for g.k0 = 0; g.k0 < k; g.k0 += g.step {
			g.kn, g.add = min(g.step, k-g.k0), g.k0 > 0 || beta != 0
			par.For((g.jn+packCols-1)/packCols, g.packB)
			par.For(g.blocks, g.block)
		}
	}
	g.c, g.a, g.b, g.ready = Matrix{}, Matrix{}, Matrix{}, nil // do not keep the operands alive
}

// depthStep cuts a depth k into steps of equal size, so that C is not read and
// written again for a small rest.
func depthStep(k int) int {
	steps := max(1, (k-(gemmKX-gemmKC)+gemmKC-1)/gemmKC)
	return room.RoundUp((k+steps-1)/steps, 4)
}

// rowBlocks cuts m rows into blocks of at most MC, a multiple of MR, in equal
// numbers for every thread as far as m allows.
func rowBlocks(m, threads int) (size, count int) {
	count = (m + gemmMC - 1) / gemmMC
	if m >= threads*4*gemmMR {
		count = room.RoundUp(count, threads)
	}
	size = room.RoundUp((m+count-1)/count, gemmMR)
	return size, (m + size - 1) / size
}

// packPanels packs packCols columns of the block of B, zero beyond the end.
func (g *gemmJob) packPanels(_, i int) {
	j := i * packCols
	width := min(packCols, g.jn-j)
	g.pack(g.packed[j*g.kn:], gemmNR/3, g.b, !g.tb, g.j0+j, width)
}

// pack packs width columns (along) or rows of m from j on, for the step in depth.
func (g *gemmJob) pack(dst []float64, w int, m Matrix, along bool, j, width int) {
	if along {
		packAlong(dst, w, m, j, width, g.k0, g.kn)
		return
	}
	for size := w * g.kn; width > 0; width, j, dst = width-w, j+w, dst[size:] {
		packAcross(g.kit, dst[:size], m, j, min(w, width), g.k0, g.kn)
	}
}

// multiplyBlock packs block i of the rows of A, while the first strip of B meets
// them, and adds its product with the packed block of B to C.
func (g *gemmJob) multiplyBlock(worker, i int) {
	if g.shape == gemmLower {
		i = g.blocks - 1 - i // the longest rows first: the threads end together
	}
	i0 := i * g.mc
	i1 := min(i0+g.mc, g.c.Rows)
	if g.shape == gemmLower && i1 <= g.j0 {
		return
	}
	for j0 := 0; j0 < g.jn && !g.par.left(); j0 += gemmNS {
		for r := i0; r < i1; r += gemmMR {
			if at := r - i0; j0 == 0 && at%packRows == 0 && g.ready == nil && !g.self {
				g.pack(g.rows[worker][at*g.kn:], gemmMR, g.a, g.ta, r, min(packRows, i1-r))
			}
			a := g.panel(worker, i0, r)
			next := g.panel(worker, i0, min(r+gemmMR, (i1-1)/gemmMR*gemmMR))
			for j := j0; j < min(j0+gemmNS, g.jn); j += gemmNR {
				t := gemmTile{r, min(gemmMR, i1-r), g.j0 + j, min(gemmNR, g.jn-j)}
				if g.shape == gemmLower && t.col >= r+gemmMR {
					break // above the diagonal
				}
				g.multiplyTile(worker, t, a, g.packed[j*g.kn:], next[(j-j0)*g.kn/gemmNS*gemmMR:])
			}
		}
	}
}

// panel returns the packed rows of A from r on, of the block from i0 on.
func (g *gemmJob) panel(worker, i0, r int) []float64 {
	switch {
	case g.self:
		return g.packed[r*g.kn:]
	case g.ready != nil:
		s := g.k0 / gemmKC
		return g.ready.steps[s][r*g.ready.depth(s):]
	}
	return g.rows[worker][(r-i0)*g.kn:]
}

// A gemmTile is a micro-tile of C, or what there is of it at an end.
type gemmTile struct{ row, height, col, width int }

// multiplyTile adds the product of two panels to a micro-tile of C.
func (g *gemmJob) multiplyTile(worker int, t gemmTile, a, b, next []float64) {
	if t.height == gemmMR && t.width == gemmNR && (g.shape == gemmFull || t.col+t.width-1 <= t.row) {
		g.kit.GemmPanels(g.c.Data[t.row*g.c.Stride+t.col:], g.c.Stride, g.alpha, a, b, next, g.kn, g.add)
		return
	}
	tile := g.tile[worker]
	g.kit.GemmPanels(tile, gemmNR, g.alpha, a, b, next, g.kn, false)
	for i := range t.height {
		w := t.width
		if g.shape == gemmLower {
			w = min(w, t.row+i-t.col+1)
		}
		if w <= 0 {
			continue
		}
		out := g.c.Data[(t.row+i)*g.c.Stride+t.col:][:w]
		if !g.add {
			copy(out, tile[i*gemmNR:])
			continue
		}
		for j, v := range tile[i*gemmNR:][:w] {
			out[j] += v
		}
	}
}

// PackedRows are the rows of an n×k matrix, packed for products as A, to which
// columns can be added: 8·room.RoundUp(n, MR)·room.RoundUp(k, KC) bytes, or with no more than
// Most columns where that is not 0.
type PackedRows struct {
	Most  int
	n, k  int
	steps [][]float64 // [n/MR][depth][MR] for each step of KC columns or what is left of Most
}

// depth is how many columns there is room for in step s.
func (p *PackedRows) depth(s int) int {
	if p.Most > 0 {
		return min(gemmKC, p.Most-s*gemmKC)
	}
	return gemmKC
}

// Append appends the columns of m (n×b).
func (p *PackedRows) Append(e *Engine, m Matrix) {
	p.n = m.Rows
	panels := (p.n + gemmMR - 1) / gemmMR
	for done := 0; done < m.Cols; {
		at, depth := p.k%gemmKC, p.depth(p.k/gemmKC)
		if at == 0 {
			p.steps = append(p.steps, make([]float64, panels*gemmMR*depth))
		}
		width, step := min(m.Cols-done, depth-at), p.steps[p.k/gemmKC]
		e.Par.For(panels, func(_, i int) {
			dst := step[(i*depth+at)*gemmMR:][:width*gemmMR]
			packAcross(&e.Impl.F64, dst, m, i*gemmMR, min(gemmMR, p.n-i*gemmMR), done, width)
		})
		done, p.k = done+width, p.k+width
	}
}

// MulPacked adds c += alpha A b', A n×k packed, b q×k, c n×q.
func (e *Engine) MulPacked(c Matrix, alpha float64, a *PackedRows, b Matrix) {
	if c.Rows != a.n || c.Cols != b.Rows || b.Cols != a.k {
		panic("linalg: MulPacked: shapes do not fit")
	}
	g := e.gemm()
	g.shape, g.c, g.alpha, g.ready, g.b, g.tb = gemmFull, c, alpha, a, b, true
	g.run(e.Par, c.Rows, c.Cols, a.k, 1)
}
