package kernelmv

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/linalg"
)

// A Precision is the element type of the tiles.
type Precision int

// F32 keeps coordinates, tiles and V in float32 and sums over more than 48
// points in float64; an entry of K is off by at most 6e-7 s2. F64 keeps
// everything in float64.
const (
	F32 Precision = iota
	F64
	// Coarse has the tiles of F64, and in form H2 the tolerance of F32.
	Coarse
)

// String returns "f32" or "f64".
func (p Precision) String() string {
	if p != F32 {
		return "f64"
	}
	return "f32"
}

// An Op is the operator K̂ = K + diag(noise). Its points are fixed; Reset
// changes its parameters. One computation uses an Op at a time.
type Op struct {
	engine *linalg.Engine
	kernel Kernel
	noise  []float64
	pts    *points
	sched  *schedule

	order     []int32 // position -> row; nil: rows in their own order
	sorted    []int32 // memory for order
	unsorted  bool    // order is to be made when it is first asked for
	tilesOnly bool

	precision, gradPrecision Precision
	gradSlack                float64
	gram                     []float64 // R×R, of a form
	f32, f64, coarse         view
	p32                      *product[float32]
	p64                      *product[float64]
	g32                      *gradient[float32]
	g64                      *gradient[float64]
	line                     *line // the O(n) form, if there is one now
	lineMemory               *line
	c32                      *crossProduct[float32]
	c64                      *crossProduct[float64]
	blocks                   []gathered // one per worker
	h2                       h2State
}

// NewOp returns the operator K̂ of the rows of x (n×D), in precision F64 and on
// e. x is not copied and must not change; kernel and noise (length n, entries
// finite and not negative; nil means 0) are copied. Inputs that do not vary
// leave the distance, see Dropped. It fails for inputs that are not finite and
// for invalid parameters.
func NewOp(e *linalg.Engine, x linalg.Matrix, k Kernel, noise []float64) (*Op, error) {
	e.Check()
	x.Check()
	pts, err := newPoints(x)
	if err != nil {
		return nil, err
	}
	o := &Op{engine: e, pts: pts, sched: newSchedule(x.Rows, e), precision: F64, gradPrecision: F64,
		gradSlack: defaultGradSlack}
	o.f32, o.f64, o.coarse = view{o, F32}, view{o, F64}, view{o, Coarse}
	o.blocks = make([]gathered, e.Par.Threads())
	if err := o.Reset(k, noise); err != nil {
		return nil, err
	}
	return o, nil
}

// Reset sets new parameters, with the meaning that they have in NewOp. Memory
// is reused. After an error the operator keeps its old parameters.
func (o *Op) Reset(k Kernel, noise []float64) error {
	if err := k.check(o.pts.raw.Cols); err != nil {
		return err
	}
	if noise != nil && len(noise) != o.Dim() {
		return fmt.Errorf("kernelmv: %d noise variances for %d points", len(noise), o.Dim())
	}
	for i, v := range noise {
		if !(v >= 0) || math.IsInf(v, 1) {
			return fmt.Errorf("kernelmv: noise variance %v of row %d is not finite and at least 0", v, i)
		}
	}
	if err := o.pts.rescale(&k); err != nil {
		if o.kernel.Lengthscales != nil {
			// The old parameters were fine.
			if back := o.pts.rescale(&o.kernel); back != nil {
				return fmt.Errorf("%w; and %w", err, back)
			}
		}
		return err
	}
	if k.Family != o.kernel.Family || !slices.Equal(k.Lengthscales, o.kernel.Lengthscales) {
		o.h2Reset()
	}
	o.kernel = Kernel{k.Family, k.Variance, append(o.kernel.Lengthscales[:0], k.Lengthscales...)}
	o.noise = grow(o.noise, o.Dim())
	if copy(o.noise, noise) == 0 { // noise may be that of Noise
		clear(o.noise)
	}
	o.arrange()
	return nil
}

// arrange orders the points for the new parameters and marks everything packed
// as out of date.
func (o *Op) arrange() {
	o.order, o.line = nil, nil
	if o.hasLine() && !o.tilesOnly {
		if o.lineMemory == nil {
			o.lineMemory = newLine(o)
		}
		o.line = o.lineMemory
		o.line.reset()
	}
	o.unsorted = o.line == nil && o.pts.dim <= maxSortDim && !o.tilesOnly
	if o.p32 != nil {
		o.p32.fresh = false
	}
	if o.p64 != nil {
		o.p64.fresh = false
	}
	if o.g32 != nil {
		o.g32.fresh = false
	}
	if o.g64 != nil {
		o.g64.fresh = false
	}
	if o.c32 != nil {
		o.c32.walk.packed = false
	}
	if o.c64 != nil {
		o.c64.walk.packed = false
	}
}

