package kernelmv

import "bbgp.dev/linalg"

// Ranks share the products of form H² out by chunks, and its gradient by boxes: each takes a run of them, of about
// the same counted work. All of them go up the tree, which is a small part of the work; down it each takes its own
// chunks and the boxes above these. The rows of a chunk, and the sums of a box, are computed by one rank as they are by
// one alone, so bits do not depend on the ranks. More ranks than chunks find nothing to do.

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

// share sets the chunks of this rank and the positions of each.
func (f *h2Product[T]) share() {
	t, e := f.plan.tree, f.op.engine
	f.chunks, f.own = t.chunks, [2]int{0, t.n}
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
		var pairs, transferred float64
		for a := id; a < chunk.end; a++ {
			some, entries := p.count(a)
			pairs += some
			transferred += entries
		}
		work[i] = workOf(pairs, transferred, chunk.size())
	}
	return work
}

// share sets the boxes of each rank, by the pairs that they visit.
func (g *h2Gradient[T]) share(plan *h2Plan) {
	t, e := plan.tree, g.f.op.engine
	g.runs = append(g.runs[:0], 0, len(t.boxes))
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
}
