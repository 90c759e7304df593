package linalg

import (
	"math"
	"slices"
)

const (
	qrPanel = 48    // columns that the careful factorisation takes at a time
	qrDrop  = 1e-13 // of a column's norm: a rest below this is rounding error
	// qrPivot is the smallest pivot of the scaled Gram matrix for which two
	// rounds of Cholesky-QR are sure to give an orthonormal Q.
	qrPivot = 1e-9
)

// ThinQR overwrites w (n×p) with Q and returns R (p×p, upper triangular) with
// W = Q R to rounding. Columns that bring no new direction are zero in Q, and
// so is their row of R; the others are orthonormal. rank is their number.
//
// Two rounds of Cholesky-QR (Yamamoto, Nakatsukasa, Yanagisawa and Fukaya 2015),
// which are matrix products only; where the Gram matrix is too close to
// singular, block Gram-Schmidt, twice, with each panel column by column.
// NaN or Inf in w give NaN in Q or R.
func (e *Engine) ThinQR(w Matrix) (r Matrix, rank int) {
	return e.thinQR(w, w.Rows, 0, e.rowGram, e.carefulQR)
}

// ThinQRRows is ThinQR where each rank has its own rows (OwnRows) of w, n×p, and one round is enough where that leaves
// ‖Q'Q - I‖ ‖W‖_F below loss.
func (e *Engine) ThinQRRows(w Matrix, n int, loss float64) (r Matrix, rank int) {
	return e.thinQR(w, n, loss, func(g, w Matrix) { e.spreadGram(g, w, n) },
		func(w, r Matrix) int { return e.carefulRows(w, r, n) })
}

func (e *Engine) thinQR(w Matrix, n int, loss float64, gram func(g, w Matrix),
	careful func(w, r Matrix) int) (r Matrix, rank int) {
	w.Check()
	p := w.Cols
	r = NewMatrix(p, p)
	if n == 0 || p == 0 {
		return r, 0
	}
	g := NewMatrix(p, p)
	gram(g, w)
	scale, ok := unitDiagonal(g)
	if !ok || n < p {
		return r, careful(w, r)
	}
	norm := symNorm(g)
	if e.factor(g, 0) != nil || smallestPivot(g) < qrPivot {
		return r, careful(w, r)
	}
	once := loss > 0 && 0x1p-53*norm*e.inverseTrace(g)*math.Sqrt(e.Dot(scale, scale)) < loss
	// g holds the factor of D^-1 W'W D^-1: R1 = L' D.
	for i := range p {
		for j := range i + 1 {
			r.Set(j, i, g.At(i, j)*scale[i])
			g.Set(i, j, g.At(i, j)*scale[i])
		}
	}
	e.SolveRight(w, g, true)
	if once {
		return r, p
	}
	gram(g, w)
	if e.factor(g, 0) != nil {
		panic("linalg: ThinQR: columns that were nearly orthonormal are not")
	}
	e.SolveRight(w, g, true)
	e.mulUpper(r, g)
	return r, p
}

// symNorm is the largest sum of |g_ij| along a row, of the lower triangle: at least ‖g‖.
func symNorm(g Matrix) float64 {
	sums := make([]float64, g.Rows)
	for i := range g.Rows {
		for j, v := range g.Row(i)[:i+1] {
			sums[i] += math.Abs(v)
			if j < i {
				sums[j] += math.Abs(v)
			}
		}
	}
	return slices.Max(sums)
}

// inverseTrace is tr (L L')^-1, at least ‖(L L')^-1‖.
func (e *Engine) inverseTrace(l Matrix) (t float64) {
	inv := l.Clone()
	e.InvertLower(inv)
	for i := range inv.Rows {
		row := inv.Row(i)[:i+1]
		t += e.Impl.F64.Dot(row, row)
	}
	return t
}

// rowGram sets the lower triangle of g = w'w.
func (e *Engine) rowGram(g, w Matrix) {
	if g.Rows*g.Cols <= gramSmall {
		e.GramTo(g, w, w)
		return
	}
	e.SyrkTo(g, 1, w, true, 0)
}

// spreadGram is rowGram of n rows, of which each rank has its own: all of them pass by on each, some steps of the
// product at a time, for a sum in any other order would give other bits. Each rank makes some rows of g, about as many
// products as the others.
func (e *Engine) spreadGram(g, w Matrix, n int) {
	if e.alone() || g.Rows*g.Cols <= gramSmall {
		e.rowGram(g, e.AllRows(w, n))
		return
	}
	const together = 8
	lo, hi := e.OwnRows(n)
	step := depthStep(n)
	rows, at := NewMatrix(together*step, w.Cols), make([]int32, 0, together*step)
	first := e.triangleRows(g.Rows)
	top, end := first[e.Rank()], first[e.Rank()+1]
	own := g.Sub(top, end, 0, end)
	for from := 0; from < n; from += rows.Rows {
		some := rows.Sub(0, min(rows.Rows, n-from), 0, w.Cols)
		at = at[:0]
		for i := range some.Rows {
			at = append(at, int32(from+i))
			if from+i >= lo && from+i < hi {
				copy(some.Row(i), w.Row(from+i-lo))
			}
		}
		e.CompleteOwned(some, at, n)
		for k := 0; k < some.Rows; k += step {
			beta := 1.0
			if from+k == 0 {
				beta = 0
			}
			part := some.Sub(k, min(k+step, some.Rows), 0, end)
			e.GemmTo(own, 1, part.Sub(0, part.Rows, top, end), true, part, false, beta)
		}
	}
	e.CompleteRuns(g, nil, first)
}

