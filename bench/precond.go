package bench

import (
	"context"
	"math/rand/v2"

	"bbgp.dev/asm"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/precond"
)

// precondCases are the preconditioner's operations. precond-apply-9 is the product
// of F^-1 (rank m, no Vecchia part) with 9 columns; the others build P: rank m by
// random pivots in blocks or greedily one by one, m neighbours in 17 inputs (their
// search included), or rank m and 64 neighbours. Kernel entries are not in the flops.
var precondCases = []denseCase{
	{op: "pivoted-cholesky", n: 11121, m: 1000, flopsOf: pivotFlops, prepare: preparePivoted},
	{op: "precond-apply-9", n: 11121, m: 1000, flopsOf: func(n, m float64) float64 { return 4 * n * m * 9 },
		prepare: prepareApply},
	{op: "precond-rank1000", n: 11121, m: 1000, once: true, flopsOf: rankFlops, prepare: prepareRank(false, 0)},
	{op: "precond-rank2000", n: 11121, m: 2000, once: true, flopsOf: rankFlops, prepare: prepareRank(false, 0)},
	{op: "precond-greedy1000", n: 11121, m: 1000, once: true, flopsOf: rankFlops, prepare: prepareRank(true, 0)},
	{op: "precond-greedy2000", n: 11121, m: 2000, once: true, flopsOf: rankFlops, prepare: prepareRank(true, 0)},
	{op: "precond-nn32", n: 11643, m: 32, once: true, flopsOf: vecchiaFlops, prepare: prepareVecchia},
	{op: "precond-nn64", n: 11643, m: 64, once: true, flopsOf: vecchiaFlops, prepare: prepareVecchia},
	{op: "precond-nn128", n: 11643, m: 128, once: true, flopsOf: vecchiaFlops, prepare: prepareVecchia},
	{op: "precond-rank1000-nn64", n: 11121, m: 1000, once: true, prepare: prepareRank(false, 64),
		flopsOf: func(n, m float64) float64 {
			return rankFlops(n, m) + vecchiaFlops(n, 64) + n*64*64*m
		}},
}

func pivotFlops(n, m float64) float64 { return n * m * m }

// rankFlops counts the pivots and one round of Cholesky-QR.
func rankFlops(n, m float64) float64 { return 3 * n * m * m }

func vecchiaFlops(n, nn float64) float64 { return n * nn * nn * nn / 3 }

// covariance is a Matérn-3/2 matrix of n points: its spectrum decays slowly
// enough for any rank. The noise is 0.1.
func covariance(e *linalg.Engine, rng *rand.Rand, n, inputs int) (*kernelmv.Op, []float64, error) {
	k := kernelmv.Kernel{Family: asm.Matern32, Variance: 1, Lengthscales: make([]float64, inputs)}
	for d := range k.Lengthscales {
		k.Lengthscales[d] = 3
	}
	op, err := kernelmv.NewOp(e, normal(rng, n, inputs), k, nil)
	noise := make([]float64, n)
	for i := range noise {
		noise[i] = 0.1
	}
	return op, noise, err
}

func preparePivoted(e *linalg.Engine, rng *rand.Rand, n, m int) (func(), func(context.Context) error) {
	op, _, failure := covariance(e, rng, n, 8)
	return nothing, func(ctx context.Context) error {
		if failure != nil {
			return failure
		}
		_, _, _, err := precond.PivotedCholesky(ctx, e, op, precond.PivotOptions{MaxRank: m, Seed: 1})
		return err
	}
}

func prepareRank(greedy bool, neighbours int) prepareFunc {
	return func(e *linalg.Engine, rng *rand.Rand, n, m int) (func(), func(context.Context) error) {
		return prepareBuild(e, rng, n, 8, precond.Options{Rank: m,
			Greedy: greedy, Neighbours: neighbours, Seed: 1})
	}
}

func prepareVecchia(e *linalg.Engine, rng *rand.Rand, n, nn int) (func(), func(context.Context) error) {
	return prepareBuild(e, rng, n, 17, precond.Options{Neighbours: nn, Seed: 1})
}

func prepareBuild(e *linalg.Engine, rng *rand.Rand, n, inputs int, opt precond.Options) (func(),
	func(context.Context) error) {
	op, noise, failure := covariance(e, rng, n, inputs)
	return nothing, func(ctx context.Context) error {
		if failure != nil {
			return failure
		}
		_, err := precond.New(ctx, e, op, noise, opt)
		return err
	}
}

func prepareApply(e *linalg.Engine, rng *rand.Rand, n, m int) (func(), func(context.Context) error) {
	op, noise, failure := covariance(e, rng, n, 8)
	x, y := normal(rng, n, 9), linalg.NewMatrix(n, 9)
	var p *precond.Precond
	if failure == nil {
		p, failure = precond.New(context.Background(), e, op, noise, precond.Options{Rank: m, Seed: 1})
	}
	return nothing, func(context.Context) error {
		if failure == nil {
			p.FInvTo(y, x)
		}
		return failure
	}
}