// Dim returns n.
func (o *Op) Dim() int { return o.pts.raw.Rows }

// Inputs returns D.
func (o *Op) Inputs() int { return o.pts.raw.Cols }

// Kernel returns the parameters of K.
func (o *Op) Kernel() Kernel {
	k := o.kernel
	k.Lengthscales = slices.Clone(k.Lengthscales)
	return k
}

// Noise returns the noise variances, which must not be changed.
func (o *Op) Noise() []float64 { return o.noise }

// Dropped returns the inputs that do not vary over the rows and so are not in
// the distance, nor in that to test rows.
func (o *Op) Dropped() []int { return slices.Clone(o.pts.dropped) }

// SetPrecision chooses the tiles of MulTo and CrossMulTo.
func (o *Op) SetPrecision(p Precision) { o.precision = p }

// Precision returns what SetPrecision chose, F64 at first.
func (o *Op) Precision() Precision { return o.precision }

// SetGradPrecision chooses the tiles of the gradients, F64 at first. The
// gradient of Matérn-1/2 is always taken in float64: its weight 1/r has no
// bound.
func (o *Op) SetGradPrecision(p Precision) { o.gradPrecision = p }

// SetTilesOnly(true) evaluates every tile, without the O(n) form and without
// skipping; it serves measurements and tests.
func (o *Op) SetTilesOnly(on bool) {
	if o.tilesOnly != on {
		o.tilesOnly = on
		o.arrange()
	}
}

// Linear says whether products cost O(n): they are float64 in any precision then.
func (o *Op) Linear() bool { return o.line != nil }

// With returns the same operator with products in precision p, whatever
// SetPrecision says. It shares memory with o: use one at a time.
func (o *Op) With(p Precision) linalg.SymOp {
	switch p {
	case F32:
		return &o.f32
	case Coarse:
		return &o.coarse
	}
	return &o.f64
}

// MulTo sets dst = K̂ src, n×p for any p. dst and src do not overlap. Columns
// are taken 64 at a time. With one input in the distance and a Matérn function
// it costs O(n p) and is float64 in any precision. It returns ctx.Err() if ctx ends first; dst is
// undefined then. Once a shape has been seen, nothing is allocated.
func (o *Op) MulTo(ctx context.Context, dst, src linalg.Matrix) error {
	return o.mulTo(ctx, o.precision, dst, src)
}

type view struct {
	op        *Op
	precision Precision
}

func (v *view) Dim() int { return v.op.Dim() }

func (v *view) MulTo(ctx context.Context, dst, src linalg.Matrix) error {
	return v.op.mulTo(ctx, v.precision, dst, src)
}

func (o *Op) mulTo(ctx context.Context, prec Precision, dst, src linalg.Matrix) error {
	checkCall(ctx, dst, src)
	if dst.Rows != o.Dim() || src.Rows != o.Dim() || dst.Cols != src.Cols {
		panic("kernelmv: MulTo: bad shapes")
	}
	if o.line != nil {
		return o.line.mulTo(ctx, dst, src)
	}
	plan, err := o.h2Plan(ctx, prec)
	if err != nil {
		return err
	}
	if plan != nil && prec == F32 {
		f, err := o.h2Product32(ctx, plan)
		if err != nil {
			return err
		}
		return f.mulTo(ctx, dst, src)
	} else if plan != nil {
		f, err := o.h2Product64(ctx, plan)
		if err != nil {
			return err
		}
		return f.mulTo(ctx, dst, src)
	}
	return o.tilesTo(ctx, prec, dst, src, false)
}

// tilesTo is mulTo by tiles; by rows it sets dst to this rank's rows.
func (o *Op) tilesTo(ctx context.Context, prec Precision, dst, src linalg.Matrix, byRows bool) error {
	for c := 0; c < src.Cols; c += maxCols {
		end := min(c+maxCols, src.Cols)
		d, s := dst.Sub(0, dst.Rows, c, end), src.Sub(0, src.Rows, c, end)
		var err error
		if prec == F32 {
			if o.p32 == nil {
				o.p32 = newProduct(o, &o.engine.Impl.F32)
			}
			err = o.p32.mulTo(ctx, d, s, byRows)
		} else {
			if o.p64 == nil {
				o.p64 = newProduct(o, &o.engine.Impl.F64)
			}
			err = o.p64.mulTo(ctx, d, s, byRows)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