// triangleRows returns the first of the rows of a lower triangle that each rank makes, and n.
func (e *Engine) triangleRows(n int) []int {
	first := make([]int, e.Ranks()+1)
	for r := range first {
		first[r] = int(float64(n) * math.Sqrt(float64(r)/float64(e.Ranks())))
	}
	return first
}

// carefulRows is carefulQR of n rows, of which each rank has its own: on each, with all of them.
func (e *Engine) carefulRows(w, r Matrix, n int) (rank int) {
	if e.alone() {
		return e.carefulQR(w, r)
	}
	lo, hi := e.OwnRows(n)
	all := e.AllRows(w, n)
	rank = e.carefulQR(all, r)
	w.CopyFrom(all.Sub(lo, hi, 0, w.Cols))
	return rank
}

// unitDiagonal scales the lower triangle of g to D^-1 G D^-1 with D² its
// diagonal, which it returns; ok is false where a column has no usable norm.
func unitDiagonal(g Matrix) (d []float64, ok bool) {
	d = make([]float64, g.Rows)
	for i := range d {
		d[i] = math.Sqrt(g.At(i, i))
		// The Gram matrix of tiny or huge columns under- or overflows.
		if !(d[i] > 1e-140) || d[i] > 1e140 {
			return d, false
		}
	}
	for i := range d {
		row := g.Row(i)[:i+1]
		for j := range row {
			row[j] /= d[i] * d[j]
		}
		row[i] = 1
	}
	return d, true
}

func smallestPivot(l Matrix) float64 {
	s := math.Inf(1)
	for i := range l.Rows {
		s = min(s, l.At(i, i)*l.At(i, i))
	}
	return s
}

// mulUpper overwrites the upper triangular r with L' r.
func (e *Engine) mulUpper(r, l Matrix) {
	e.mulLeftTrans(l, r)
	for i := range r.Rows {
		clear(r.Row(i)[:i]) // exact zeros, not rounding errors
	}
}

// carefulQR is ThinQR for any w: panels, each cleaned of the columns before it
// and made orthonormal, twice. Q R changes by at most qrDrop of a column's norm
// where a column is dropped.
func (e *Engine) carefulQR(w, r Matrix) (rank int) {
	n, p := w.Rows, w.Cols
	norms := make([]float64, qrPanel)
	for j0 := 0; j0 < p; j0 += qrPanel {
		j1 := min(j0+qrPanel, p)
		q, panel := w.Sub(0, n, 0, j0), w.Sub(0, n, j0, j1)
		above, diag := r.Sub(0, j0, j0, j1), r.Sub(j0, j1, j0, j1)
		for j := range j1 - j0 {
			norms[j] = columnNorm(panel, j)
		}
		s := e.cleanPanel(q, panel)
		above.CopyFrom(s)
		rank += e.panelQR(panel, diag, norms)

		// The second round: what the division by small norms brought back.
		s = e.cleanPanel(q, panel)
		again := NewMatrix(j1-j0, j1-j0)
		for j := range j1 - j0 {
			norms[j] = columnNorm(panel, j)
		}
		e.panelQR(panel, again, norms)
		e.GemmTo(above, 1, s, false, diag, false, 1)
		product := NewMatrix(j1-j0, j1-j0)
		e.GemmTo(product, 1, again, false, diag, false, 0)
		diag.CopyFrom(product)
	}
	return rank
}

// cleanPanel subtracts Q Q' of the panel from it, and returns Q' panel.
func (e *Engine) cleanPanel(q, panel Matrix) Matrix {
	s := NewMatrix(q.Cols, panel.Cols)
	if q.Cols > 0 {
		e.GramTo(s, q, panel)
		e.MulSubTo(panel, q, s)
	}
	return s
}

// panelQR is Gram-Schmidt, column by column and twice for each. A column of
// which less than qrDrop·norms[j] is left becomes zero.
func (e *Engine) panelQR(panel, r Matrix, norms []float64) (rank int) {
	n := panel.Rows
	r.Zero()
	for j := range panel.Cols {
		x, q := panel.Sub(0, n, j, j+1), panel.Sub(0, n, 0, j)
		for range 2 {
			if j == 0 {
				break
			}
			s := e.cleanPanel(q, x)
			for i := range j {
				r.Set(i, j, r.At(i, j)+s.At(i, 0))
			}
		}
		norm := columnNorm(panel, j)
		if norm <= qrDrop*norms[j] {
			x.Zero()
			continue
		}
		for i := range n {
			x.Data[i*x.Stride] /= norm
		}
		r.Set(j, j, norm)
		rank++
	}
	return rank
}

// columnNorm is the norm of column j, without overflow, summed in the row groups of GramTo.
func columnNorm(m Matrix, j int) float64 {
	top := 0.0
	for i := range m.Rows {
		top = max(top, math.Abs(m.At(i, j)))
	}
	if top == 0 || math.IsInf(top, 1) || math.IsNaN(top) {
		return top
	}
	size, sum := groupRows(m.Rows), 0.0
	for r := 0; r < m.Rows; r += size {
		part := 0.0
		for i := r; i < min(r+size, m.Rows); i++ {
			v := m.At(i, j) / top
			part += v * v
		}
		sum += part
	}
	return top * math.Sqrt(sum)
}
