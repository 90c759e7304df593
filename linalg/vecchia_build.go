package linalg

import (
	"math/rand/v2"

	"bbgp.dev/asm"
)

// randomOrder is a random permutation of 0..n-1.
func randomOrder(n int, seed uint64) []int {
	return rand.New(rand.NewPCG(seed, 0x5665636368696121)).Perm(n)
}

// familyOrder is the order in which the rows of W are stored: position 0, then
// depth first along the tree in which the nearest earlier row is the parent.
// Rows close to each other have many neighbours in common, which stay in the
// cache. found is what ColOp.NeighboursTo gives for nn neighbours.
func familyOrder(found []int32, n, nn int) []int32 {
	out := make([]int32, 0, n)
	if nn == 0 {
		for q := range n {
			out = append(out, int32(q))
		}
		return out
	}
	// A position's children, smallest first, as a list; 0 is nobody's child.
	child, next := make([]int32, n), make([]int32, n)
	for q := n - 1; q > 0; q-- {
		parent := found[q*nn]
		next[q], child[parent] = child[parent], int32(q)
	}
	stack := []int32{0}
	for len(stack) > 0 {
		q := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		out = append(out, q)
		if next[q] != 0 {
			stack = append(stack, next[q])
		}
		if child[q] != 0 {
			stack = append(stack, child[q])
		}
	}
	return out
}

// lowRankDepth is the number of columns of L that are gathered at a time: a
// strip of asm.RowUnit rows of them stays in the caches near the processor.
const lowRankDepth = 2 * asm.Pad

// A vecchiaBuild computes the rows of W, asm.CholLanes at a time.
type vecchiaBuild struct {
	v     *Vecchia
	k     ColOp
	l     Matrix
	noise []float64
	large bool      // K - L L' is definite together with the noise only
	tau   []float64 // smallest pivot that is not rounding, for each row
	work  []vecchiaScratch
}

// A vecchiaScratch is what one worker needs.
type vecchiaScratch struct {
	block [asm.CholLanes]Matrix // R of one row each
	rows  []int32
	tri   []float64 // the triangles interleaved
	tau   []float64
	low   []float64 // rows of L, lowRankDepth columns
	sums  []float64 // their products, strips of asm.RowUnit rows
}

func newVecchiaBuild(v *Vecchia, k ColOp, l Matrix, noise []float64) (*vecchiaBuild, error) {
	n, width := k.Dim(), v.near.width
	b := &vecchiaBuild{v: v, k: k, l: l, noise: noise, tau: make([]float64, n)}
	k.DiagTo(b.tau)
	for i, d := range b.tau {
		b.tau[i] = 0x1p-52 * float64(v.near.nn+l.Cols+8) * (d + noise[i])
		if !(b.tau[i] > 0) {
			return nil, &NotPDError{Pivot: i, Value: d + noise[i]}
		}
	}
	b.work = make([]vecchiaScratch, v.e.Par.Threads())
	for i := range b.work {
		s := &b.work[i]
		for t := range s.block {
			s.block[t] = NewMatrix(width, width)
		}
		s.rows = make([]int32, width)
		s.tri = make([]float64, width*(width+1)/2*asm.CholLanes)
		s.tau = make([]float64, width*asm.CholLanes)
		if l.Cols > 0 {
			rows := roundUp(width, asm.RowUnit)
			s.low, s.sums = make([]float64, rows*lowRankDepth), make([]float64, rows*rows)
		}
	}
	return b, nil
}

// batch computes rows q0 .. q0+CholLanes-1 of W.
func (b *vecchiaBuild) batch(worker, q0 int) {
	s, near := &b.work[worker], b.v.near
	lanes := min(asm.CholLanes, near.n-q0)
	for t := range lanes {
		b.residual(worker, s, t, q0+t)
	}
	b.interleave(s, q0, lanes)
	b.v.e.Impl.CholBatch(s.tri, s.tau, near.width)
	last := s.tri[near.width*(near.width-1)/2*asm.CholLanes:]
	for t := range lanes {
		out := b.v.w[(q0+t)*near.width : (q0+t+1)*near.width]
		out[0] = last[(near.width-1)*asm.CholLanes+t]
		for j := range out[1:] {
			out[1+j] = last[j*asm.CholLanes+t]
		}
	}
}

