package precond

import (
	"context"
	"math"

	"bbgp.dev/linalg"
)

// A Vecchia is a sparse approximate inverse factor of a covariance matrix R in
// a random ordering of its rows (Vecchia 1988; Schäfer, Katzfuss and Owhadi
// 2021, equation 4). With N(q) the nearest rows among those before position q,
//
//	b = R_NN^-1 R_Nq,   v = R_qq - R_qN b,   W_qq = 1/√v,   W_qN = -b'/√v,
//
// W'W ≈ R^-1: among all factors with these entries the one nearest to it in
// Kullback-Leibler divergence, and exact where every earlier row is in N(q).
//
// Row q of W belongs to row near.rows[q·width] of R, column i to row i: W is a
// lower triangle with its rows and columns permuted. It is stored once, (nn+1)
// entries of 12 bytes a row. Over ranks, each has its own rows, and once more, in 16
// bytes an entry, the columns of its own rows of R.
type Vecchia struct {
	e      *linalg.Engine
	near   *Neighbours
	w      []float64    // rows near.lo..near.hi-1, n×width in all, beside near.rows
	cols   []sparseCols // of the groups of rows of this rank; none if it is alone
	logDet float64
	apply  vecchiaApply
}

// Neighbours is a random ordering of n rows, with the nearest earlier rows of
// each. It is never changed and may be shared by factors at similar
// lengthscales: an old choice costs quality, not correctness.
type Neighbours struct {
	n, nn, width int
	lo, hi       int // rows of W that are here
	// rows has width entries for each row of W: a row of R, its nearest earlier
	// rows (nearest first), itself again where there are fewer.
	rows []int32
}

// FindNeighbours orders the n rows of k at random and finds the min(nn, n-1)
// nearest earlier rows of each. It returns ctx.Err() if ctx ends first.
func FindNeighbours(ctx context.Context, k linalg.ColOp, nn int, seed uint64) (*Neighbours, error) {
	return findNeighbours(ctx, k, nn, seed, 0, k.Dim())
}

// findNeighbours is FindNeighbours that keeps those for rows lo..hi-1 of W.
func findNeighbours(ctx context.Context, k linalg.ColOp, nn int, seed uint64, lo, hi int) (*Neighbours, error) {
	n := k.Dim()
	if nn < 0 || n < 1 {
		panic("precond: FindNeighbours: bad sizes")
	}
	nn = min(nn, n-1)
	s := &Neighbours{n: n, nn: nn, width: 1 + (nn+3)/4*4, lo: lo, hi: hi}
	s.rows = make([]int32, (hi-lo)*s.width)
	order := randomOrder(n, seed)
	found := make([]int32, n*nn)
	if nn > 0 {
		if err := k.NeighboursTo(ctx, found, order, nn); err != nil {
			return nil, err
		}
	}
	for i, q := range familyOrder(found, n, nn)[lo:hi] {
		row := s.rows[i*s.width : (i+1)*s.width]
		for t := range row {
			row[t] = int32(order[q])
		}
		for t, j := range found[int(q)*nn : int(q)*nn+min(nn, int(q))] {
			row[1+t] = int32(order[j])
		}
	}
	return s, nil
}

// row returns the entries of rows for row q of W.
func (s *Neighbours) row(q int) []int32 { return s.rows[(q-s.lo)*s.width : (q-s.lo+1)*s.width] }

// of returns the neighbours for row q of W, nearest first.
func (s *Neighbours) of(q int) []int32 {
	row := s.row(q)
	c := 1 + s.nn
	for c > 1 && row[c-1] == row[0] {
		c--
	}
	return row[1:c]
}

