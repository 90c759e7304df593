package precond

import (
	"context"
	"math"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/dissect"
	"bbgp.dev/linalg/internal/room"
)

// P = B Q⁻¹B' + D for a process over places in few dimensions that is smooth between near rows. The latents u are some
// of the rows, spread evenly; Q is the sparse precision of the process there (package dissect). Near rows make cells.
// The rows r of a cell are regressed on the latents N near it, and D is what that leaves, with the noise, in blocks:
//
//	B_rN = K_rN K_NN⁻¹,   D_rr = K_rr - K_rN K_NN⁻¹ K_Nr + noise
//
// (the sparse general Vecchia approximation of Katzfuss and Guinness 2021, with blocks as in Snelson and Ghahramani
// 2007). With D = (W'W)⁻¹, U = W B, S = Q + U'U, and the Cholesky factors L_S and L_Q in one order of elimination,
//
//	X = L_S'⁻¹ (L_S + L_Q)⁻¹,   F⁻¹ = (I - U X'U') W,   log det P = log det D + log det S - log det Q.
//
// For X + X' - X (S - Q) X' = S⁻¹, by which F'⁻¹F⁻¹ = W'(I - U S⁻¹U') W = P⁻¹ (Andrews 1968 has such square roots).
//
// With noise, near rows tell of a small place only, and neighbours leave to the process what is smooth over that: here
// that is known, and what D holds is left out between cells only.
type latent struct {
	e      *linalg.Engine
	n, m   int
	order  []int32 // rows, cell by cell: the ordering of F
	starts []int   // of each cell, where it begins
	lo, hi int     // cells that are here

	near, nearWidth int       // latents of a cell, and entries of a row of U with padding
	w, u            []float64 // of each cell, [rows][width] and [rows][nearWidth]
	at              []int     // of each cell that is here, where it begins in w
	pair            *dissect.Pair
	lists           []int32 // of the latents by position: cell·near + place among those near it
	ends            []int32 // of each latent, where its list ends
	logDet          float64
	apply           latentApply
}

const (
	cellRows    = 25 // of a cell, at most: 4 m + 1 as the routines want it
	cellNear    = 17 // latents near a cell: 8, 12, 17, 24 leave standard errors of 8.5, 5.6, 4.3, 3.4 where m = n/25
	cellLatents = 6  // of the rows of a cell, at most, as others are to stand around them
	batchCells  = 8  // cells that are made at a time: asm.CholLanes
)

// newLatent makes P of about m latents, 1 <= m <= n. It returns ctx.Err() if ctx ends first, and a *linalg.NotPDError
// where the noise is less than rounding leaves of K, or K of the latents has no factor.
func newLatent(ctx context.Context, e *linalg.Engine, k linalg.Placed, noise []float64, m int,
	seed uint64) (*latent, error) {
	n := k.Dim()
	x, dim := k.Places()
	rows, _ := dissect.Net(ctx, x, dim, randomOrder(n, seed), m)
	l := &latent{e: e, n: n, m: len(rows)}
	l.cutCells(ctx, x, dim, rows)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at := make([]float64, l.m*dim)
	for i, r := range rows {
		copy(at[i*dim:(i+1)*dim], x[int(r)*dim:])
	}
	l.near = min(cellNear, l.m)
	l.nearWidth = widthOf(l.near)
	cells := len(l.starts) - 1
	cliques, search := make([]int32, cells*l.near), dissect.NewNear(at, dim)
	e.Par.ForRows(cells, func(c int) {
		search.To(cliques[c*l.near:(c+1)*l.near], boxMiddle(x, dim, l.cell(c)))
	})
	tree, err := dissect.NewTree(ctx, at, dim, cliques, l.near)
	if err != nil {
		return nil, err
	}
	b, err := newLatentBuild(l, k, noise, rows, cliques)
	if err != nil {
		return nil, err
	}
	if err := b.makeCells(ctx); err != nil {
		return nil, err
	}
	l.pair, err = dissect.NewPair(ctx, e, tree, dissect.Parts{Covariance: b.covariance, Clique: b.clique})
	if err != nil {
		return nil, b.ofRows(err)
	}
	l.logDet += l.pair.LogDet()
	l.makeLists(tree)
	l.apply.init(l)
	return l, nil
}

// cutCells makes the cells.
func (l *latent) cutCells(ctx context.Context, x []float64, dim int, latents []int32) {
	is := make([]bool, l.n)
	for _, r := range latents {
		is[r] = true
	}
	l.order, l.starts = dissect.Cut(ctx, x, dim, (l.n+cellRows-1)/cellRows, func(points []int32) bool {
		count := 0
		for _, r := range points {
			if is[r] {
				count++
			}
		}
		return count > cellLatents
	})
}

// cell returns the rows of a cell.
func (l *latent) cell(c int) []int32 { return l.order[l.starts[c]:l.starts[c+1]] }

// widthOf is the number of entries that a row of so many has with padding.
func widthOf(entries int) int { return room.RoundUp(entries-1, 4) + 1 }

// boxMiddle returns the middle of the box of some of the places x.
func boxMiddle(x []float64, dim int, some []int32) []float64 {
	middle := make([]float64, dim)
	for k := range middle {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, r := range some {
			lo, hi = min(lo, x[int(r)*dim+k]), max(hi, x[int(r)*dim+k])
		}
		middle[k] = lo + (hi-lo)/2
	}
	return middle
}

// makeLists finds, for each latent, the cells that it is near.
func (l *latent) makeLists(tree *dissect.Tree) {
	l.ends = make([]int32, l.m)
	cells := len(l.starts) - 1
	for c := range cells {
		for _, q := range tree.Clique(c) {
			l.ends[q]++
		}
	}
	sum := int32(0)
	for q, v := range l.ends { // where lists begin, then end
		l.ends[q] = sum
		sum += v
	}
	l.lists = make([]int32, cells*l.near)
	for c := range cells {
		for i, q := range tree.Clique(c) {
			l.lists[l.ends[q]] = int32(c*l.near + i)
			l.ends[q]++
		}
	}
}

// bytes returns what it holds, work areas included.
func (l *latent) bytes() int64 {
	b := 8*(len(l.w)+len(l.u)+len(l.starts)+len(l.at)) + 4*(len(l.order)+len(l.lists)+len(l.ends))
	return int64(b) + l.apply.bytes() + l.pair.Bytes()
}

// on returns the same for another engine.
func (l *latent) on(e *linalg.Engine) *latent {
	o := *l
	o.e, o.pair, o.apply = e, l.pair.On(e), latentApply{}
	o.apply.init(&o)
	return &o
}
