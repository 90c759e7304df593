package kernelmv

import (
	"slices"
	"sort"

	"bbgp.dev/linalg"
)

// Ranks share the products of form H² out by chunks, and its gradient by boxes: each takes a run of them, of about
// the same counted work. Each goes up its own chunks, and sends M of their boxes to those who use them; what is above
// the chunks all of them make. Down the tree each takes its own chunks and the boxes above these. The rows of a chunk,
// and the sums of a box, are computed by one rank as they are by one alone, so bits do not depend on the ranks. More
// ranks than chunks find nothing to do.

// An h2Part is what a rank does of the H² form.
type h2Part struct {
	whole        bool      // no M is sent: all ranks make all of the way up, or those of a Source have
	chunks       []int32   // of this rank,
	own          [2]int    // their positions,
	first        []int     // and the first position of each rank, and n
	below, above [][]int32 // boxes by depth on the way up: of the own chunks, and above all chunks
	wants        [][]int32 // [from][to]: boxes whose M a rank sends another
	rows, counts []int     // the same: rows of these, and numbers
}

// runsOf cuts things of such costs into a run for each rank, start[r]..start[r+1]-1: a thing belongs to the rank in
// whose part of the total its middle lies.
func runsOf(cost []float64, ranks int) (start []int) {
	total, before := 0.0, 0.0
	for _, c := range cost {
		total += c
	}
	start = make([]int, 1, ranks+1)
	for i, c := range cost {
		for len(start) < ranks && before+c/2 >= total*float64(len(start))/float64(ranks) {
			start = append(start, i)
		}
		before += c
	}
	for len(start) <= ranks {
		start = append(start, len(cost))
	}
	return start
}

// rankAt is the rank in whose run i is.
func rankAt(start []int, i int) int {
	return sort.Search(len(start), func(r int) bool { return start[r] > i }) - 1
}

// share sets what this rank does.
func (f *h2Product[T]) share() {
	t, e := f.plan.tree, f.op.engine
	f.chunks, f.own, f.below = t.chunks, [2]int{0, t.n}, t.levels
	if e.Ranks() == 1 {
		return
	}
	runs := runsOf(f.plan.chunkWork(), e.Ranks())
	f.chunks = t.chunks[runs[e.Rank()]:runs[e.Rank()+1]]
	f.first = f.first[:0]
	for _, chunk := range runs {
		first := t.n
		if chunk < len(t.chunks) {
			first = t.boxes[t.chunks[chunk]].from
		}
		f.first = append(f.first, first)
	}
	f.own = [2]int(f.first[e.Rank():])
	if f.whole {
		return
	}
	f.below, f.above = make([][]int32, len(t.levels)), make([][]int32, len(t.levels))
	for depth, level := range t.levels {
		for _, id := range level {
			if _, top := slices.BinarySearch(t.tops, id); top {
				f.above[depth] = append(f.above[depth], id)
			} else if f.owns(id) {
				f.below[depth] = append(f.below[depth], id)
			}
		}
	}
	f.setWants(e.Ranks())
}

// setWants lists the boxes that ranks send each other: the tops of chunks, and what others use.
func (f *h2Product[T]) setWants(ranks int) {
	t := f.plan.tree
	f.wants, f.rows, f.counts = make([][]int32, ranks*ranks), make([]int, ranks*ranks), make([]int, ranks*ranks)
	to := make([]bool, ranks)
	for _, chunk := range t.chunks {
		from := rankAt(f.first, t.boxes[chunk].from)
		for id := chunk; id < t.boxes[chunk].end; id++ {
			if !f.plan.sides[id].active {
				continue
			}
			for r := range to {
				to[r] = id == chunk
			}
			f.users(id, to)
			for r, wanted := range to {
				if wanted && r != from {
					f.wants[from*ranks+r] = append(f.wants[from*ranks+r], id)
					f.rows[from*ranks+r] += f.plan.valuesOf(id)
				}
			}
		}
	}
}

// markUsers marks the ranks that have boxes far from box id.
func (f *h2Product[T]) markUsers(id int32, to []bool) {
	for _, list := range []*pairLists{&f.plan.far, &f.plan.cubes} {
		for _, e := range list.of(id) {
			b := &f.plan.tree.boxes[e]
			for r := rankAt(f.first, b.from); r <= rankAt(f.first, b.to-1); r++ {
				to[r] = true
			}
		}
	}
}

