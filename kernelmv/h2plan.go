package kernelmv

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/asm"
)

// negligible is the part of the tolerance below which k at the gap of two boxes is left
// out.
const negligible = 1e-2

// An h2Side is a box in an h2Plan.
type h2Side struct {
	q          [h2MaxDim]int // nodes along its sides
	nodes      int           // those of the ball or grid, or the points
	points     bool          // its points serve as nodes
	ball       *ball         // of its polynomials; nil: all of the grid
	cube       bool          // it has coefficients of polynomials instead of their values at nodes,
	moves      bool          // which others of its level may take
	active     bool          // it or a box above it is far from another one
	rows       int           // nodes, padded to whole rows of tiles
	slot, spot int           // of its first node and coefficient, -1 where it has no such values
}

// An h2Plan says for one tolerance which nodes every box has and which pairs of boxes
// are far, as cubes or otherwise, and which near. The lists are symmetric, and a leaf is near
// itself.
type h2Plan struct {
	tree             *h2Tree
	orders           *orderTable
	skip             float64 // k below this is left out
	sides            []h2Side
	slots, spots     int       // nodes and coefficients of all active boxes, padded
	xn               []float64 // slots × dim, padding repeats the last node
	far, near, cubes pairLists
	groups           [][]int32 // boxes far as cubes: those of a level within one box
	pairs            float64   // ordered pairs of points or nodes, of far and near
	moved            float64   // entries of the matrices of pairs of cubes
	transferred      float64   // entries of the matrices of polynomials
	made             float64   // products of numbers that the matrices of cubes are made by,
	kept             float64   // and numbers that they are

	from *h2Plan // of the columns: this one, or another tree's

	found   [3][][2]int32 // far, near, cubes, while the lists are made
	met     float64       // of these, in pairs of points,
	most    float64       // and beyond how many nobody wants the plan
	looks   int
	stopped bool // by the context
	tooMuch bool // or beyond most, or with lists too long
}

// A pairLists holds for every box the sorted numbers of its partners.
type pairLists struct {
	start []int32
	other []int32
}

func (l *pairLists) of(id int32) []int32 { return l.other[l.start[id]:l.start[id+1]] }

// set makes the lists of so many boxes from pairs, each of which stands for both orders
// if both is set.
func (l *pairLists) set(boxes int, pairs [][2]int32, both bool) {
	l.start = make([]int32, boxes+2)
	for _, p := range pairs {
		l.start[p[0]+2]++
		if both && p[0] != p[1] {
			l.start[p[1]+2]++
		}
	}
	for i := 2; i < len(l.start); i++ {
		l.start[i] += l.start[i-1]
	}
	l.other = make([]int32, l.start[boxes+1])
	put := func(a, b int32) {
		l.other[l.start[a+1]] = b
		l.start[a+1]++
	}
	for _, p := range pairs {
		put(p[0], p[1])
		if both && p[0] != p[1] {
			put(p[1], p[0])
		}
	}
	l.start = l.start[:boxes+1]
	for id := range boxes {
		slices.Sort(l.of(int32(id)))
	}
}

// newH2Plan makes the plan for a tolerance tau. It is nil where its work is above most, and where its lists would be
// too long; or newH2Plan returns ctx.Err().
func newH2Plan(ctx context.Context, t *h2Tree, orders *orderTable, tau, most float64) (*h2Plan, error) {
	p := sidesOf(t, orders, tau)
	p.from, p.most = p, most/pairWork
	for p.meet(ctx, 0, 0); p.leaveLevels(); p.meet(ctx, 0, 0) {
		p.found, p.met = [3][][2]int32{}, 0
	}
	if p.stopped || p.tooMuch || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	p.settle()
	return p, nil
}

// listRoom is how many pairs of boxes lists may have for the points of rows and columns: a hundred times what they have
// where boxes are far from most others. Where none are far at a tolerance, all leaves are near each other: a million
// points in three inputs had 44,000 leaves at 2e-9, and lists of 16 GB.
func listRoom(points int) int { return 1<<20 + 2*points }

// find puts a pair of boxes into a list: what it costs is so many pairs of points.
func (p *h2Plan) find(list int, i, j int32, pairs float64) {
	p.found[list] = append(p.found[list], [2]int32{i, j})
	if p.from == p && i != j {
		pairs *= 2
	}
	p.met += pairs
	p.tooMuch = p.met > p.most || len(p.found[list]) > listRoom(p.tree.n+p.from.tree.n)
}

// leaveLevels takes the matrices from cubes of levels that have too few pairs for them, and tells
// whether there were such levels.
func (p *h2Plan) leaveLevels() (left bool) {
	pairs := map[int16]int{}
	for _, pair := range p.found[2] {
		pairs[p.tree.boxes[pair[0]].cube]++
	}
	for i := range p.sides {
		s, e := &p.sides[i], p.tree.boxes[i].cube
		if count := pairs[e]; s.moves && count > 0 && count < s.nodes/2 {
			s.moves, left = false, true
		}
	}
	return left
}

