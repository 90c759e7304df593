package kernelmv

import (
	"context"
	"math"

	"bbgp.dev/linalg"
)

// DenseTo sets dst = K, n×n, in float64 and without noise.
func (o *Op) DenseTo(ctx context.Context, dst linalg.Matrix) error {
	checkCall(ctx, dst)
	if dst.Rows != o.Dim() || dst.Cols != o.Dim() {
		panic("kernelmv: DenseTo: bad shapes")
	}
	return o.entriesTo(ctx, dst, o.allRows(), o.allRows())
}

// DenseGradTo sets dst[d] = Σ_ab M_ab ∂K_ab/∂log l_d for a symmetric n×n m,
// and returns Σ_ab M_ab K_ab, both in float64.
func (o *Op) DenseGradTo(ctx context.Context, dst []float64, m linalg.Matrix) (float64, error) {
	checkCall(ctx, m)
	if len(dst) != o.Inputs() || m.Rows != o.Dim() || m.Cols != o.Dim() {
		panic("kernelmv: DenseGradTo: bad shapes")
	}
	if o.g64 == nil {
		o.g64 = newGradient(o, &o.engine.Impl.F64)
	}
	t := o.g64
	t.prepare(o.pts.dims)
	t.partial = grow(t.partial, o.sched.count*len(t.inputs))
	t.mk = grow(t.mk, o.sched.padded)
	clear(t.mk)
	for w := range t.scratch {
		t.scratch[w].cov = grow(t.scratch[w].cov, len(t.scratch[w].tile))
	}
	t.m, t.scale, t.every = m, 1, true
	square, err := squareSum(ctx, m)
	if err != nil {
		return 0, err
	}
	t.direct2 = o.isLossy(math.Sqrt(square))
	sums, err := t.run(ctx)
	t.m = linalg.Matrix{}
	if err != nil {
		return 0, err
	}
	clear(dst)
	for k, d := range o.pts.dims {
		dst[d] = o.kernel.Variance * o.kernel.Family.WeightFactor() * sums[k]
	}
	groups, _ := o.sched.groups()
	o.engine.Complete(t.mk, groups, linalg.GroupRows(o.Dim()))
	var mk float64
	for _, v := range t.mk {
		mk += v
	}
	return 2 * o.kernel.Variance * mk, nil
}

func squareSum(ctx context.Context, m linalg.Matrix) (float64, error) {
	sum := 0.0
	for i := range m.Rows {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		for _, v := range m.Row(i) {
			sum += v * v
		}
	}
	return sum, nil
}

// timesDense turns a tile of squared distances into weights times M and adds
// the row sums of M∘K to mk.
func (t *gradient[T]) timesDense(s *gradScratch[T], buf []T, i, rows, j0, cols int, diagonal bool) {
	cov := s.cov[:rows*cols]
	copy(cov, buf)
	t.kit.Cov(t.op.kernel.Family, cov)
	t.weights(s, buf)
	n, share := t.op.Dim(), T(1)
	if diagonal {
		share = 0.5
	}
	for a := range rows {
		w, k := buf[a*cols:(a+1)*cols], cov[a*cols:(a+1)*cols]
		live := 0
		if i+a < n {
			live = min(cols, max(0, n-j0))
			m := t.m.Row(t.op.row(i + a))
			for j := range live {
				v := share * T(m[t.op.row(j0+j)])
				w[j] *= v
				k[j] *= v
			}
		}
		clear(w[live:])
		clear(k[live:])
	}
	t.kit.RowSum(t.mk[i:i+rows], cov, rows, cols)
}
