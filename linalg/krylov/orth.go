package krylov

import (
	"math"

	"bbgp.dev/linalg"
)

// An orthWork makes the columns of a tall block orthonormal and decides its
// rank against an absolute floor, which a QR factorisation that sees only the
// block itself cannot do: once the Krylov space is exhausted, the block is
// rounding error of A, of full rank and no meaning.
type orthWork struct {
	e              *linalg.Engine
	spread         bool      // each rank has its own rows of blocks
	gram, low, mix []float64 // p×p each
	norm, floor    []float64
	done           []bool
	chosen         []int
}

func newOrthWork(e *linalg.Engine, p int, spread bool) *orthWork {
	return &orthWork{
		e: e, spread: spread, gram: make([]float64, p*p), low: make([]float64, p*p), mix: make([]float64, p*p),
		norm: make([]float64, p), floor: make([]float64, p), done: make([]bool, p), chosen: make([]int, 0, p),
	}
}

func view(buf []float64, r, c int) linalg.Matrix {
	return linalg.Matrix{Rows: r, Cols: c, Stride: c, Data: buf[:r*c]}
}

const (
	orthRelative = 1e-12 // of a column's norm: below this it is its own rounding error
	orthTrust    = 1e-6  // of a squared norm: a smaller rest of a Gram matrix is put back
)

// innerTo sets dst = x'y for blocks of n rows.
func (o *orthWork) innerTo(dst, x, y linalg.Matrix, n int) {
	if o.spread {
		o.e.GramRowsTo(dst, x, y, n)
		return
	}
	o.e.GramTo(dst, x, y)
}

// run factors w = Q R, blocks of n rows: Q goes to the first rank columns of q, R to the first
// rank rows of r, both p wide. Columns of w whose part outside the directions
// found is below max(floor, orthRelative of their norm) bring none. w is
// overwritten. R is upper triangular unless columns had to be put back.
//
// A round is Cholesky QR: the columns with a well-conditioned new direction are
// taken by the Cholesky factor of their Gram matrix, the others are cleaned of
// all that has been found and tried again.
func (o *orthWork) run(q, r, w linalg.Matrix, n int, floor float64) (rank int) {
	rows, p := w.Rows, w.Cols
	r.Zero()
	clear(o.done)
	for round := 0; ; round++ {
		if rank > 0 {
			c, found := view(o.mix, rank, p), q.Sub(0, rows, 0, rank)
			o.innerTo(c, found, w, n)
			o.e.MulSubTo(w, found, c)
			for i := range rank {
				axpyRow(r.Row(i), 1, c.Row(i))
			}
		}
		g := view(o.gram, p, p)
		o.innerTo(g, w, w, n)
		for j := range p {
			o.norm[j] = math.Sqrt(max(g.At(j, j), 0))
			if round == 0 {
				o.floor[j] = max(floor, orthRelative*o.norm[j])
			}
			o.done[j] = o.done[j] || !(o.norm[j] > o.floor[j])
		}
		waiting := o.choose(g, n-rank)
		if len(o.chosen) == 0 {
			return rank
		}
		o.take(q, r, w, rank)
		rank += len(o.chosen)
		if waiting == 0 || rank == p {
			return rank
		}
		// Columns that are done take no part in the rounds that follow.
		for i := range rows {
			row := w.Row(i)
			for j, done := range o.done[:p] {
				if done {
					row[j] = 0
				}
			}
		}
	}
}

// choose runs Cholesky on the Gram matrix g, row by row, passing over columns
// with too small a rest and those beyond the limit, the dimensions that are left. It
// returns how many columns wait for the next round.
func (o *orthWork) choose(g linalg.Matrix, limit int) (waiting int) {
	o.chosen = o.chosen[:0]
	l := view(o.low, g.Rows, g.Rows)
	l.Zero()
	for j := range g.Rows {
		if o.done[j] {
			continue
		}
		row, rest := l.Row(j), g.At(j, j)
		for i, b := range o.chosen {
			s := g.At(j, b)
			for m, v := range row[:i] {
				s -= float64(v * l.At(b, m))
			}
			row[i] = s / l.At(b, i)
			rest -= float64(row[i] * row[i])
		}
		if rest > orthTrust*g.At(j, j) && len(o.chosen) < limit {
			row[len(o.chosen)] = math.Sqrt(rest)
			o.chosen = append(o.chosen, j)
		} else {
			waiting++
		}
	}
	return waiting
}

// take appends Q = W L'^-1 of the chosen columns W to q, and L' to r.
func (o *orthWork) take(q, r, w linalg.Matrix, rank int) {
	m, l := len(o.chosen), view(o.low, w.Cols, w.Cols)
	mix := view(o.mix, w.Cols, m)
	mix.Zero()
	for c := range m {
		// Column c of L'^-1 by back substitution.
		for i := c; i >= 0; i-- {
			s := 0.0
			if i == c {
				s = 1
			}
			for b := i + 1; b <= c; b++ {
				s -= float64(l.At(o.chosen[b], i) * mix.At(o.chosen[b], c))
			}
			mix.Set(o.chosen[i], c, s/l.At(o.chosen[i], i))
		}
	}
	for i, j := range o.chosen {
		for c := range i + 1 {
			r.Set(rank+c, j, r.At(rank+c, j)+l.At(j, c))
		}
		o.done[j] = true
	}
	o.e.GemmTo(q.Sub(0, w.Rows, rank, rank+m), 1, w, false, mix, false, 0)
}