// residual fills block t with R of the neighbours for row q of W, nearest
// first, and of its own row, last.
func (b *vecchiaBuild) residual(worker int, s *vecchiaScratch, t, q int) {
	near := b.v.near
	c := 1 + copy(s.rows, near.of(q))
	rows := s.rows[:c]
	rows[c-1] = near.rows[q*near.width]
	m := s.block[t]
	b.k.BlockTo(worker, m.Sub(0, c, 0, c), rows)
	if b.l.Cols > 0 {
		b.subtractLowRank(s, m, rows)
	}
	for i, r := range rows {
		d := &m.Data[i*m.Stride+i]
		if !b.large {
			// K_ii - |l_i|² >= 0 up to rounding: clamp, or a row that L holds
			// exactly would fall below its own noise.
			*d = max(*d, 0)
		}
		*d += b.noise[r]
	}
}

// subtractLowRank subtracts L_i·L_j from the lower triangle of m, for i and j
// in rows. The rows are gathered and multiplied as a tile with right-hand sides:
// sums along the rows need no packing.
func (b *vecchiaBuild) subtractLowRank(s *vecchiaScratch, m Matrix, rows []int32) {
	kit, c := &b.v.e.Impl.F64, len(rows)
	clear(s.sums)
	for k0 := 0; k0 < b.l.Cols; k0 += lowRankDepth {
		depth := min(lowRankDepth, b.l.Cols-k0)
		cols := roundUp(depth, asm.Pad)
		for i, r := range rows {
			row := s.low[i*cols : (i+1)*cols]
			copy(row, b.l.Data[int(r)*b.l.Stride+k0:][:depth])
			clear(row[depth:])
		}
		out := s.sums
		for i := 0; i < c; i += asm.RowUnit {
			p := lowRankCols(i, c)
			kit.AccI(out[:asm.RowUnit*p], s.low[i*cols:(i+asm.RowUnit)*cols], s.low[:p*cols], asm.RowUnit, cols, p)
			out = out[asm.RowUnit*p:]
		}
	}
	sums := s.sums
	for i := range c {
		p := lowRankCols(i/asm.RowUnit*asm.RowUnit, c)
		row := m.Row(i)
		for j, x := range sums[:i+1] {
			row[j] -= x
		}
		sums = sums[p:]
	}
}

// lowRankCols is the number of columns of the strip of rows from i on, of c.
func lowRankCols(i, c int) int { return roundUp(min(i+asm.RowUnit, c), asm.ColUnit) }

// interleave writes the lower triangles of the blocks into s.tri and their
// guards into s.tau. Neighbours that a row does not have, and lanes beyond the
// last row, become rows of the identity; a row's own row of R goes last.
func (b *vecchiaBuild) interleave(s *vecchiaScratch, q0, lanes int) {
	const L = asm.CholLanes
	near := b.v.near
	width := near.width
	full := lanes == L
	for t := range lanes {
		full = full && len(near.of(q0+t)) == width-1
	}
	if full {
		b.interleaveFull(s)
	} else {
		clear(s.tri)
		for i := range width {
			for t := range L {
				s.tri[(i*(i+1)/2+i)*L+t], s.tau[i*L+t] = 1, 0.5
			}
		}
		for t := range lanes {
			c := len(near.of(q0 + t))
			for i := range c + 1 {
				at := i
				if i == c {
					at = width - 1
				}
				for j := range i {
					s.tri[(at*(at+1)/2+j)*L+t] = s.block[t].At(i, j)
				}
				s.tri[(at*(at+1)/2+at)*L+t] = s.block[t].At(i, i)
			}
		}
	}
	for t := range lanes {
		for i, r := range near.of(q0 + t) {
			s.tau[i*L+t] = b.tau[r]
		}
		self := near.rows[(q0+t)*width]
		s.tau[(width-1)*L+t] = max(b.tau[self], b.noise[self])
	}
}

// interleaveFull is interleave's loop where every lane has width-1 neighbours.
func (b *vecchiaBuild) interleaveFull(s *vecchiaScratch) {
	const L = asm.CholLanes
	out := s.tri
	for i := range b.v.near.width {
		var r [L][]float64
		for t := range r {
			m := s.block[t]
			r[t] = m.Data[i*m.Stride:][:i+1]
		}
		for j := range i + 1 {
			o := (*[L]float64)(out[j*L:])
			for t := range o {
				o[t] = r[t][j]
			}
		}
		out = out[(i+1)*L:]
	}
}
