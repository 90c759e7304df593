package kernelmv

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// The matrices between cubes of one size. With t(x) the polynomials of a cube, M = Σ t(x_j) v_j of
// one and L of another, at an offset o of cubes,
//
//	L += F C_o F'M,   F = S^-1 U,   C_o = P k(ξ, ξ + o) P',   P = U'S V^-1
//
// with ξ, V the nodes of the ball (h2ball.go), U the basis of h2basis.go and S = diag(s). Of C_o
// the corner is kept outside which the root of the mean square, an entry of k, is moveTol tau.
// C of an offset with negative parts is that of the positive ones with rows and columns of odd functions
// negated. So cubes at mirrored offsets are added first (h2mirror.go): functions are in classes by
// their parities in the first two inputs.
//
//	symbol   name    shape
//	F'M      z       rank·p, per cube, class by class
//	F        up      panels [rank/width][m][width]
//	F'       down    panels [m/width][rank][width]
//	C_o      moves   by class of its rows panels [rows/width][columns][width], transposed

// An h2Size is what the matrices depend on.
type h2Size struct {
	family asm.Family
	sides  [h2MaxDim]float64
	q      [h2MaxDim]int
	tau    float64
	weight bool
}

// An h2Mover holds the matrices of one size of cubes in T.
type h2Mover[T asm.Float] struct {
	h2Grade
	m, rank  int
	up, down []T
	p        linalg.Matrix      // rank×m
	sign     [1 << h2MaxDim][]T // of functions, by the inputs that are negated
	start    [classes + 1]int   // the first function of a class
	moves    [maxOffsets]h2Corner[T]
	used     offsets
	turn     int // of the last plan that has it
}

// An h2Grade is a size with its nodes.
type h2Grade struct {
	size  h2Size
	nodes []float64 // m·d, from the centre of a cube
	tile  []float64
}

// maxOffsets are the numbers of offsets, signs aside.
const maxOffsets = 1 << (2 * h2MaxDim)

// offsets are some of them.
type offsets [maxOffsets]bool

// An h2Corner is C_o: of a class the first size functions.
type h2Corner[T asm.Float] struct {
	size   [classes]int
	blocks [classes]h2Block[T] // by the class of what they add to
}

// An h2Block are the rows of C_o of one class. Where cubes lie side by side along one of the first
// two inputs, columns of the other parity are 0 and not there.
type h2Block[T asm.Float] struct {
	at     [classes]int // of the columns of a class, -1: none
	depth  int
	panels []T
}

// moveTol is the part of tau that a corner leaves, as the root of a mean square.
const moveTol = 0.02

// sampleTol is the part of that which samples have beside the functions that are looked at.
const sampleTol = 0.3

// slopeShare is what derivatives count beside k: gradients may be rougher.
const slopeShare = 0.2

// sampleNodes are the points of a side at which far cubes are looked at to find a basis, by inputs.
var sampleNodes = [h2MaxDim + 1]int{0, 6, 5, 3}

// newMover makes the mover of cubes with a ball, or returns ctx.Err(). Offsets that nobody has are
// left out.
func newMover[T asm.Float](ctx context.Context, o *Op, b *ball, size h2Size, used *offsets) (*h2Mover[T], error) {
	cheb, e, m, d := o.h2.cheb, o.engine, b.nodes, o.pts.dim
	b.solve(cheb)
	v := &h2Mover[T]{h2Grade: h2Grade{size: size, nodes: size.gridOf(cheb, d, size.q, b.grid)}, m: m, used: *used}
	scale, parity := b.orthonormal()
	inv := linalg.Matrix{Rows: m, Cols: m, Stride: b.cols, Data: b.inv}.Clone() // S V^-1
	for i, s := range scale {
		for j := range inv.Row(i) {
			inv.Row(i)[j] *= s
		}
	}
	samples := v.samples(o, inv)
	u, parities := farBasis(samples, parity, sampleTol*moveTol*size.tau*math.Sqrt(float64(samples.Cols)))
	r := u.Rows
	p, half, c := linalg.NewMatrix(r, m), linalg.NewMatrix(r, m), linalg.NewMatrix(r, r)
	e.GemmTo(p, 1, u, false, inv, false, 0)
	for code, wanted := range used {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if wanted {
			k := v.entries(o, v.shifted(v.nodes, offsetOf(code), d), d, size.weight)
			e.GemmTo(half, 1, p, false, k, false, 0)
			e.GemmTo(c, 1, half, false, p, true, 0)
			settle(c, offsetOf(code), parities)
			size := cornerOf(c, moveTol*v.size.tau)
			v.moves[code] = packCorner[T](c.Sub(0, size, 0, size), parities, offsetOf(code))
			v.rank = max(v.rank, size)
		}
	}
	v.finish(u, p, scale, parities)
	return v, nil
}

