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
	tileWalk[T]       // yj is C' and the column sums, yi the row sums
	inputs      []int // inputs whose coordinates are in xi

	xi      []T // [group][n][width]: coordinates, 1, zeros
	scratch []gradScratch[T]
	sums    []float64 // [input], the result, and for a dense M one more: Σ M∘K of each unordered pair

	// M, as vectors or dense
	rank   int
	ui, uj []T // [n/Panel][rank][Panel], [n/Block][rank][Block]
	scale  float64
	m      linalg.Matrix

	direct2 bool      // by the squares of differences, see direct.go
	rows    []float64 // [n][input], for that

	u        linalg.Matrix
	g, unit  []float64
	packBody func(worker, b int)
}

type gradScratch[T asm.Float] struct {
	cov  []T
	half []T // ui of a tile on the diagonal, halved
	r2   []T // squared distances

	pair  []float64  // [input]: the sums of a pair of superblocks, and of M∘K where M is dense
	total []exactSum // of them
}

func newGradient[T asm.Float](o *Op, kit *asm.Kit[T]) *gradient[T] {
	t := &gradient[T]{}
	t.tileWalk = newTileWalk(o, kit, t)
	t.scratch = make([]gradScratch[T], o.engine.Par.Threads())
	t.packBody, t.pairBody = t.packVectors, t.pair
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

// gradRowBytes are about what a worker needs of a row in the second cache: nothing is added up there.
const gradRowBytes = 256

// run visits all tiles and adds up.
func (t *gradient[T]) run(ctx context.Context) ([]float64, error) {
	o, all := t.op, len(t.inputs)+1
	if t.direct2 {
		t.packDirect()
	}
	for w := range t.scratch {
		s := &t.scratch[w]
		s.pair, s.total = grow(s.pair, all), grow(s.total, all)
		clear(s.pair)
		clear(s.total)
	}
	if err := o.sched.run(ctx, o.engine.Par, gradRowBytes, t.pairBody); err != nil {
		return nil, err
	}
	total := t.scratch[0].total
	for w := 1; w < len(t.scratch); w++ {
		for k := range total {
			total[k].merge(&t.scratch[w].total[k])
		}
	}
	o.mergeRanks(total)
	t.sums = grow(t.sums, all)
	for k := range t.sums {
		t.sums[k] = 2 * t.scale * total[k].value() // each unordered pair was visited once
	}
	return t.sums, nil
}

// addTile adds a tile of w to its sums. The square on the diagonal holds both orders of each
// pair: it counts half.
func (t *gradient[T]) addTile(worker int, at place) {
	i, j, rows, cols, s := at.i, at.j, at.rows, at.cols, &t.workers[worker]
	buf := t.weighted(worker, at)
	if t.direct2 {
		t.squares(t.scratch[worker].pair, buf, i, rows, j, cols)
		return
	}
	n, w := t.op.sched.padded, t.width
	for g := range t.groups {
		t.kit.AccJ(t.sumOf(s, g, cols), buf, t.xi[(g*n+i)*w:(g*n+i+rows)*w], rows, cols, w)
	}
	from := i % t.op.sched.block
	t.kit.RowSum(s.yi[from:from+rows], buf, rows, cols)
}

// endColumn adds the terms of the columns of a pair of superblocks.
func (t *gradient[T]) endColumn(worker, j, cols int) {
	if t.direct2 {
		return
	}
	d, yj := len(t.inputs), t.workers[worker].yj
	sums := yj[d*cols : (d+1)*cols]
	for g := range t.groups {
		out, x := t.ofGroup(worker, g, j)
		c := yj[g*t.width*cols:]
		for q, sum := range sums {
			for k := range out {
				v := float64(x[q*t.width+k])
				out[k] += v * (v*sum - 2*c[k*cols+q])
			}
		}
	}
}

// endPair adds the terms of the rows of superblock a, and the pair to the sums of all.
func (t *gradient[T]) endPair(worker, a int) {
	s := &t.scratch[worker]
	from, to := t.op.sched.span(a)
	if !t.direct2 {
		for g := range t.groups {
			out, x := t.ofGroup(worker, g, from)
			for q, sum := range t.workers[worker].yi[:to-from] {
				for k, v := range x[q*t.width:][:len(out)] {
					out[k] += float64(v) * float64(v) * sum
				}
			}
		}
	}
	for k, v := range s.pair {
		s.total[k].add(v)
	}
	clear(s.pair)
}

// ofGroup returns the sums of the inputs of a group, for a pair of superblocks, and the coordinates from position q on.
func (t *gradient[T]) ofGroup(worker, g, q int) (out []float64, x []T) {
	first := g * t.width
	end := min(first+t.width, len(t.inputs))
	return t.scratch[worker].pair[min(first, end):end], t.xi[(g*t.op.sched.padded+q)*t.width:]
}

// weighted returns the tile of w.
func (t *gradient[T]) weighted(worker int, at place) []T {
	i, rows, j0, cols, diagonal := at.i, at.rows, at.j, at.cols, at.diagonal
	f, r, s := t.op.kernel.Family, t.rank, &t.scratch[worker]
	buf := t.workers[worker].tile[:rows*cols]
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