// sidesOf returns a plan that knows the nodes of the boxes, but no pairs.
func sidesOf(t *h2Tree, orders *orderTable, tau float64) *h2Plan {
	p := &h2Plan{tree: t, orders: orders, skip: negligible * tau, sides: make([]h2Side, len(t.boxes))}
	for i := range p.sides {
		p.setSide(&t.boxes[i], &p.sides[i])
	}
	return p
}

// settle makes the lists of the pairs found, and the nodes of boxes that need some.
func (p *h2Plan) settle() {
	boxes := len(p.sides)
	for i, list := range []*pairLists{&p.far, &p.near, &p.cubes} {
		list.set(boxes, p.found[i], p.from == p)
		p.found[i] = nil
	}
	p.layOut()
	p.setNodes()
	p.group()
	p.countMovers()
}

// farRows3 is the number of rows from which on boxes of three inputs are far at wideGap3 of their
// longest side instead of one side: pairs of far boxes are the larger part of the work there. By
// counts, one and 1.5 sides: n = 1e5 73 and 83 thousand a row, 3e5 134 and 117, 1e6 212 and 159;
// two sides 188.
const farRows3, wideGap3 = 150000, 1.5

// setSide chooses the nodes of a box: what it needs at a gap of its longest side.
func (p *h2Plan) setSide(b *h2Box, s *h2Side) {
	d, longest := p.tree.dim, 0.0
	for k := range d {
		longest = max(longest, b.hi[k]-b.lo[k])
	}
	cube, served := b.cube != noCube, true
	if !cube && d == h2MaxDim && p.tree.n >= farRows3 {
		longest *= wideGap3
	}
	s.nodes, s.q = 1, [h2MaxDim]int{1, 1, 1}
	for k := range d {
		order := p.orders.at(b.hi[k]-b.lo[k], longest)
		served = served && order <= maxOrder
		s.q[k] = min(order, maxOrder)
		s.nodes *= s.q[k]
	}
	if cube || d == h2MaxDim && s.nodes <= ballGrid {
		if ball := p.orders.cheb.ballOf(s.q); cube || ball.nodes < s.nodes {
			s.ball, s.nodes = ball, ball.nodes
		}
	}
	served = served && s.nodes <= ballMost
	if b.leaf() {
		s.points = s.nodes >= b.size()
		if cube {
			s.points = !served || float64(b.size()) < cubePoints*float64(s.nodes)
		}
	}
	if s.points {
		s.nodes, s.ball = b.size(), nil
	}
	s.cube = cube && !s.points
	s.moves = s.cube && served
}

// fits tells whether box i has nodes enough for a gap g.
func (p *h2Plan) fits(i int32, g float64) bool {
	b, s := &p.tree.boxes[i], &p.sides[i]
	if s.points {
		return true
	}
	if s.cube && s.nodes > ballMost {
		return false
	}
	for k := range p.tree.dim {
		if p.orders.at(b.hi[k]-b.lo[k], g) > s.q[k] {
			return false
		}
	}
	return true
}

// gap returns the distance of two boxes and their longest sides.
func (t *h2Tree) gap(a, b *h2Box) (gap, sideA, sideB float64) {
	for k := range t.dim {
		s := max(a.lo[k]-b.hi[k], b.lo[k]-a.hi[k], 0)
		gap += s * s
		sideA, sideB = max(sideA, a.hi[k]-a.lo[k]), max(sideB, b.hi[k]-b.lo[k])
	}
	return math.Sqrt(gap), sideA, sideB
}

// meet puts the pair of box i and box j of from, i <= j where that is the same tree, into a
// list, or those of their halves.
func (p *h2Plan) meet(ctx context.Context, i, j int32) {
	if p.looks++; p.looks%4096 == 0 {
		p.stopped = p.stopped || ctx.Err() != nil
	}
	if p.stopped || p.tooMuch {
		return
	}
	a, b := &p.tree.boxes[i], &p.from.tree.boxes[j]
	if i == j && p.from == p {
		if a.leaf() {
			p.find(1, i, i, float64(a.size()*a.size()))
			return
		}
		p.meetBelow(ctx, i, i)
		return
	}
	gap, sideA, sideB := p.tree.gap(a, b)
	c := p.orders.family.Scale()
	switch nodes := p.sides[i].nodes * p.from.sides[j].nodes; {
	case unitCov(p.orders.family, gap*gap/(c*c)) < p.skip:
	case p.move(i, j):
		p.find(2, i, j, moveWork/pairWork*movedOf(p.sides[i].nodes))
	case nodes < a.size()*b.size() && p.fits(i, gap) && p.from.fits(j, gap):
		p.find(0, i, j, float64(nodes))
	case a.leaf() && b.leaf():
		p.find(1, i, j, float64(a.size()*b.size()))
	case !a.leaf() && !b.leaf() && a.cube == b.cube && a.cube != noCube:
		p.meetBelow(ctx, i, j)
	case b.leaf() || !a.leaf() && sideA >= sideB:
		p.tree.each(i, func(e int32) { p.meet(ctx, e, j) })
	default:
		p.from.tree.each(j, func(e int32) { p.meet(ctx, i, e) })
	}
}