// samples returns S V^-1 k(ξ, y) for some points y of the cubes at all offsets, and the same for the
// derivatives of k by the logarithms of the lengthscales at fewer of them.
func (v *h2Mover[T]) samples(o *Op, inv linalg.Matrix) linalg.Matrix {
	d, at := o.pts.dim, 0
	many, few := v.sampled(o, sampleNodes[d]), v.sampled(o, sampleNodes[d]-1)
	values := linalg.NewMatrix(v.m, len(v.used)*(len(many)/d+len(few)))
	for code, wanted := range v.used {
		if !wanted {
			continue
		}
		k := v.entries(o, v.shifted(many, offsetOf(code), d), d, v.size.weight)
		values.Sub(0, v.m, at, at+k.Cols).CopyFrom(k)
		at += k.Cols
		y := v.shifted(few, offsetOf(code), d)
		w := v.entries(o, y, d, true)
		for a := range v.m {
			for b, x := range w.Row(a) {
				for i := range d {
					h := v.nodes[a*d+i] - y[b*d+i]
					values.Set(a, at+b*d+i, slopeShare*x*h*h)
				}
			}
		}
		at += len(few)
	}
	out := linalg.NewMatrix(v.m, at)
	o.engine.GemmTo(out, 1, inv, false, values.Sub(0, v.m, 0, at), false, 0)
	return out
}

// sampled returns a grid of so many nodes a side on a cube.
func (v *h2Mover[T]) sampled(o *Op, count int) []float64 {
	q := [h2MaxDim]int{1, 1, 1}
	for i := range o.pts.dim {
		q[i] = count
	}
	return v.size.gridOf(o.h2.cheb, o.pts.dim, q, nil)
}

// settle makes c what C_o is but for the error of nodes, which do not lie alike on both sides: even and
// odd functions of an input along which two cubes lie side by side do nothing to each other, and
// C_-o = C_o'.
func settle(c linalg.Matrix, at [h2MaxDim]int, parities []int) {
	side := 0 // by side
	for k, o := range at {
		if o == 0 {
			side |= 1 << k
		}
	}
	for i := range c.Rows {
		for j := range i + 1 {
			differ := parities[i] ^ parities[j]
			if differ&side != 0 {
				c.Set(i, j, 0)
				c.Set(j, i, 0)
				continue
			}
			sign := 1.0
			if bits.OnesCount(uint(differ))&1 == 1 {
				sign = -1
			}
			mean := (c.At(i, j) + sign*c.At(j, i)) / 2
			c.Set(i, j, mean)
			c.Set(j, i, sign*mean)
		}
	}
}

// gridOf returns the nodes of a grid of q a side on a cube, or some of them.
func (s *h2Size) gridOf(cheb *chebyshev, d int, q [h2MaxDim]int, some []int) (x []float64) {
	count := q[0] * q[1] * q[2]
	if some != nil {
		count = len(some)
	}
	for a := range count {
		if some != nil {
			a = some[a]
		}
		for i := range d {
			x = append(x, cheb.x[q[i]][a%q[i]]*s.sides[i]/2)
			a /= q[i]
		}
	}
	return x
}

// shifted returns the points y of a cube at an offset.
func (g *h2Grade) shifted(y []float64, at [h2MaxDim]int, d int) []float64 {
	out := slices.Clone(y)
	for i := range out {
		out[i] += float64(at[i%d]) * g.size.sides[i%d]
	}
	return out
}

// entries returns k(ξ, y), or the weights of the gradient, for the nodes and points y, until the next call.
func (g *h2Grade) entries(o *Op, y []float64, d int, weight bool) linalg.Matrix {
	kit, family := &o.engine.Impl.F64, o.kernel.Family
	m, n := len(g.nodes)/d, len(y)/d
	rows, cols := padTo(m, asm.RowUnit), padTo(n, asm.Pad)
	xi, xj := make([]float64, rows*d), make([]float64, cols*d)
	interleave(xi, g.nodes, d, asm.Panel, nil, m, 0, rows)
	interleave(xj, y, d, asm.Block[float64](), nil, n, 0, cols)
	g.tile = grow(g.tile, rows*cols)
	for r := 0; r < rows; r += asm.RowUnit {
		tile := g.tile[r*cols : (r+asm.RowUnit)*cols]
		kit.Radii(family, tile, xi[r*d:(r+asm.RowUnit)*d], xj, d, asm.RowUnit, cols)
		if weight {
			kit.WeightRadii(family, d, tile, asm.RowUnit, cols)
		} else {
			kit.CovRadii(family, d, tile, asm.RowUnit, cols)
		}
	}
	return linalg.Matrix{Rows: m, Cols: n, Stride: cols, Data: g.tile}
}

// codeOf returns the number of an offset, its signs aside, and these.
func codeOf(at [h2MaxDim]int) (code, signs int) {
	for k, o := range at {
		if o < 0 {
			signs |= 1 << k
			o = -o
		}
		code |= o << (2 * k)
	}
	return code, signs
}

