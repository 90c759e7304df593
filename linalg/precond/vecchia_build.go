package precond

import (
	"context"
	"math/rand/v2"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
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

// lowRankDepth is the number of columns of L that are gathered at a time: what
// they take, lowRankDepth·width blocks of 64 bytes, stays in the second cache.
const lowRankDepth = 48

// A vecchiaBuild computes the rows of W, asm.CholLanes at a time, a lane for
// each.
type vecchiaBuild struct {
	v     *Vecchia
	k     linalg.ColOp
	l     linalg.Matrix
	noise []float64
	large bool      // K - L L' is definite together with the noise only
	tau   []float64 // smallest pivot that is not rounding, for each row
	work  []vecchiaScratch
}

// vecchiaLanes are rows of W on their way; [width][CholLanes] but for tri.
type vecchiaLanes struct {
	rows []int32   // neighbours, nearest first, and the own row last
	tri  []float64 // R of these, the triangles side by side
}

// A vecchiaScratch is what one worker needs; [width][CholLanes] but for low.
type vecchiaScratch struct {
	lanes vecchiaLanes
	tau   []float64
	low   []float64 // rows of L, lowRankDepth columns
}

func newVecchiaBuild(v *Vecchia, k linalg.ColOp, l linalg.Matrix, noise []float64) (*vecchiaBuild, error) {
	n, width := k.Dim(), v.near.width
	b := &vecchiaBuild{v: v, k: k, l: l, noise: noise, tau: make([]float64, n)}
	k.DiagTo(b.tau)
	for i, d := range b.tau {
		b.tau[i] = 0x1p-52 * float64(v.near.nn+l.Cols+8) * (d + noise[i])
		if !(b.tau[i] > 0) {
			return nil, &linalg.NotPDError{Pivot: i, Value: d + noise[i]}
		}
	}
	b.work = make([]vecchiaScratch, v.e.Par.Threads())
	for i := range b.work {
		b.work[i] = vecchiaScratch{
			lanes: b.newLanes(),
			tau:   make([]float64, width*asm.CholLanes),
			low:   make([]float64, width*min(l.Cols, lowRankDepth)*asm.CholLanes),
		}
	}
	return b, nil
}

func (b *vecchiaBuild) newLanes() vecchiaLanes {
	width := b.v.near.width
	return vecchiaLanes{make([]int32, width*asm.CholLanes), make([]float64, linalg.TriangleRoom(width))}
}

// run computes all rows of W on each rank, with all rows of L, or leaves early where ctx ends.
func (b *vecchiaBuild) run(ctx context.Context) {
	e, batches := b.v.e, (b.v.near.n+asm.CholLanes-1)/asm.CholLanes
	e.ForShare(batches, 1, func(worker, i int) {
		if ctx.Err() == nil {
			b.batch(worker, i*asm.CholLanes)
		}
	})
	e.Complete(b.v.w, batches, asm.CholLanes*b.v.near.width)
}

// runOwn computes the rows of W of this rank, which has its rows of L, or leaves early where ctx ends.
func (b *vecchiaBuild) runOwn(ctx context.Context) {
	e, near := b.v.e, b.v.near
	if e.Ranks() > 1 && b.l.Cols > 0 {
		b.runPanels(ctx)
		return
	}
	e.Par.For((near.hi-near.lo+asm.CholLanes-1)/asm.CholLanes, func(worker, i int) {
		if ctx.Err() == nil {
			b.batch(worker, near.lo+i*asm.CholLanes)
		}
	})
}

// panelRoom is how many numbers of triangles are kept at a time: as many as n rows of a panel have. Tests make it less.
var panelRoom = func(n int) int { return max(n*lowRankDepth, 1<<20) }

// runPanels is runOwn where other ranks have rows of L that this one needs. All rows of a few columns come at a time,
// and meet as many triangles as have room.
func (b *vecchiaBuild) runPanels(ctx context.Context) {
	const L = asm.CholLanes
	e, near, n := b.v.e, b.v.near, b.v.near.n
	ranks, room := e.Ranks(), panelRoom(n)/linalg.TriangleRoom(near.width)
	most := ((linalg.Groups(n)+ranks-1)/ranks*linalg.GroupRows(n) + L - 1) / L // batches of a rank
	lanes := make([]vecchiaLanes, min(max(room, 1), most))
	for i := range lanes {
		lanes[i] = b.newLanes()
	}
	panel := linalg.NewMatrix(n, min(b.l.Cols, lowRankDepth))
	for at := 0; at < most && ctx.Err() == nil; at += len(lanes) {
		first := min(near.lo+at*L, near.hi)
		count := (min(first+len(lanes)*L, near.hi) - first + L - 1) / L
		e.Par.For(count, func(worker, i int) { b.begin(worker, &lanes[i], first+i*L) })
		for k0 := 0; k0 < b.l.Cols; k0 += lowRankDepth {
			part := b.l.Sub(0, b.l.Rows, k0, min(k0+lowRankDepth, b.l.Cols))
			all := panel.Sub(0, n, 0, part.Cols)
			e.AllRowsTo(all, part)
			e.Par.For(count, func(worker, i int) { b.subtract(worker, &lanes[i], all) })
		}
		e.Par.For(count, func(worker, i int) { b.finish(worker, &lanes[i], first+i*L) })
	}
}

// batch computes rows q0 .. q0+CholLanes-1 of W, with all rows of L.
func (b *vecchiaBuild) batch(worker, q0 int) {
	s := &b.work[worker].lanes
	b.begin(worker, s, q0)
	for k0 := 0; k0 < b.l.Cols; k0 += lowRankDepth {
		b.subtract(worker, s, b.l.Sub(0, b.l.Rows, k0, min(k0+lowRankDepth, b.l.Cols)))
	}
	b.finish(worker, s, q0)
}

// begin evaluates K for rows q0 .. q0+CholLanes-1 of W.
func (b *vecchiaBuild) begin(worker int, s *vecchiaLanes, q0 int) {
	const L = asm.CholLanes
	near := b.v.near
	for t := range L {
		all := near.row(min(q0+t, near.n-1)) // lanes behind the last row repeat it
		for i := range near.width {
			s.rows[i*L+t] = all[(i+1)%near.width]
		}
	}
	b.k.TrianglesTo(worker, s.tri, s.rows)
}

// subtract subtracts L L' for some columns of L.
func (b *vecchiaBuild) subtract(worker int, s *vecchiaLanes, l linalg.Matrix) {
	im, low, width := b.v.e.Impl, b.work[worker].low, b.v.near.width
	im.GatherLanes(low, l.Data, l.Stride, s.rows, width, l.Cols)
	im.LaneSyrk(s.tri, low, width, l.Cols)
}

// finish makes rows q0 .. q0+CholLanes-1 of W.
func (b *vecchiaBuild) finish(worker int, s *vecchiaLanes, q0 int) {
	const L = asm.CholLanes
	near, tau := b.v.near, b.work[worker].tau
	width := near.width
	b.addNoise(s, tau)
	for t := range L {
		b.fill(s, tau, t, len(near.of(min(q0+t, near.n-1))))
	}
	b.v.e.Impl.CholBatch(s.tri, tau, width)
	last := s.tri[width*(width-1)/2*L:]
	for t := range min(L, near.n-q0) {
		out := b.v.w[(q0-near.lo+t)*width:][:width]
		out[0] = last[(width-1)*L+t]
		for j := range out[1:] {
			out[1+j] = last[j*L+t]
		}
	}
}

// addNoise adds the noise to the diagonals and sets the guards of the pivots.
func (b *vecchiaBuild) addNoise(s *vecchiaLanes, tau []float64) {
	const L = asm.CholLanes
	width := b.v.near.width
	for i := range width {
		diag := s.tri[(i*(i+1)/2+i)*L:][:L]
		for t, r := range s.rows[i*L : (i+1)*L] {
			if !b.large {
				// K_ii - |l_i|² >= 0 up to rounding: clamp, or a row that L holds
				// exactly would fall below its own noise.
				diag[t] = max(diag[t], 0)
			}
			diag[t] += b.noise[r]
			tau[i*L+t] = b.tau[r]
			if i == width-1 {
				tau[i*L+t] = max(b.tau[r], b.noise[r])
			}
		}
	}
}

// fill makes rows of the identity of the neighbours that lane t does not have,
// beyond the first count.
func (b *vecchiaBuild) fill(s *vecchiaLanes, tau []float64, t, count int) {
	const L = asm.CholLanes
	width := b.v.near.width
	for i := count; i < width-1; i++ {
		for j := range i {
			s.tri[(i*(i+1)/2+j)*L+t] = 0
		}
		s.tri[(i*(i+1)/2+i)*L+t], tau[i*L+t] = 1, 0.5
		for r := i + 1; r < width; r++ {
			s.tri[(r*(r+1)/2+i)*L+t] = 0
		}
	}
}
