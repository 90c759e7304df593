package precond

import (
	"context"
	"errors"
	"math"
	"slices"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/room"
)

// A latentBuild makes W and U of the cells, asm.CholLanes cells at a time, a lane for each: the Cholesky factor of K of
// the latents near a cell and of its rows, with the noise of the rows, has all that is needed,
//
//	[ C      ]    C C' = K_NN,   x C' = K_rN,   L L' = D_rr,
//	[ x    L ]    W = L⁻¹,   U = L⁻¹ x C⁻¹.
type latentBuild struct {
	l       *latent
	k       linalg.ColOp
	noise   []float64
	latents []int32   // rows
	cliques []int32   // of each cell, latents
	nugget  float64   // of the latents
	tau     []float64 // smallest pivot that is not rounding, for each row
	size    int       // variables of a lane, with padding
	gram    []float64 // of each cell, the lower triangle of U'U
	logs    []float64 // of each cell, log det D_rr; NaN where that has no factor
	work    []latentScratch
}

// A latentScratch is what one worker needs.
type latentScratch struct {
	rows     []int32
	tri, tau []float64
	points   []int32
}

// The nugget of the latents, in units of the least noise and of K_ii: too small to count, and enough for a factor.
const nuggetOfNoise, leastNugget = 1e-4, 1e-11

func newLatentBuild(l *latent, k linalg.ColOp, noise []float64, latents, cliques []int32) (*latentBuild, error) {
	b := &latentBuild{l: l, k: k, noise: noise, latents: latents, cliques: cliques, tau: make([]float64, l.n)}
	k.DiagTo(b.tau)
	b.nugget = max(leastNugget*slices.Max(b.tau), nuggetOfNoise*slices.Min(noise))
	b.size = room.RoundUp(l.near+cellRows, 4) + 1
	for i, d := range b.tau {
		b.tau[i] = 0x1p-52 * float64(b.size+8) * (d + noise[i])
		if !(b.tau[i] > 0) || math.IsInf(b.tau[i], 1) {
			return nil, &linalg.NotPDError{Pivot: i, Value: d + noise[i]}
		}
	}
	b.work = make([]latentScratch, l.e.Par.Threads())
	for i := range b.work {
		b.work[i] = latentScratch{rows: make([]int32, b.size*asm.CholLanes),
			tri: make([]float64, linalg.TriangleRoom(b.size)), tau: make([]float64, b.size*asm.CholLanes)}
	}
	return b, nil
}

// triangle is the number of entries of U'U.
func (b *latentBuild) triangle() int { return b.l.near * (b.l.near + 1) / 2 }

func (b *latentBuild) clique(c int) []float64 { return b.gram[c*b.triangle() : (c+1)*b.triangle()] }

// covariance is K of latents, with the nugget.
func (b *latentBuild) covariance(worker int, dst linalg.Matrix, points []int32) {
	s := &b.work[worker]
	s.points = s.points[:0]
	for _, p := range points {
		s.points = append(s.points, b.latents[p])
	}
	b.k.BlockTo(worker, dst, s.points)
	for i := range dst.Rows {
		dst.Data[i*dst.Stride+i] += b.nugget
	}
}

// ofRows turns the latent of a *linalg.NotPDError into its row.
func (b *latentBuild) ofRows(err error) error {
	var e *linalg.NotPDError
	if errors.As(err, &e) {
		return &linalg.NotPDError{Pivot: int(b.latents[e.Pivot]), Value: e.Value}
	}
	return err
}