func offsetOf(code int) (at [h2MaxDim]int) {
	for k := range at {
		at[k] = code >> (2 * k) & 3
	}
	return at
}

// cornerOf returns the size of the least corner of c outside which the squares of c add up to tol².
func cornerOf(c linalg.Matrix, tol float64) (size int) {
	outside := make([]float64, c.Rows+1) // squares with the larger index there
	for i := range c.Rows {
		for j, v := range c.Row(i) {
			outside[max(i, j)] += v * v
		}
	}
	sum := 0.0
	for size = c.Rows; size > 1 && sum+outside[size-1] <= tol*tol; {
		size--
		sum += outside[size]
	}
	return size
}

// panelsOf packs a matrix with so many rows and columns in panels [cols/width][rows][width].
func panelsOf[T asm.Float](rows, cols int, at func(i, j int) float64) []T {
	width := asm.GemmWidth[T]()
	panels := make([]T, rows*padTo(cols, width))
	for j := range cols {
		for i := range rows {
			panels[j/width*rows*width+i*width+j%width] = T(at(i, j))
		}
	}
	return panels
}

// finish puts the functions in classes, given rows of U', S and P.
func (v *h2Mover[T]) finish(u, p linalg.Matrix, s []float64, parities []int) {
	var order []int
	for class := range classes {
		v.start[class] = len(order)
		order = append(order, ofClass(class, parities[:v.rank])...)
	}
	v.start[classes] = v.rank
	v.p = linalg.NewMatrix(v.rank, v.m)
	for i, from := range order {
		copy(v.p.Row(i), p.Row(from))
		for signs := range v.sign {
			v.sign[signs] = append(v.sign[signs], T(1-bits.OnesCount(uint(signs&parities[from]))&1*2))
		}
	}
	v.up = panelsOf[T](v.m, v.rank, func(a, i int) float64 { return u.At(order[i], a) / s[a] })
	v.down = panelsOf[T](v.rank, v.m, func(i, a int) float64 { return u.At(order[i], a) / s[a] })
}

// tauOf returns the tolerance of an entry.
func (p *h2Plan) tauOf() float64 { return p.orders.tol * float64(2*p.tree.dim) / cubeTol(p.tree.dim) }

// sizeOf returns what the matrices of box id depend on.
func (p *h2Plan) sizeOf(id int32, weight bool) h2Size {
	b := &p.tree.boxes[id]
	return h2Size{0, p.tree.grid.sides(b.cube, p.tree.dim), p.sides[id].q, p.tauOf(), weight}
}

// usedOffsets returns the offsets that boxes of each level have partners at.
func (p *h2Plan) usedOffsets() map[int16]*offsets {
	used := map[int16]*offsets{}
	for i := range p.sides {
		id := int32(i)
		for _, j := range p.cubes.of(id) {
			level := p.tree.boxes[id].cube
			if used[level] == nil {
				used[level] = &offsets{}
			}
			at, _ := p.tree.offset(id, j)
			code, _ := codeOf(at)
			used[level][code] = true
		}
	}
	return used
}

// h2Movers are the movers that products and gradients share: those of the last few plans.
type h2Movers[T asm.Float] struct {
	made map[h2Size]*h2Mover[T]
	turn int
}

// keptMovers is how many plans back movers are kept: an evaluation has products with two tolerances and a
// gradient.
const keptMovers = 3

// moversOf returns those of T.
func moversOf[T asm.Float](h *h2State) *h2Movers[T] {
	m, ok := any(&h.movers32).(*h2Movers[T])
	if !ok {
		m, _ = any(&h.movers64).(*h2Movers[T])
	}
	return m
}

// setMovers makes the matrices of the plan, but for those that there are, or returns ctx.Err().
func (f *h2Product[T]) setMovers(ctx context.Context) error {
	all := moversOf[T](&f.op.h2)
	if all.made == nil {
		all.made = map[h2Size]*h2Mover[T]{}
	}
	all.turn++
	f.movers = map[int16]*h2Mover[T]{}
	for level, used := range f.plan.usedOffsets() {
		var id int32
		for _, g := range f.plan.groups {
			if f.plan.tree.boxes[g[0]].cube == level {
				id = g[0]
			}
		}
		size := f.plan.sizeOf(id, f.weight)
		size.family = f.op.kernel.Family
		mover := all.made[size]
		if mover == nil || mover.used != *used {
			var err error
			if mover, err = newMover[T](ctx, f.op, f.plan.sides[id].ball, size, used); err != nil {
				return err
			}
		}
		mover.turn = all.turn
		all.made[size], f.movers[level] = mover, mover
	}
	for size, mover := range all.made {
		if mover.turn < all.turn-keptMovers {
			delete(all.made, size)
		}
	}
	return nil
}