// meetBelow is meet for all boxes right below i and those right below j, each pair once.
func (p *h2Plan) meetBelow(ctx context.Context, i, j int32) {
	p.tree.each(i, func(a int32) {
		p.from.tree.each(j, func(b int32) {
			if i != j || a <= b {
				p.meet(ctx, a, b)
			}
		})
	})
}

// move tells whether boxes i and j of one tree are far as cubes: of the same level, a cube or two
// apart, with more points than what the matrix takes.
func (p *h2Plan) move(i, j int32) bool {
	if p.from != p {
		return false
	}
	a, b := &p.sides[i], &p.sides[j]
	if !a.moves || !b.moves || p.tree.boxes[i].cube != p.tree.boxes[j].cube {
		return false
	}
	_, ok := p.tree.offset(i, j)
	return ok && moveWork*movedOf(a.nodes) < 2*float64(p.tree.boxes[i].size())*float64(p.tree.boxes[j].size())
}

// layOut gives the active boxes their places and counts.
func (p *h2Plan) layOut() {
	for i := range p.sides {
		s, b := &p.sides[i], &p.tree.boxes[i]
		far := p.from == nil || len(p.far.of(int32(i))) > 0
		s.active = far || len(p.cubes.of(int32(i))) > 0 || b.parent >= 0 && p.sides[b.parent].active
		s.rows, s.slot, s.spot = padTo(s.nodes, asm.RowUnit), -1, -1
		if s.active && (far || !s.cube) {
			s.slot = p.slots
			p.slots += s.rows
		}
		if s.active && s.cube {
			s.spot = p.spots
			p.spots += s.rows
		}
		pairs, moved, transferred := p.count(int32(i))
		p.pairs += pairs
		p.moved += moved
		p.transferred += transferred
	}
}

// count returns the pairs of box id, and the entries of its matrices of cubes and of polynomials.
func (p *h2Plan) count(id int32) (pairs, moved, transferred float64) {
	s, b := &p.sides[id], &p.tree.boxes[id]
	for _, j := range p.far.of(id) {
		pairs += float64(s.rows) * float64(p.from.sides[j].nodes)
	}
	for _, j := range p.near.of(id) {
		pairs += float64(b.size()) * float64(p.from.tree.boxes[j].size())
	}
	moved = movedOf(s.nodes) * float64(len(p.cubes.of(id)))
	switch {
	case !s.active || s.points:
	case b.leaf():
		transferred = float64(b.size() * s.nodes)
	default:
		p.tree.each(id, func(e int32) {
			entries := float64(p.sides[e].nodes * s.nodes)
			if p.sides[e].cube {
				moved += entries / 2
			} else {
				transferred += entries
			}
		})
	}
	return pairs, moved, transferred
}

// setNodes fills xn.
func (p *h2Plan) setNodes() {
	d := p.tree.dim
	p.xn = make([]float64, p.slots*d)
	for i := range p.sides {
		s, b := &p.sides[i], &p.tree.boxes[i]
		if s.slot < 0 {
			continue
		}
		if s.ball != nil {
			s.ball.solve(p.orders.cheb)
		}
		for a := range s.rows {
			out, m := p.xn[(s.slot+a)*d:][:d], min(a, s.nodes-1)
			if s.points {
				copy(out, p.tree.x[(b.from+m)*d:])
				continue
			}
			if s.ball != nil {
				m = s.ball.grid[m]
			}
			for k := range d {
				x := p.orders.cheb.x[s.q[k]][m%s.q[k]]
				m /= s.q[k]
				out[k] = b.centre(k) + (b.hi[k]-b.lo[k])/2*x
			}
		}
	}
}

// bytes returns what plan, packed points and a product of h2Cols columns take beside the
// work areas, which are small, for tiles whose elements have so many bytes.
func (p *h2Plan) bytes(size int) int64 {
	d, t := p.tree.dim, p.tree
	lists := 4*(len(p.far.other)+len(p.near.other)+len(p.cubes.other)) + 112*len(p.sides)
	points := t.padded * (2*d*size + 2*h2Cols*size)
	nodes := p.slots*(8*d+h2Cols*(size+8)) + p.spots*h2Cols*(2*size+8) + int(p.kept)*size
	return int64(lists + points + nodes)
}
