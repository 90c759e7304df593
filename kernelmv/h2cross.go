package kernelmv

import (
	"context"
	"math"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// Products at other rows than those of the table: the columns go up their tree once, and
// come down that of the rows asked for, which has leaves in proportion.

// A Source is K(·, X) v for one v (n×p), to be evaluated at any rows. It is good until the
// operator or v change.
type Source struct {
	op   *Op
	v    linalg.Matrix
	tol  float64
	f    *h2Product[float64] // nil: dense
	rows *h2Product[float64]
}

// crossRowsLeast is the number of rows from which on a tree of them is tried.
const crossRowsLeast = 48

// NewSource prepares products with v to tol, in units of s2, of an entry of K. Where the
// form below n² does not exist or v is short they are dense. It returns ctx.Err() if ctx
// ends first.
func (o *Op) NewSource(ctx context.Context, v linalg.Matrix, tol float64) (*Source, error) {
	checkCall(ctx, v)
	s, d := &Source{op: o, v: v, tol: tol}, o.pts.dim
	if v.Rows != o.Dim() {
		panic("kernelmv: NewSource: bad shapes")
	}
	if o.tilesOnly || d < 1 || d > h2MaxDim || o.Dim() < h2LeastRows[d] || !(tol > 0) || v.Cols == 0 {
		return s, ctx.Err()
	}
	h := &o.h2
	if h.cheb == nil {
		h.cheb = newChebyshev()
	}
	tree, err := newH2Tree(ctx, o, o.pts.x, leafRowsOf(d), 0, nil)
	if err != nil {
		return nil, err
	}
	plan := sidesOf(tree, h.ordersFor(nil, o, tol), tol)
	plan.settle()
	s.f, s.rows = newH2Product(o, &o.engine.Impl.F64), newH2Product(o, &o.engine.Impl.F64)
	f := s.f
	f.whole, s.rows.whole = true, true // rows may be anywhere, and go down only
	if err := f.use(ctx, plan); err != nil {
		return nil, err
	}
	f.ctx, f.src = ctx, v
	f.layOut(v.Cols)
	f.setScale()
	o.engine.Par.For((tree.padded+crossCols-1)/crossCols, f.packBody)
	f.upward()
	f.ctx, f.src, f.vi, f.l, f.scratch = nil, linalg.Matrix{}, nil, nil, nil
	s.rows.from, s.rows.p, s.rows.factor = f, f.p, f.factor
	return s, ctx.Err()
}

// MulTo sets dst = K(X*, X) v for rows xs (m×D). It fails for inputs that are not finite,
// and with ctx.Err().
func (s *Source) MulTo(ctx context.Context, dst, xs linalg.Matrix) error {
	o := s.op
	checkCall(ctx, dst, xs)
	if dst.Rows != xs.Rows || dst.Cols != s.v.Cols {
		panic("kernelmv: Source: bad shapes")
	}
	left, err := o.testRows(xs)
	if err != nil {
		return err
	}
	plan, err := s.plan(ctx, left.x)
	switch {
	case err != nil:
		return err
	case plan == nil:
		prec := o.precision
		defer o.SetPrecision(prec)
		o.SetPrecision(F64)
		return o.CrossMulTo(ctx, dst, xs, s.v)
	}
	f := s.rows
	if err := f.use(ctx, plan); err != nil {
		return err
	}
	f.ctx, f.dst = ctx, dst
	f.l = grow(f.l, plan.slots*f.p)
	clear(f.l)
	f.meet()
	f.ctx, f.dst = nil, linalg.Matrix{}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.complete(dst)
	return ctx.Err()
}

// plan returns the plan for rows at x, nil where the dense form is less work.
func (s *Source) plan(ctx context.Context, x []float64) (*h2Plan, error) {
	d := s.op.pts.dim
	if s.f == nil || len(x) < crossRowsLeast*d {
		return nil, ctx.Err()
	}
	from, m := s.f.plan, len(x)/d
	// Few rows lie wide apart: leaves as large as those of the table would be near everything.
	leaf := from.tree.leafRows * min(m, from.tree.n) / from.tree.n / asm.RowUnit * asm.RowUnit
	tree, err := newH2Tree(ctx, s.op, x, max(leaf, asm.RowUnit), 0, nil)
	if err != nil {
		return nil, err
	}
	plan := sidesOf(tree, from.orders, s.tol)
	// In pairs of a dense product of four columns in float64: n = 2e4 and 1e5, m = 1000 to n.
	const pair, transfer, row = 1.2, 10, 1000
	most := h2Share * float64(m) * float64(from.tree.n)
	plan.from, plan.most = from, most/pair
	plan.meet(ctx, 0, 0)
	if plan.stopped || plan.tooMuch || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	plan.settle()
	if pair*plan.pairs+transfer*plan.transferred+row*float64(m) > most {
		return nil, nil
	}
	return plan, nil
}

// crossRounding is what sums of float64 do to polynomials of many nodes, an entry.
const crossRounding = 1e-14

// Error bounds what the form may do to a column of a product: tol s2 Σ|v|, and rounding.
func (s *Source) Error(column int) float64 {
	if s.f == nil {
		return 0
	}
	sum := 0.0
	for i := range s.v.Rows {
		sum += math.Abs(s.v.At(i, column))
	}
	return (s.tol + crossRounding) * s.op.kernel.Variance * sum
}
