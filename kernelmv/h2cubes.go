package kernelmv

import "math"

// Cubes. Boxes that are cubes of one grid lie to each other in few ways: so the far part of K is
// the same matrix for all pairs of cubes of a size with the same offset (h2move.go). The cubes
// of level e have sides of unit·2^e, each is cut into those of level e-1 that hold points, and a cube
// whose points are all in one of these is that one. Where the table is thinner than a cube, so is
// the cube.
//
// Corners are multiples of numbers with few digits, so that offsets are exact.

// An h2Grid is where the cubes of a tree are.
type h2Grid struct {
	unit   float64
	origin [h2MaxDim]float64
	thin   [h2MaxDim]float64 // sides of the table
}

// side returns the side of the cubes of level e.
func (g *h2Grid) side(e int16) float64 { return math.Ldexp(g.unit, int(e)) }

// sides returns it by inputs, no longer than the table.
func (g *h2Grid) sides(e int16, d int) (s [h2MaxDim]float64) {
	for k := range d {
		s[k] = min(g.side(e), g.thin[k])
	}
	return s
}

// offset returns where cube j is, seen from cube i of the same level, in cubes, and whether that is
// two or three of them along some side and no more along any.
func (t *h2Tree) offset(i, j int32) (at [h2MaxDim]int, far bool) {
	a, b := &t.boxes[i], &t.boxes[j]
	side, most := t.grid.side(a.cube), 0.0
	for k := range t.dim {
		o := (b.lo[k] - a.lo[k]) / side
		at[k], most = int(o), max(most, math.Abs(o))
	}
	return at, most >= 2 && most <= maxOffset
}

// maxOffset is the largest offset of cubes within neighbours.
const maxOffset = 3

// group makes the groups of boxes that are far from others as cubes.
func (p *h2Plan) group() {
	at := map[[2]int32]int{}
	for i := range p.sides {
		id := int32(i)
		if len(p.cubes.of(id)) == 0 {
			continue
		}
		b := &p.tree.boxes[id]
		above := id
		for range 2 {
			if up := p.tree.boxes[above].parent; up >= 0 {
				above = up
			}
		}
		key := [2]int32{above, int32(b.cube)}
		g, ok := at[key]
		if !ok {
			g = len(p.groups)
			at[key] = g
			p.groups = append(p.groups, nil)
		}
		p.groups[g] = append(p.groups[g], id)
	}
}

const (
	// leastSide is the side of cubes that are not cut into smaller ones, in scaled units: k hardly
	// changes there.
	leastSide = 1.0 / (1 << 14)
	// gridDigits is how much finer corners may be than the largest coordinate, in bits.
	gridDigits = 40
)

const (
	leafCubes = 128 // points of a cube that is not cut, at most
	cutPoints = 1.2 // in three inputs, of these to a polynomial
)

// cubeUnits are the units that are tried.
var cubeUnits = [...]float64{1, 1.25, 1.5}

// cutCubes makes the tree.
func (c *h2Cutter) cutCubes(unit float64) {
	t := c.tree
	g := &t.grid
	g.unit = unit
	all := h2Box{to: t.n, parent: -1}
	c.tight(&all)
	largest, longest := 0.0, 0.0
	for k := range t.dim {
		largest = max(largest, math.Abs(all.lo[k]), math.Abs(all.hi[k]))
		longest = max(longest, all.hi[k]-all.lo[k])
	}
	finest := math.Exp2(math.Ceil(math.Log2(max(largest, leastSide))) - gridDigits)
	for k := range t.dim {
		g.origin[k] = math.Floor(all.lo[k]/finest) * finest
		g.thin[k] = (math.Floor((all.hi[k]-g.origin[k])/finest) + 1) * finest
	}
	c.floor = int(math.Ceil(math.Log2(max(leastSide, 8*finest) / unit)))
	top := max(int(math.Ceil(math.Log2(longest/unit)))+1, c.floor)
	c.parts, c.points = make([]int32, t.n), make([]float64, t.n*t.dim)
	c.cutCube(h2Box{to: t.n, parent: -1, lo: g.origin, cube: int16(top)}, 0)
}

