package precond

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/room"
)

// PivotOptions says how far PivotedCholesky goes, and how it chooses.
type PivotOptions struct {
	// MaxRank is the largest number of pivots; at most n are taken.
	MaxRank int
	// TraceTol ends the factorisation as soon as tr(K - L L') <= TraceTol.
	TraceTol float64
	// More, if not nil, is asked before each block of random pivots, by the rank
	// and the trace of the residual so far, whether more can help.
	More func(rank int, trace float64) bool
	// Greedy takes the largest residual each time, one pivot after the other.
	// Otherwise pivots are drawn in proportion to the residuals, in blocks.
	Greedy bool
	// Seed starts the random choice.
	Seed uint64
}

const (
	pivotBlock = 3 * asm.GemmCols // most pivots taken at a time: whole micro-tiles
	// proposals are drawn for a block, so that most blocks are full though some
	// are rejected. Those behind the last one taken are dropped.
	proposals = 96
)

// PivotedCholesky computes a partial factorisation K ≈ L L', L n×m, that is
// exact in the rows and columns of the pivots, and the trace of the residual
// K - L L', which is positive semidefinite. m is less than MaxRank if the trace
// reaches TraceTol, if More says so, or if nothing but rounding errors is left: residuals below
// 2^-52 (m + 8) K_ii count as 0, so that copies of a row are never pivots
// together. It returns ctx.Err() if ctx ends first.
//
// Greedy: Harbrecht, Peters and Schneider (2012), n m² multiply-adds in inner
// products of rows, and m single columns of K. Otherwise: randomly pivoted
// Cholesky (Chen, Epperly, Tropp and Webber 2022) with pivots drawn in blocks
// and thinned by rejection, which gives the same distribution as one draw at
// a time (Epperly, Tropp and Webber 2024, algorithm 2.2); n m² multiply-adds in
// matrix products.
func PivotedCholesky(ctx context.Context, e *linalg.Engine, k linalg.ColOp, opt PivotOptions) (l linalg.Matrix,
	pivots []int, trace float64, err error) {
	l, pivots, trace, err = pivotedRows(ctx, e, k, opt)
	if err != nil {
		return l, nil, 0, err
	}
	return e.AllRows(l, k.Dim()), pivots, trace, nil
}

// pivotedRows is PivotedCholesky that leaves each rank its own rows of L, the only ones that it ever has.
func pivotedRows(ctx context.Context, e *linalg.Engine, k linalg.ColOp,
	opt PivotOptions) (l linalg.Matrix, pivots []int, trace float64, err error) {
	n := k.Dim()
	p := &pivoting{
		e: e, k: k, opt: opt, n: n, limit: max(0, min(opt.MaxRank, n)),
		diag: make([]float64, n), rest: make([]float64, n),
	}
	p.packed.Most = p.limit
	p.lo, p.hi = e.OwnRows(n)
	k.DiagTo(p.diag)
	copy(p.rest, p.diag)
	if opt.Greedy {
		l, err = p.greedy(ctx)
	} else {
		l, err = p.random(ctx)
	}
	if err != nil {
		return linalg.Matrix{}, nil, 0, err
	}
	return l, p.pivots, p.trace(), nil
}

// A pivoting is a factorisation under way.
type pivoting struct {
	e      *linalg.Engine
	k      linalg.ColOp
	opt    PivotOptions
	n      int
	lo, hi int // rows that this rank has
	limit  int
	blocks []linalg.Matrix   // its rows of the columns of L so far, of random pivots
	packed linalg.PackedRows // the same, for the next block's product
	pivots []int
	diag   []float64 // K_ii
	rest   []float64 // (K - L L')_ii, 0 where it is rounding error
}

func (p *pivoting) trace() float64 {
	s := 0.0
	for _, v := range p.rest {
		s += v
	}
	return s
}