// NewVecchia returns the factor of R = K - L L' + diag(noise), for k = K and
// l = L (n×m; no columns for R = K + diag(noise)), with at most nn neighbours a
// row and the ordering that seed gives. n·nn³/3 flops, n·nn²/2 entries of K
// and n·nn²·m flops for L. It returns ctx.Err() if ctx ends first, and a
// *NotPDError if row Pivot has no positive finite variance.
//
// R is positive semidefinite and above diag(noise) but for rounding, of the
// order of τ_i = 2^-52 (nn + m + 8) (K_ii + noise_i). The pivot of a neighbour
// that is not above its τ drops that neighbour, as happens for duplicates
// without noise; v is at least max(τ_i, noise_i).
func NewVecchia(ctx context.Context, e *linalg.Engine, k linalg.ColOp, l linalg.Matrix, noise []float64, nn int,
	seed uint64) (*Vecchia, error) {
	near, err := FindNeighbours(ctx, k, nn, seed)
	if err != nil {
		return nil, err
	}
	return NewVecchiaWith(ctx, e, k, l, noise, near)
}

// NewVecchiaWith is NewVecchia with the ordering and neighbours of an earlier
// factor, or from FindNeighbours.
func NewVecchiaWith(ctx context.Context, e *linalg.Engine, k linalg.ColOp, l linalg.Matrix, noise []float64,
	near *Neighbours) (*Vecchia, error) {
	n := k.Dim()
	l.Check()
	if near.n != n || len(noise) != n || (l.Cols > 0 && l.Rows != n) {
		panic("precond: NewVecchiaWith: shapes differ")
	}
	lo, hi := e.OwnRows(n)
	own := *near
	own.lo, own.hi, own.rows = lo, hi, near.rows[lo*near.width:hi*near.width]
	if l.Cols > 0 {
		l = l.Sub(lo, hi, 0, l.Cols)
	}
	return ownVecchia(ctx, e, k, l, noise, &own)
}

// ownVecchia is NewVecchiaWith for this rank's rows of L and of W.
func ownVecchia(ctx context.Context, e *linalg.Engine, k linalg.ColOp, l linalg.Matrix, noise []float64,
	near *Neighbours) (*Vecchia, error) {
	v := &Vecchia{e: e, near: near, w: make([]float64, len(near.rows))}
	v.apply.init(v)
	b, err := newVecchiaBuild(v, k, l, noise)
	if err != nil {
		return nil, err
	}
	b.runOwn(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	diag := make([]float64, near.n)
	for q := near.lo; q < near.hi; q++ {
		diag[q] = v.w[(q-near.lo)*near.width]
	}
	e.Complete(diag, linalg.Groups(near.n), linalg.GroupRows(near.n))
	for q, d := range diag {
		if !(d > 0) || math.IsInf(d, 0) {
			row := linalg.NewMatrix(1, 1)
			if q >= near.lo && q < near.hi {
				row.Data[0] = float64(near.row(q)[0])
			}
			e.CompleteOwned(row, []int32{int32(q)}, near.n)
			return nil, &linalg.NotPDError{Pivot: int(row.Data[0]), Value: 1 / (d * d)}
		}
		v.logDet -= 2 * math.Log(d)
	}
	v.transpose()
	return v, nil
}

// Dim returns n.
func (v *Vecchia) Dim() int { return v.near.n }

// NeighbourCount returns nn, at most n-1.
func (v *Vecchia) NeighbourCount() int { return v.near.nn }

// Neighbours returns the ordering and neighbours, for NewVecchiaWith.
func (v *Vecchia) Neighbours() *Neighbours { return v.near }

// LogDet returns log det (W'W)^-1 = -2 Σ_q log W_qq.
func (v *Vecchia) LogDet() float64 { return v.logDet }

// Bytes returns the memory of W, its neighbours and the work area, on this rank.
func (v *Vecchia) Bytes() int64 {
	b := 12*len(v.w) + 8*len(v.apply.block) + 8*len(v.apply.tiles) + 8*len(v.apply.sums)
	for _, c := range v.cols {
		b += c.bytes()
	}
	return int64(b)
}