// cutCube makes box b, a cube whose lower corner is known, or a smaller one of its points, and
// those below.
func (c *h2Cutter) cutCube(b h2Box, depth int) {
	t := c.tree
	switch {
	case c.ctx.Err() != nil:
		return
	case b.size() > c.leafOf(b.cube) && !c.shrink(&b):
		c.cut(b.from, b.to, b.parent, depth)
		return
	}
	for k, s := range t.grid.sides(b.cube, t.dim) {
		b.hi[k] = b.lo[k] + s
	}
	id := c.add(b, depth)
	if b.size() > c.leafOf(b.cube) {
		c.cutParts(b, id, depth)
		t.boxes[id].end = int32(len(t.boxes))
	}
}

// leafOf returns how many points a cube of level e may have that is not cut. In three inputs what
// cubes take from each other is more work below some number of points to a polynomial.
func (c *h2Cutter) leafOf(e int16) int {
	d := c.tree.dim
	if d < h2MaxDim {
		return leafCubes
	}
	rows, ok := c.leaves[e]
	if ok {
		return rows
	}
	rows = leafCubes
	if ball := c.orders.ballFor(c.tree.grid.sides(e, d), d); ball != nil {
		rows = max(rows, int(cutPoints*float64(ball.nodes)))
	}
	c.leaves[e] = rows
	return rows
}

// ballFor returns the ball of cubes with such sides, nil if it would be too large.
func (t *orderTable) ballFor(sides [h2MaxDim]float64, d int) *ball {
	q, longest := [h2MaxDim]int{1, 1, 1}, max(sides[0], sides[1], sides[2])
	for k := range d {
		if q[k] = t.at(sides[k], longest); q[k] > maxOrder {
			return nil
		}
	}
	if ball := t.cheb.ballOf(q); ball.nodes <= ballMost {
		return ball
	}
	return nil
}

// shrink makes b the smallest cube that holds its points, and tells whether that can be cut.
func (c *h2Cutter) shrink(b *h2Box) bool {
	t := c.tree
	points := h2Box{from: b.from, to: b.to}
	c.tight(&points)
	if points.lo == points.hi {
		return false
	}
	for int(b.cube) > c.floor {
		half, in := t.grid.side(b.cube-1), b.lo
		for k := range t.dim {
			switch mid := b.lo[k] + half; {
			case points.lo[k] >= mid:
				in[k] = mid
			case points.hi[k] >= mid:
				return true
			}
		}
		b.lo = in
		b.cube--
	}
	return false
}

// cutParts puts the points of cube b in the order of the cubes that it is cut into, and makes
// these.
func (c *h2Cutter) cutParts(b h2Box, id int32, depth int) {
	t, d, half := c.tree, c.tree.dim, c.tree.grid.side(b.cube-1)
	part := func(x []float64) (bits int) {
		for k, v := range x {
			if v >= b.lo[k]+half {
				bits |= 1 << k
			}
		}
		return bits
	}
	order, points := t.order[b.from:b.to], t.x[b.from*d:b.to*d]
	rows, copied := c.parts[:len(order)], c.points[:len(points)]
	copy(rows, order)
	copy(copied, points)
	var start [1<<h2MaxDim + 1]int
	for q := range rows {
		start[part(copied[q*d:(q+1)*d])+1]++
	}
	for i := range 1 << h2MaxDim {
		start[i+1] += start[i]
	}
	next := start
	for q, p := range rows {
		x := copied[q*d : (q+1)*d]
		i := part(x)
		order[next[i]] = p
		copy(points[next[i]*d:], x)
		next[i]++
	}
	for i := range 1 << h2MaxDim {
		if start[i] == start[i+1] {
			continue
		}
		child := h2Box{from: b.from + start[i], to: b.from + start[i+1], parent: id, lo: b.lo, cube: b.cube - 1}
		for k := range t.dim {
			if i>>k&1 == 1 {
				child.lo[k] += half
			}
		}
		c.cutCube(child, depth+1)
	}
}