// rounding is the size below which residual i is rounding error.
func (p *pivoting) rounding(i int) float64 {
	return 0x1p-52 * float64(len(p.pivots)+8) * p.diag[i]
}

// reduce subtracts the squares of new columns of L from the residuals.
func (p *pivoting) reduce(next linalg.Matrix, pivots []int) {
	p.e.Par.ForRows(p.hi-p.lo, func(i int) {
		s := p.rest[p.lo+i] - p.e.Impl.F64.Dot(next.Row(i), next.Row(i))
		if s <= p.rounding(p.lo+i) {
			s = 0
		}
		p.rest[p.lo+i] = s
	})
	p.e.Complete(p.rest, linalg.Groups(p.n), linalg.GroupRows(p.n))
	for _, i := range pivots {
		p.rest[i] = 0
	}
}

func (p *pivoting) greedy(ctx context.Context) (linalg.Matrix, error) {
	rows := p.hi - p.lo
	l, col, pivotRow := linalg.NewMatrix(rows, p.limit), linalg.NewMatrix(rows, 1), linalg.NewMatrix(1, p.limit)
	index := make([]int, 1)
	for m := 0; m < p.limit && p.trace() > p.opt.TraceTol; m++ {
		index[0] = 0
		for i, v := range p.rest {
			if v > p.rest[index[0]] {
				index[0] = i
			}
		}
		top := p.rest[index[0]]
		if !(top > 0) {
			break
		}
		if err := p.k.ColsTo(ctx, col, p.lo, index); err != nil {
			return l, err
		}
		pivot, scale := pivotRow.Sub(0, 1, 0, m), 1/math.Sqrt(top)
		if i := index[0]; i >= p.lo && i < p.hi {
			copy(pivot.Data[:m], l.Row(i-p.lo))
		}
		p.e.CompleteOwned(pivot, []int32{int32(index[0])}, p.n)
		p.e.Par.ForRows(rows, func(i int) {
			row := l.Row(i)
			row[m] = (col.Data[i] - p.e.Impl.F64.Dot(row[:m], pivot.Row(0))) * scale
		})
		p.pivots = append(p.pivots, index[0])
		p.reduce(l.Sub(0, rows, m, m+1), index)
	}
	m := len(p.pivots)
	l = l.Sub(0, rows, 0, m)
	if 2*m < p.limit {
		l = l.Clone() // an early end: do not hold the memory of the full rank
	}
	return l, nil
}

func (p *pivoting) random(ctx context.Context) (linalg.Matrix, error) {
	rng := rand.New(rand.NewPCG(p.opt.Seed, 0x5049564f54)) // "PIVOT"
	work := linalg.NewMatrix(proposals, p.limit)
	square := linalg.NewMatrix(proposals, proposals)
	sums := make([]float64, p.n)
	for len(p.pivots) < p.limit {
		total := 0.0
		for i, v := range p.rest {
			total += v
			sums[i] = total
		}
		m := len(p.pivots)
		if !(total > p.opt.TraceTol) || !(total > 0) || p.opt.More != nil && !p.opt.More(m, total) {
			break
		}
		drawn := make([]int32, proposals)
		for t := range drawn {
			drawn[t] = int32(p.draw(sums, rng.Float64()*total))
		}
		p.k.BlockTo(0, square, drawn)
		p.residualBlock(square, work.Sub(0, proposals, 0, m), drawn)
		chosen, factor := p.thin(square, drawn, min(pivotBlock, p.limit-m), rng)
		// The first proposal is accepted with probability 1, so there is progress.
		if err := p.appendColumns(ctx, chosen, factor); err != nil {
			return linalg.Matrix{}, err
		}
	}
	p.packed = linalg.PackedRows{} // L is twice in memory, not three times
	l := linalg.NewMatrix(p.hi-p.lo, len(p.pivots))
	p.e.Par.ForRows(l.Rows, func(i int) { p.rowTo(l.Row(i), p.lo+i) })
	return l, nil
}

