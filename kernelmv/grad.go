package kernelmv

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// The gradient pass. With w_ab = weight(r_ab) M_ab over pairs of points,
//
//	Σ_ab w_ab (x'_ad - x'_bd)² = Σ_a x'_ad² w_a. + Σ_b x'_bd² w_.b - 2 Σ_b x'_bd C_bd,   C = w' X',
//
// so a tile of w is needed once, for C (AccJ with the coordinates in place of
// V), for its column sums (a column of ones beside the coordinates) and for its
// row sums. The three terms cancel down to points that lie close together:
// C and the sums are taken over at most maxSum rows in T and then in float64, and
// the coordinates are those of T, exactly, on both sides.

// A gradient is the gradient pass in tiles of T.
type gradient[T asm.Float] struct {
	tileWalk[T]       // yj is C' and the column sums
	inputs      []int // inputs whose coordinates are in xi

	xi      []T       // [group][n][width]: coordinates, 1, zeros
	yi      []float64 // [n]: row sums
	scratch []gradScratch[T]
	partial []float64 // [superblock][input]
	sums    []float64 // [input], the result

	// M, as vectors or dense
	rank   int
	ui, uj []T // [n/Panel][rank][Panel], [n/Block][rank][Block]
	scale  float64
	m      linalg.Matrix
	mk     []float64 // [n]: row sums of M∘K where M is dense

	direct2 bool      // by the squares of differences, see direct.go
	rows    []float64 // [n][input], for that

	u        linalg.Matrix
	g, unit  []float64
	packBody func(worker, b int)
	sumBody  func(worker, b int)
}

type gradScratch[T asm.Float] struct {
	tile, cov []T
	half      []T // ui of a tile on the diagonal, halved
	r2        []T // squared distances
}

func newGradient[T asm.Float](o *Op, kit *asm.Kit[T]) *gradient[T] {
	t := &gradient[T]{}
	t.tileWalk = newTileWalk(o, kit, t.addTile)
	t.scratch = make([]gradScratch[T], o.engine.Par.Threads())
	t.packBody, t.pairBody, t.sumBody = t.packVectors, t.pair, t.reduce
	return t
}

// GradTo sets dst[d] = Σ_ab M_ab ∂K_ab/∂log l_d with M = Σ_r g_r u_r u_r', for
// dst of length D, u n×R and g of length R; 0 for inputs that are not in the
// distance. Its error in F32 is below 1e-5 Σ_ab |M_ab| s2 max(1, |x'|²), x' the
// scaled coordinates. It returns ctx.Err() if ctx ends first; dst is undefined
// then.
func (o *Op) GradTo(ctx context.Context, dst []float64, u linalg.Matrix, g []float64) error {
	checkCall(ctx, u)
	if len(dst) != o.Inputs() || u.Rows != o.Dim() || len(g) != u.Cols {
		panic("kernelmv: GradTo: bad shapes")
	}
	sums, err := o.gradSums(ctx, o.pts.dims, u, g)
	if err != nil {
		return err
	}
	clear(dst)
	f := o.kernel.Variance * o.kernel.Family.WeightFactor()
	for k, d := range o.pts.dims {
		dst[d] = f * sums[k]
	}
	return nil
}

// GradInvSqTo sets dst[d] = Σ_ab M_ab ∂K_ab/∂w_d with w_d = 1/l_d², for every
// input that varies, also at w_d = 0 (l_d = +Inf), where it tells by its sign
// whether the input should come back; 0 for the others. Otherwise as GradTo.
func (o *Op) GradInvSqTo(ctx context.Context, dst []float64, u linalg.Matrix, g []float64) error {
	checkCall(ctx, u)
	if len(dst) != o.Inputs() || u.Rows != o.Dim() || len(g) != u.Cols {
		panic("kernelmv: GradInvSqTo: bad shapes")
	}
	sums, err := o.h2AllSums(ctx, u, g)
	if err == nil && sums == nil {
		sums, err = o.gradSums(ctx, o.pts.varying, u, g)
	}
	if err != nil {
		return err
	}
	clear(dst)
	f := o.kernel.Variance * o.kernel.Family.WeightFactor()
	for k, d := range o.pts.varying {
		// ∂h/∂w_d = -l²/2 ∂h/∂log l, and the coordinates were scaled by c/l
		l := o.gradScale(d)
		dst[d] = -l * l / 2 * f * sums[k]
	}
	return nil
}

// gradScale is the length that input d is divided by for a gradient.
func (o *Op) gradScale(d int) float64 {
	if l := o.kernel.Lengthscales[d]; !math.IsInf(l, 1) {
		return l
	}
	return o.pts.spread[d]
}

// gradSums returns Σ_ab w_ab (x'_ad - x'_bd)² for the given inputs, valid until
// the next gradient.
func (o *Op) gradSums(ctx context.Context, inputs []int, u linalg.Matrix, g []float64) ([]float64, error) {
	if o.line != nil && len(inputs) == 1 {
		s, err := o.line.grad(ctx, u, g)
		o.line.sum[0] = s / o.kernel.Family.WeightFactor()
		return o.line.sum[:], err
	}
	if slices.Equal(inputs, o.pts.dims) {
		if sums, err := o.h2GradSums(ctx, u, g); sums != nil || err != nil {
			return sums, err
		}
	}
	if o.gradPrecision != F32 || o.kernel.Family == Matern12 {
		if o.g64 == nil {
			o.g64 = newGradient(o, &o.engine.Impl.F64)
		}
		o.g64.direct2 = o.isLossy(o.formSize(u, g))
		return o.g64.vectors(ctx, inputs, u, g)
	}
	if o.g32 == nil {
		o.g32 = newGradient(o, &o.engine.Impl.F32)
	}
	return o.g32.vectors(ctx, inputs, u, g)
}

