package precond

import (
	"context"
	"math"

	"bbgp.dev/linalg"
)

// Regress regresses variables of covariance R = K - L L' + diag(noise) on few
// others, k = K and l = L (n×m; no columns for R = K + diag(noise)). rows has
// 1+nn entries for each variable: its own row of R, then those that it is
// regressed on, -1 where there are fewer than nn. K - L L' need not be definite
// without the noise. With N for the rows regressed on,
//
//	coef_N = R_NN^-1 R_N,own,   variance = R_own,own - R_own,N coef_N.
//
// coef is count×nn, variance has count numbers; a place of -1 gets 0. The
// pivots are guarded as in NewVecchia: a row that brings nothing but rounding
// errors gets coefficient 0, and the variance is at least that of the noise or of
// rounding. It returns a *NotPDError if K_ii + noise_i is not positive for some
// row, and ctx.Err() if ctx ends first.
func Regress(ctx context.Context, e *linalg.Engine, k linalg.ColOp, l linalg.Matrix, noise []float64, rows []int32,
	coef linalg.Matrix, variance []float64) error {
	count, nn := coef.Rows, coef.Cols
	coef.Check()
	l.Check()
	if len(rows) != count*(1+nn) || len(variance) != count || len(noise) != k.Dim() ||
		(l.Cols > 0 && l.Rows != k.Dim()) {
		panic("precond: Regress: shapes do not fit")
	}
	if count == 0 {
		return ctx.Err()
	}
	// A Vecchia factor of these rows alone has the answers in its rows.
	near := &Neighbours{n: count, nn: nn, width: 1 + (nn+3)/4*4, hi: count}
	near.rows = make([]int32, count*near.width)
	for i := range count {
		row := near.rows[i*near.width : (i+1)*near.width]
		own := rows[i*(1+nn)]
		for t := range row {
			row[t] = own
		}
		to := 1
		for _, r := range rows[i*(1+nn)+1 : (i+1)*(1+nn)] {
			if r >= 0 {
				row[to] = r
				to++
			}
		}
	}
	v := &Vecchia{e: e, near: near, w: make([]float64, count*near.width)}
	b, err := newVecchiaBuild(v, k, l, noise)
	if err != nil {
		return err
	}
	b.large = true
	b.run(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range count {
		w := v.w[i*near.width : (i+1)*near.width]
		variance[i] = 1 / (w[0] * w[0])
		if math.IsNaN(variance[i]) || math.IsInf(variance[i], 0) {
			return &linalg.NotPDError{Pivot: int(near.rows[i*near.width]), Value: variance[i]}
		}
		out, t := coef.Row(i), 1
		for a, r := range rows[i*(1+nn)+1 : (i+1)*(1+nn)] {
			out[a] = 0
			if r >= 0 {
				out[a] = -w[t] / w[0]
				t++
			}
		}
	}
	return nil
}