// rowTo sets dst to row i of L so far, one that this rank has.
func (p *pivoting) rowTo(dst []float64, i int) {
	for _, b := range p.blocks {
		dst = dst[copy(dst, b.Row(i-p.lo)):]
	}
}

// rowsTo sets the rows of dst to some of L so far, whoever has them.
func (p *pivoting) rowsTo(dst linalg.Matrix, rows []int32) {
	for t, i := range rows {
		if int(i) >= p.lo && int(i) < p.hi {
			p.rowTo(dst.Row(t), int(i))
		}
	}
	p.e.CompleteOwned(dst, rows, p.n)
}

// draw returns the row at x in the cumulative sums, one with a residual.
func (p *pivoting) draw(sums []float64, x float64) int {
	i, _ := slices.BinarySearch(sums, x)
	for i = min(i, p.n-1); i > 0 && p.rest[i] == 0; i-- { // x may fall on a bound
	}
	for p.rest[i] == 0 {
		i++
	}
	return i
}

// residualBlock subtracts L L' from the square block of K for the rows.
func (p *pivoting) residualBlock(square, rowsOfL linalg.Matrix, rows []int32) {
	p.rowsTo(rowsOfL, rows)
	p.e.SyrkTo(square, -1, rowsOfL, false, 1)
}

// thin goes through the proposals in order and accepts each with the
// probability (what is left of its residual) / (its residual when it was
// drawn), by elimination in the residual block h (lower triangle, overwritten).
// It returns the accepted rows and the factor of their block.
func (p *pivoting) thin(h linalg.Matrix, drawn []int32, most int, rng *rand.Rand) (chosen []int, factor linalg.Matrix) {
	var at []int
	for t, i := range drawn {
		if len(chosen) == most {
			break
		}
		left := h.At(t, t)
		if t == 0 {
			left = p.rest[i] // the same number but for rounding
		}
		accept := rng.Float64()*p.rest[i] < left
		if !accept || left <= p.rounding(int(i)) {
			continue
		}
		chosen, at = append(chosen, int(i)), append(at, t)
		d := math.Sqrt(left)
		h.Set(t, t, d)
		for s := t + 1; s < len(drawn); s++ {
			h.Data[s*h.Stride+t] /= d
		}
		for s := t + 1; s < len(drawn); s++ {
			for u := t + 1; u <= s; u++ {
				h.Data[s*h.Stride+u] -= h.At(s, t) * h.At(u, t)
			}
		}
	}
	factor = linalg.NewMatrix(len(at), len(at))
	for r, t := range at {
		for s := range r + 1 {
			factor.Set(r, s, h.At(t, at[s]))
		}
	}
	return chosen, factor
}

// appendColumns adds columns G = (K[:, S] - L L[S, :]') C^-T to L, S = chosen
// and C the factor of the residual block of S.
func (p *pivoting) appendColumns(ctx context.Context, chosen []int, factor linalg.Matrix) error {
	m, b := len(p.pivots), len(chosen)
	all := linalg.NewMatrix(p.hi-p.lo, room.RoundUp(b, asm.GemmCols)) // whole micro-tiles
	next := all.Sub(0, all.Rows, 0, b)
	if err := p.k.ColsTo(ctx, next, p.lo, chosen); err != nil {
		return err
	}
	if m > 0 {
		rows, index := linalg.NewMatrix(all.Cols, m), make([]int32, b)
		for t, i := range chosen {
			index[t] = int32(i)
		}
		p.rowsTo(rows.Sub(0, b, 0, m), index)
		p.e.MulPacked(all, -1, &p.packed, rows)
	}
	p.e.SolveRight(next, factor, true)
	if m+b < p.limit {
		p.packed.Append(p.e, next)
	}
	p.blocks = append(p.blocks, next)
	p.pivots = append(p.pivots, chosen...)
	p.reduce(next, chosen)
	return nil
}