// vectors runs the pass for M = Σ_r g_r u_r u_r'.
func (t *gradient[T]) vectors(ctx context.Context, inputs []int, u linalg.Matrix, g []float64) ([]float64, error) {
	t.prepare(inputs)
	t.partial = grow(t.partial, t.op.sched.count*len(inputs))
	if u.Cols == 0 {
		t.sums = grow(t.sums, len(inputs))
		clear(t.sums)
		return t.sums, ctx.Err()
	}
	t.rank, t.u, t.g, t.m, t.every = u.Cols, u, g, linalg.Matrix{}, false
	t.ui, t.uj = grow(t.ui, t.op.sched.padded*t.rank), grow(t.uj, t.op.sched.padded*t.rank)
	for w := range t.scratch {
		t.scratch[w].half = grow(t.scratch[w].half, t.kit.TileRows*t.rank)
	}
	t.setScale()
	t.op.engine.Par.For(t.op.sched.count, t.packBody)
	sums, err := t.run(ctx)
	t.u, t.g = linalg.Matrix{}, nil
	return sums, err
}

// run visits all tiles and adds up.
func (t *gradient[T]) run(ctx context.Context) ([]float64, error) {
	o := t.op
	d := len(t.inputs)
	clear(t.partial[:o.sched.count*d])
	if t.direct2 {
		t.packDirect()
	} else {
		clear(t.yi)
		clear(t.yj)
	}
	if err := o.sched.run(ctx, o.engine.Par, t.pairBody); err != nil {
		return nil, err
	}
	groups, blocks := o.sched.groups()
	if !t.direct2 {
		o.engine.ForShareTo(groups, blocks, o.sched.count, t.sumBody)
	}
	o.engine.Complete(t.partial[:o.sched.count*d], groups, blocks*d)
	t.sums = grow(t.sums, d)
	clear(t.sums)
	for b := range o.sched.count {
		for k := range t.sums {
			t.sums[k] += t.partial[b*d+k]
		}
	}
	for k := range t.sums {
		t.sums[k] *= 2 * t.scale // each unordered pair was visited once
	}
	return t.sums, nil
}

// addTile adds a tile of w to its sums, as far as they are wanted. The square on the diagonal holds both orders of each
// pair: it counts half.
func (t *gradient[T]) addTile(worker int, at place) {
	i, j, rows, cols := at.i, at.j, at.rows, at.cols
	buf := t.weighted(&t.scratch[worker], i, rows, j, cols, at.diagonal)
	if t.direct2 {
		if at.own.j {
			t.squares(buf, i, rows, j, cols)
		}
		return
	}
	n, w := t.op.sched.padded, t.width
	if at.own.j {
		for g := range t.groups {
			t.kit.AccJ(t.sum(worker, g, j, cols), buf, t.xi[(g*n+i)*w:(g*n+i+rows)*w], rows, cols, w)
		}
	}
	if at.own.i {
		t.kit.RowSum(t.yi[i:i+rows], buf, rows, cols)
	}
}

// weighted returns the tile of w.
func (t *gradient[T]) weighted(s *gradScratch[T], i, rows, j0, cols int, diagonal bool) []T {
	f, r := t.op.kernel.Family, t.rank
	buf := s.tile[:rows*cols]
	if t.m.Rows > 0 {
		t.grid.dist(t.kit, buf, i, rows, j0, cols)
		t.timesDense(s, buf, i, rows, j0, cols, diagonal)
	} else {
		ui := t.ui[i*r : (i+rows)*r]
		if diagonal {
			ui = s.half[:rows*r]
			for k, v := range t.ui[i*r : (i+rows)*r] {
				ui[k] = v / 2
			}
		}
		if f == Matern12 && t.direct2 {
			t.grid.dist(t.kit, buf, i, rows, j0, cols)
			t.weights(s, buf)
		} else {
			t.grid.radii(t.kit, f, buf, i, rows, j0, cols)
			t.kit.WeightRadii(f, t.grid.dim, buf, rows, cols)
		}
		t.kit.Outer(buf, ui, t.uj[j0*r:(j0+cols)*r], r, rows, cols)
	}
	if diagonal {
		// A point and itself: nothing, but for the rounding of squares that cancel.
		for a := range rows {
			buf[a*cols+i+a-j0] = 0
		}
	}
	return buf
}

// reduce adds up the terms of the points of a superblock.
func (t *gradient[T]) reduce(_, b int) {
	d, n, w := len(t.inputs), t.op.sched.padded, t.width
	out := t.partial[b*d : (b+1)*d]
	clear(out)
	from, to := t.op.sched.span(b)
	for q := from; q < min(to, t.op.Dim()); q++ {
		j0, cols := t.grid.tileOf(q)
		at := func(k int) int { return (k/w*n+j0)*w + k%w*cols + q - j0 }
		sums := t.yi[q] + t.yj[at(d)]
		for k := range out {
			x := float64(t.xi[(k/w*n+q)*w+k%w])
			out[k] += x * (x*sums - 2*t.yj[at(k)])
		}
	}
}
