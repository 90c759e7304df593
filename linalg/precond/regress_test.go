package precond

import (
	"context"
	"errors"
	"math"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// TestRegress compares with dense solves of R, also where K - L L' is definite
// together with the noise only, as after a projection of K + noise.
func TestRegress(t *testing.T) {
	e, ctx := linalgtest.NewEngine(t, nil, 0), context.Background()
	const n, count, noise = 300, 11, 1e-2
	k := pointsCov(n, 3, "matern32")
	noises := make([]float64, n)
	for i := range noises {
		noises[i] = noise
	}
	for _, rank := range []int{0, 30, 200} {
		l, _, _, err := PivotedCholesky(ctx, e, k, PivotOptions{MaxRank: rank})
		if err != nil {
			t.Fatal(err)
		}
		if rank == 30 { // of K + noise: what a projection leaves of the diagonal is below the noise
			l = projected(t, e, k, l, noise)
		}
		for _, nn := range []int{1, 8, 22, 47} {
			lists := make([]int32, 0, count*(1+nn))
			for i := range count {
				for q := range nn + 1 {
					lists = append(lists, int32((i*17+q*5)%n))
				}
			}
			lists[nn] = -1
			coef, v := linalg.NewMatrix(count, nn), make([]float64, count)
			if err := Regress(ctx, e, k, l, noises, lists, coef, v); err != nil {
				t.Fatal(err)
			}
			for i := range count {
				want, wantV := denseRegression(t, e, k, l, noise, lists[i*(nn+1):(i+1)*(nn+1)])
				if math.Abs(v[i]-wantV) > 1e-10 {
					t.Errorf("rank %d, %d rows: variance %v, want %v", rank, nn, v[i], wantV)
				}
				for q, b := range coef.Row(i) {
					if math.Abs(b-want[q]) > 1e-9 {
						t.Errorf("rank %d, %d rows: coefficient %v, want %v", rank, nn, b, want[q])
					}
				}
			}
		}
	}
	var bad *linalg.NotPDError
	noises[3] = -2
	if err := Regress(ctx, e, k, linalg.Matrix{Rows: n}, noises, []int32{1, 2}, linalg.NewMatrix(1, 1),
		make([]float64, 1)); !errors.As(err, &bad) || bad.Pivot != 3 {
		t.Errorf("negative noise: %v", err)
	}
}

func pointsCov(n, d int, family string) scalarCov {
	rng, x := linalgtest.NewRand(3), linalg.NewMatrix(n, d)
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	return scalarCov{x, scalarFamilies[family]}
}

// projected returns B = K̂V C'^-1, V'K̂V = C C', K̂ = K + noise: K̂ - B B' is what is left
// of K̂ once V'y is known.
func projected(t *testing.T, e *linalg.Engine, k linalg.ColOp, v linalg.Matrix, noise float64) linalg.Matrix {
	t.Helper()
	n := k.Dim()
	cols, khat := make([]int, n), linalg.NewMatrix(n, n)
	for i := range cols {
		cols[i] = i
	}
	if err := k.ColsTo(t.Context(), khat, 0, cols); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		khat.Data[i*n+i] += noise
	}
	b, g := linalg.NewMatrix(n, v.Cols), linalg.NewMatrix(v.Cols, v.Cols)
	e.GemmTo(b, 1, khat, false, v, false, 0)
	e.GemmTo(g, 1, v, true, b, false, 0)
	c, err := e.NewCholesky(g)
	if err != nil {
		t.Fatal(err)
	}
	e.SolveRight(b, c.Factor(), true)
	return b
}

// denseRegression regresses the first of rows on the others but for -1.
func denseRegression(t *testing.T, e *linalg.Engine, k linalg.ColOp, l linalg.Matrix, noise float64,
	rows []int32) (coef []float64, variance float64) {
	t.Helper()
	var used []int32
	for _, r := range rows {
		if r >= 0 {
			used = append(used, r)
		}
	}
	m := len(used)
	r := linalg.NewMatrix(m, m)
	k.BlockTo(0, r, used)
	for a, p := range used {
		for b, q := range used {
			for c := range l.Cols {
				r.Data[a*m+b] -= l.At(int(p), c) * l.At(int(q), c)
			}
		}
		r.Data[a*m+a] += noise
	}
	coef, variance = make([]float64, len(rows)-1), r.At(0, 0)
	if m == 1 {
		return coef, variance
	}
	c := linalg.NewMatrix(m-1, 1)
	for q := range m - 1 {
		c.Set(q, 0, r.At(q+1, 0))
	}
	chol, err := e.NewCholesky(r.Sub(1, m, 1, m).Clone())
	if err != nil {
		t.Fatal(err)
	}
	chol.SolveTo(c, c)
	to := 0
	for q, row := range rows[1:] {
		if row >= 0 {
			coef[q] = c.At(to, 0)
			variance -= coef[q] * r.At(to+1, 0)
			to++
		}
	}
	return coef, variance
}