// makeCells makes W and U of the cells of this rank, and U'U and log det D of all.
func (b *latentBuild) makeCells(ctx context.Context) error {
	l, e := b.l, b.l.e
	cells := len(l.starts) - 1
	batches := (cells + batchCells - 1) / batchCells
	from, to := e.Share(batches)
	l.lo, l.hi = min(from*batchCells, cells), min(to*batchCells, cells)
	size := 0
	for c := l.lo; c < l.hi; c++ {
		l.at = append(l.at, size)
		size += len(l.cell(c)) * widthOf(len(l.cell(c)))
	}
	l.w, l.u = make([]float64, size), make([]float64, (l.starts[l.hi]-l.starts[l.lo])*l.nearWidth)
	b.gram, b.logs = make([]float64, cells*b.triangle()), make([]float64, cells)
	e.ForShare(batches, 1, func(worker, i int) {
		if ctx.Err() == nil {
			b.batch(worker, i*batchCells)
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	e.Complete(b.gram, batches, batchCells*b.triangle())
	e.Complete(b.logs, batches, batchCells)
	for c, v := range b.logs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return &linalg.NotPDError{Pivot: int(l.order[l.starts[c]]), Value: 0}
		}
		l.logDet += v
	}
	return nil
}

// batch makes cells c0 .. c0+batchCells-1.
func (b *latentBuild) batch(worker, c0 int) {
	const L = asm.CholLanes
	l, s := b.l, &b.work[worker]
	for t := range L {
		c := min(c0+t, l.hi-1) // lanes behind the last cell repeat it
		own := l.cell(c)
		for i := range b.size {
			switch {
			case i < l.near:
				s.rows[i*L+t] = b.latents[b.cliques[c*l.near+i]]
			case i-l.near < len(own):
				s.rows[i*L+t] = own[i-l.near]
			default:
				s.rows[i*L+t] = own[0]
			}
		}
	}
	b.k.TrianglesTo(worker, s.tri, s.rows)
	for t := range L {
		c := min(c0+t, l.hi-1)
		b.prepare(s, t, l.near+len(l.cell(c)))
	}
	l.e.Impl.CholBatch(s.tri, s.tau, b.size)
	for t := range min(L, l.hi-c0) {
		b.finish(s.tri, t, c0+t)
	}
}

// prepare adds the noise of the rows in lane t, sets the guards of its pivots, and makes rows of the identity of the
// variables that it does not have, beyond the first count. A latent that its neighbours tell is dropped; a row is not.
func (b *latentBuild) prepare(s *latentScratch, t, count int) {
	const L = asm.CholLanes
	for i := range b.size {
		row, r := s.tri[i*(i+1)/2*L:], s.rows[i*L+t]
		switch {
		case i < b.l.near:
			s.tau[i*L+t] = b.nugget
		case i < count:
			row[i*L+t] += b.noise[r]
			s.tau[i*L+t] = b.tau[r]
		default:
			for j := range i {
				row[j*L+t] = 0
			}
			row[i*L+t], s.tau[i*L+t] = 1, 0.5
		}
	}
}

// finish makes W, U, U'U and log det D of cell c of the factor in lane t, which has 1/L_ii on its diagonal.
func (b *latentBuild) finish(tri []float64, t, c int) {
	const L = asm.CholLanes
	l := b.l
	near, rows := l.near, len(l.cell(c))
	at := func(i, j int) float64 { return tri[(i*(i+1)/2+j)*L+t] }
	w, u := l.factors(c)
	width := widthOf(rows)
	logDet := 0.0
	for i := range rows {
		wi, ui, inverse := w[i*width:][:width], u[i*l.nearWidth:][:l.nearWidth], at(near+i, near+i)
		for j := range near {
			ui[j] = at(near+i, j)
		}
		for k := range i {
			v := at(near+i, near+k)
			for j, x := range w[k*width:][:k+1] {
				wi[j] -= v * x
			}
			for j, x := range u[k*l.nearWidth:][:near] {
				ui[j] -= v * x
			}
		}
		for j := range i {
			wi[j] *= inverse
		}
		for j := range ui {
			ui[j] *= inverse
		}
		wi[i] = inverse
		logDet -= 2 * math.Log(inverse)
	}
	for j := near - 1; j >= 0; j-- { // U C = L⁻¹ x, column by column
		inverse := at(j, j)
		for i := range rows {
			u[i*l.nearWidth+j] *= inverse
		}
		for k := range j {
			v := at(j, k)
			for i := range rows {
				u[i*l.nearWidth+k] -= v * u[i*l.nearWidth+j]
			}
		}
	}
	gram := b.clique(c)
	for i := range rows {
		ui := u[i*l.nearWidth:][:near]
		at := 0
		for a, v := range ui {
			for j, x := range ui[:a+1] {
				gram[at+j] += v * x
			}
			at += a + 1
		}
	}
	b.logs[c] = logDet
}