// exchangeNodes sends M of the own boxes to those who want it, and gets that of theirs.
func (f *h2Product[T]) exchangeNodes() {
	e := f.op.engine
	if f.wants == nil {
		return
	}
	for i, rows := range f.rows {
		f.counts[i] = rows * f.p
	}
	kinds := func(id int32) (kinds [2][]T) {
		side := &f.plan.sides[id]
		if side.slot >= 0 {
			kinds[0] = f.m[side.slot*f.p : (side.slot+side.rows)*f.p]
		}
		if side.spot >= 0 {
			kinds[1] = f.c[side.spot*f.p : (side.spot+side.rows)*f.p]
		}
		return kinds
	}
	e.Exchange(f.counts, func(to int, x []float64) {
		for _, id := range f.wants[e.Rank()*e.Ranks()+to] {
			for _, m := range kinds(id) {
				for i, v := range m {
					x[i] = float64(v)
				}
				x = x[len(m):]
			}
		}
	}, func(from int, x []float64) {
		for _, id := range f.wants[from*e.Ranks()+e.Rank()] {
			for _, m := range kinds(id) {
				for i := range m {
					m[i] = T(x[i])
				}
				x = x[len(m):]
			}
		}
	})
}

// valuesOf returns the values of box id for a column, at its nodes and in its polynomials.
func (p *h2Plan) valuesOf(id int32) (count int) {
	s := &p.sides[id]
	if s.slot >= 0 {
		count += s.rows
	}
	if s.spot >= 0 {
		count += s.rows
	}
	return count
}

// owns tells whether a box has positions of this rank.
func (f *h2Product[T]) owns(id int32) bool {
	b := &f.plan.tree.boxes[id]
	return b.from < f.own[1] && b.to > f.own[0]
}

// complete gathers the rows of dst.
func (f *h2Product[T]) complete(dst linalg.Matrix) {
	f.op.engine.CompleteRuns(dst, f.plan.tree.order, f.first)
}

// chunkWork returns the counted work of each chunk.
func (p *h2Plan) chunkWork() []float64 {
	work := make([]float64, len(p.tree.chunks))
	for i, id := range p.tree.chunks {
		chunk := &p.tree.boxes[id]
		var pairs, moved, transferred float64
		for a := id; a < chunk.end; a++ {
			some, matrices, entries := p.count(a)
			pairs, moved, transferred = pairs+some, moved+matrices, transferred+entries
		}
		work[i] = workOf(pairs, moved, transferred, chunk.size())
	}
	return work
}

// share sets the boxes of each rank, by the pairs that they visit.
func (g *h2Gradient[T]) share(plan *h2Plan) {
	t, e := plan.tree, g.f.op.engine
	g.runs = append(g.runs[:0], 0, len(t.boxes))
	g.setTasks(plan)
	g.taskRuns = append(g.taskRuns[:0], 0, len(g.tasks))
	if e.Ranks() == 1 {
		return
	}
	pairs := make([]float64, len(t.boxes))
	for i := range pairs {
		id := int32(i)
		for _, j := range plan.far.of(id) {
			if j > id {
				pairs[i] += float64(plan.sides[i].rows) * float64(plan.sides[j].nodes)
			}
		}
		for _, j := range plan.near.of(id) {
			if j >= id {
				pairs[i] += float64(t.boxes[i].size()) * float64(t.boxes[j].size())
			}
		}
	}
	g.runs = runsOf(pairs, e.Ranks())
	costs := make([]float64, len(g.tasks))
	for i := range costs {
		costs[i] = float64(len(g.tasks[i].sets))
	}
	g.taskRuns = runsOf(costs, e.Ranks())
}

// markUsers marks the rank that has box id, and those with boxes of smaller number that are far from it.
func (g *h2Gradient[T]) markUsers(id int32, to []bool) {
	if len(g.f.plan.cubes.of(id)) > 0 { // pairs are shared by their offsets
		for r := range to {
			to[r] = true
		}
		return
	}
	to[rankAt(g.runs, int(id))] = true
	for _, e := range g.f.plan.far.of(id) {
		if e < id {
			to[rankAt(g.runs, int(e))] = true
		}
	}
}
