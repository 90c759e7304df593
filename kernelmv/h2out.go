package kernelmv

import (
	"context"
	"slices"

	"bbgp.dev/linalg"
)

// The gradient by inputs that are not in the distance. Their coordinates z need not be
// smooth over a box, but only multiply the columns: with W the weights of the gradient
//
//	Σ_ab W_ab u_a u_b (z_a - z_b)² = 2 (z²u)'W u - 2 (zu)'W (zu)
//
// which is a product with W for u and one for every input.

// h2AllSums returns Σ_ab w_ab (x'_ad - x'_bd)² of all inputs that vary, by products in
// float64, nil where no input is out, products are dense, or the weight has no bound.
func (o *Op) h2AllSums(ctx context.Context, u linalg.Matrix, g []float64) ([]float64, error) {
	if len(o.pts.varying) == len(o.pts.dims) || o.kernel.Family == Matern12 {
		return nil, nil
	}
	used, err := o.h2GradSums(ctx, u, g)
	if used == nil || err != nil {
		return nil, err
	}
	plan, err := o.h2Plan(ctx, F64)
	if plan == nil || err != nil {
		return nil, err
	}
	if o.h2.w64 == nil {
		o.h2.w64 = newH2Product(o, &o.engine.Impl.F64)
		o.h2.w64.weight = true
	}
	if err := o.h2.w64.use(ctx, plan); err != nil {
		return nil, err
	}
	wu := linalg.NewMatrix(u.Rows, u.Cols)
	if err := o.h2.w64.mulTo(ctx, wu, u); err != nil {
		return nil, err
	}
	sums := make([]float64, len(o.pts.varying))
	for k, d := range o.pts.varying {
		if at := slices.Index(o.pts.dims, d); at >= 0 {
			sums[k] = used[at]
		} else if sums[k], err = o.h2OutSum(ctx, d, u, wu, g); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// h2OutSum returns the sum for input d, which is out, with wu = W u.
func (o *Op) h2OutSum(ctx context.Context, d int, u, wu linalg.Matrix, g []float64) (sum float64, err error) {
	zu, wzu := linalg.NewMatrix(u.Rows, u.Cols), linalg.NewMatrix(u.Rows, u.Cols)
	unit := o.kernel.Family.Scale() / o.gradScale(d)
	at := func(i int) float64 { return (o.pts.raw.At(i, d) - o.pts.mean[d]) * unit }
	for i := range u.Rows {
		for c, v := range u.Row(i) {
			zu.Set(i, c, at(i)*v)
		}
	}
	if err := o.h2.w64.mulTo(ctx, wzu, zu); err != nil {
		return 0, err
	}
	for i := range u.Rows {
		for c, v := range zu.Row(i) {
			sum += 2 * g[c] * v * (at(i)*wu.At(i, c) - wzu.At(i, c))
		}
	}
	return sum / o.kernel.Variance, nil
}
