package dissect

import "slices"

// makeFronts finds the fronts: what cliques join to the points of a node behind it, and what is left of the fronts of
// the nodes below it.
func (t *Tree) makeFronts() {
	nodeAt := make([]int32, t.m)
	for id := range t.nodes {
		for q := t.nodes[id].from; q < t.nodes[id].to; q++ {
			nodeAt[q] = int32(id)
		}
	}
	for c := range len(t.cliques) / t.width {
		n := &t.nodes[nodeAt[slices.Min(t.Clique(c))]]
		n.cliques = append(n.cliques, int32(c))
	}
	place, seen := make([]int32, t.m), make([]int32, t.m)
	for id := range t.nodes {
		n := &t.nodes[id]
		join := func(q int32) {
			if int(q) >= n.to && seen[q] != int32(id)+1 {
				seen[q] = int32(id) + 1
				n.front = append(n.front, q)
			}
		}
		for _, c := range n.cliques {
			for _, q := range t.Clique(int(c)) {
				join(q)
			}
		}
		for _, kid := range n.kids {
			for _, q := range t.nodes[kid].front {
				join(q)
			}
		}
		slices.Sort(n.front)
		n.places(place)
		for _, kid := range n.kids {
			k := &t.nodes[kid]
			k.into = make([]int32, len(k.front))
			for i, q := range k.front {
				k.into[i] = place[q]
			}
		}
		t.most = max(t.most, n.size())
	}
}

// places writes to place, of each position, where it is among those of the node and its front.
func (n *node) places(place []int32) {
	for q := n.from; q < n.to; q++ {
		place[q] = int32(q - n.from)
	}
	for i, q := range n.front {
		place[q] = int32(n.own() + i)
	}
}

// taskShare: a subtree of a taskShare-th of the points is what one worker does at a time.
const taskShare = 32

// makeTasks finds the largest subtrees of few enough points; the nodes above are tops.
func (t *Tree) makeTasks() {
	points := func(id int) int { return t.nodes[id].to - t.nodes[t.nodes[id].first].from }
	for id := len(t.nodes) - 1; id >= 0; id-- {
		if points(id) > t.m/taskShare && len(t.nodes[id].kids) > 0 {
			t.tops = append(t.tops, id)
			continue
		}
		t.tasks = append(t.tasks, [2]int{t.nodes[id].first, id + 1})
		id = t.nodes[id].first
	}
	slices.Reverse(t.tops)
}

// Entries is the number of entries of a factor: of triangles and what stands below.
func (t *Tree) Entries() int64 {
	s := int64(0)
	for i := range t.nodes {
		j, a := int64(t.nodes[i].own()), int64(len(t.nodes[i].front))
		s += j*(j+1)/2 + j*a
	}
	return s
}
