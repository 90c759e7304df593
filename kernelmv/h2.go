package kernelmv

import (
	"context"
	"math"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// Products below n². With up to three inputs in the distance the far part of K is
// smooth: over a box of points k(·, y) is a polynomial of low degree, to a tolerance,
// for every y that is far enough away. So (Hackbusch and Börm 2002, H² matrices by
// interpolation)
//
//	K ≈ near + Σ over pairs of boxes (A, B)  W_A k(ξ_A, ξ_B) W_B'
//
// with ξ_A the Chebyshev nodes of a box, W_A the values of their Lagrange polynomials at
// its points, and W of a box that of its halves times the polynomials at their nodes.
//
//	symbol    name     shape
//	boxes     h2Tree   a k-d tree; leaves of leafRows points
//	ξ         xn       nodes·dim, per box (a box with more nodes than points takes its points)
//	M = W'V   m        nodes·p, going up the tree
//	L         l        nodes·p, Σ_B k(ξ_A, ξ_B) M_B; W L goes down
//
// Two and three inputs have cubes for boxes: pairs of one size and offset share a matrix (h2cubes.go,
// h2move.go, h2basis.go, h2mirror.go, h2moved.go, h2link.go, h2gradcubes.go; costs: h2work.go). h2tree.go
// has the boxes, h2orders.go how many nodes a side takes, h2ball.go which of a grid
// of nodes three inputs take, h2plan.go which pairs of boxes are near and far, h2transfer.go
// the polynomials and the ways up and down, h2far.go and h2near.go the pairs, h2product.go the
// product, h2grad.go the gradient, h2cross.go products at other rows.
//
// The tolerance tau bounds what one interpolation leaves in an entry (h2orders.go). Boxes within boxes
// leave it once a level, up to some 6 tau s2 in single entries, but |E|₂ <= tau n s2, 0.6 of it with the
// Gaussian, 0.2 with Matérn functions at most, on eight kinds of points (TestH2Error). The diagonal is
// exact. Work and memory are O(n) in two dimensions, and are counted before anything is computed, so
// that the choice between the forms is by counts alone.

// A Form says how products and gradients are computed.
type Form int

// FormDense evaluates every entry; FormH2 approximates the far part wherever at most
// three inputs are in the distance and boxes are far from each other at the tolerance;
// FormAuto does so where that is less work.
const (
	FormDense Form = iota
	FormAuto
	FormH2
)

// MapInputs is the number of inputs up to which K has products below n².
const MapInputs = 3

const (
	h2MaxDim  = MapInputs
	h2Cols    = 16  // columns of V that are taken at once: what the memory is counted for
	h2Share   = 0.8 // of the work of the dense form, below which FormAuto takes the other
	leafRows2 = 96  // points of a leaf for one and two inputs
	leafRows3 = 192 // and for three
)

// h2LeastRows are the rows from which on FormAuto counts pairs at all, by inputs.
var h2LeastRows = [h2MaxDim + 1]int{0, 2000, 4000, 8000}

// h2State is what an Op keeps for its H² form.
type h2State struct {
	form   Form
	tol    [2]float64 // of F32 and F64, in units of s2
	cheb   *chebyshev
	orders [2]*orderTable
	plan   [2]*h2Plan
	dense  [2]bool   // there is none
	trees  []*h2Tree // by units, if they serve every tolerance
	p32    *h2Product[float32]
	p64    *h2Product[float64]
	g32    *h2Gradient[float32]
	g64    *h2Gradient[float64]
	w64    *h2Product[float64] // by the weights of the gradient

	movers32 h2Movers[float32]
	movers64 h2Movers[float64]
}

// SetForm chooses the form of products and gradients in F32 and F64, and the
// tolerances of an entry of K in units of s2 that the H² form keeps there. An Op begins
// with FormDense.
func (o *Op) SetForm(form Form, tol32, tol64 float64) {
	if form != FormDense && !(tol32 > 0 && tol64 > 0) {
		panic("kernelmv: SetForm: tolerances are not positive")
	}
	h := &o.h2
	for prec, tol := range [2]float64{tol32, tol64} {
		if h.tol[prec] != tol || h.form != form {
			h.plan[prec], h.dense[prec] = nil, false
		}
		h.tol[prec] = tol
	}
	h.form = form
}

// Form returns what SetForm chose.
func (o *Op) Form() (form Form, tol32, tol64 float64) { return o.h2.form, o.h2.tol[0], o.h2.tol[1] }

// Work returns what a product in precision p costs, in ordered pairs of points of the
// dense form, and whether it takes the H² form: n² without it, O(n) for the form of one
// input. It returns ctx.Err() if ctx ends first.
func (o *Op) Work(ctx context.Context, p Precision) (pairs float64, h2 bool, err error) {
	n := float64(o.Dim())
	if o.line != nil {
		return n, false, nil
	}
	plan, err := o.h2Plan(ctx, p)
	if err != nil || plan == nil {
		return n * n, false, err
	}
	return plan.work(), true, nil
}

// h2Reset marks everything that depends on the lengthscales as out of date.
func (o *Op) h2Reset() {
	o.h2.plan, o.h2.dense, o.h2.trees = [2]*h2Plan{}, [2]bool{}, nil
}

// h2Plan returns the plan of products in precision p, nil where they are dense.
func (o *Op) h2Plan(ctx context.Context, p Precision) (*h2Plan, error) {
	if p == Coarse {
		p = F32
	}
	h, d, n := &o.h2, len(o.pts.dims), o.Dim()
	switch {
	case h.form == FormDense || o.tilesOnly || o.line != nil || d < 1 || d > h2MaxDim:
		return nil, nil
	case h.form == FormAuto && n < h2LeastRows[d]:
		return nil, nil
	}
	if h.plan[p] == nil && !h.dense[p] {
		if err := o.h2Prepare(ctx, p); err != nil {
			return nil, err
		}
	}
	return h.plan[p], nil
}

// h2Prepare makes the plan: that of least work among some units of cubes, and a k-d tree for one input. There is none
// where FormAuto has less work without, nor for any form where lists would be too long.
func (o *Op) h2Prepare(ctx context.Context, p Precision) error {
	h := &o.h2
	if h.cheb == nil {
		h.cheb = newChebyshev()
	}
	h.orders[p] = h.ordersFor(h.orders[p], o, cubeTol(o.pts.dim)*h.tol[p])
	units := cubeUnits[:]
	if o.pts.dim == 1 {
		units = []float64{0}
	}
	var best *h2Plan
	n := float64(o.Dim())
	most := math.Inf(1)
	if h.form == FormAuto {
		most = h2Share * n * n
	}
	for i, unit := range units {
		tree, err := h.treeOf(ctx, o, i, unit, h.orders[p])
		if err != nil {
			return err
		}
		plan, err := newH2Plan(ctx, tree, h.orders[p], h.tol[p], most)
		if err != nil {
			return err
		}
		if plan != nil && plan.work() < most {
			best, most = plan, plan.work()
		}
	}
	h.plan[p], h.dense[p] = best, best == nil
	return nil
}

// treeOf returns the tree of a unit. Only that of three inputs depends on the tolerance (leafOf).
func (h *h2State) treeOf(ctx context.Context, o *Op, i int, unit float64, orders *orderTable) (*h2Tree, error) {
	if i < len(h.trees) {
		return h.trees[i], nil
	}
	tree, err := newH2Tree(ctx, o, o.pts.x, leafRowsOf(o.pts.dim), unit, orders)
	if err == nil && o.pts.dim < h2MaxDim {
		h.trees = append(h.trees, tree)
	}
	return tree, err
}

// ordersFor returns t if it serves entries to tau, and a new table otherwise.
func (h *h2State) ordersFor(t *orderTable, o *Op, tau float64) *orderTable {
	tol := tau / float64(2*o.pts.dim)
	if o.shortTable() {
		tol *= shortTol
	}
	if t == nil || t.family != o.kernel.Family || t.tol != tol {
		return newOrderTable(o.kernel.Family, tol, h.cheb)
	}
	return t
}

// h2Product32 and h2Product64 return the product for a plan, packed for it, or ctx.Err().
func (o *Op) h2Product32(ctx context.Context, plan *h2Plan) (*h2Product[float32], error) {
	h := &o.h2
	if h.p32 == nil {
		h.p32 = newH2Product(o, &o.engine.Impl.F32)
	}
	return h.p32, h.p32.use(ctx, plan)
}

func (o *Op) h2Product64(ctx context.Context, plan *h2Plan) (*h2Product[float64], error) {
	h := &o.h2
	if h.p64 == nil {
		h.p64 = newH2Product(o, &o.engine.Impl.F64)
	}
	return h.p64, h.p64.use(ctx, plan)
}

// h2GradSums returns the sums of a gradient, nil where they are dense.
func (o *Op) h2GradSums(ctx context.Context, u linalg.Matrix, weight []float64) ([]float64, error) {
	h, prec := &o.h2, o.gradPrecision
	if o.kernel.Family == Matern12 && prec == F32 {
		prec = Coarse // the weights of near rows have no bound
	}
	plan, err := o.h2Plan(ctx, prec)
	switch {
	case err != nil || plan == nil:
		return nil, err
	case prec == F32:
		if h.g32 == nil {
			h.g32 = newH2Gradient(o, &o.engine.Impl.F32)
		}
		return h.g32.sumsOf(ctx, plan, u, weight)
	}
	if h.g64 == nil {
		h.g64 = newH2Gradient(o, &o.engine.Impl.F64)
	}
	return h.g64.sumsOf(ctx, plan, u, weight)
}

// H2Bytes returns what products in precision p take beside the table, 0 where they are
// not of the H² form. It returns ctx.Err() if ctx ends first.
func (o *Op) H2Bytes(ctx context.Context, p Precision) (int64, error) {
	plan, err := o.h2Plan(ctx, p)
	if err != nil || plan == nil {
		return 0, err
	}
	size := 8
	if p == F32 {
		size = 4
	}
	return plan.tree.bytes() + plan.bytes(size), nil
}

// adder adds the elements of src to dst, in float64.
func adder[T asm.Float](im *asm.Impl) func(dst []float64, src []T) {
	if f, ok := any(im.WidenAdd).(func(dst []float64, src []T)); ok {
		return f
	}
	f, _ := any(func(dst, src []float64) { im.F64.Axpy(1, src, dst) }).(func(dst []float64, src []T))
	return f
}
