package kernelmv

import (
	"context"
	"math"

	"bbgp.dev/asm"
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
	for w := range t.scratch {
		t.scratch[w].cov = grow(t.scratch[w].cov, len(t.workers[w].tile))
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
	return o.kernel.Variance * sums[len(t.inputs)], nil
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
// M∘K to the sums of the pair.
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
	var mk [asm.RowUnit]float64
	for a := 0; a < rows; a += asm.RowUnit {
		clear(mk[:])
		t.kit.RowSum(mk[:], cov[a*cols:], asm.RowUnit, cols)
		for _, v := range mk {
			s.pair[len(t.inputs)] += v
		}
	}
}
