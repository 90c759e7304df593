package bbgp

import (
	"fmt"

	"bbgp.dev/kernelmv"
)

// Without a method asked for, few rows are trained by the exact one: where a dense
// evaluation with its gradient costs no more than one by products, and fits the
// budget. Both costs are counted as in choose.go, so that the choice is the same
// on every machine: 690 rows for 2 inputs, 850 for 18, 1500 for 100.

// exactCost is the cost in cycles of a dense evaluation: n³ operations for the
// factor and the inverse, 20 a cycle, 0.62 of what an AVX-512 core can do, and the
// entries, weights and sums of the gradient.
func exactCost(n, d int) float64 {
	x := float64(n)
	return x * x * (x/20 + 2.5 + 0.15*float64(d))
}

// krylovCost is the cost in cycles of an evaluation by products of which nothing
// is known: neighbours, passes in float32, and at its end the gradient, 1.6
// products of 8 columns, and one float64 product.
func krylovCost(n, d int) float64 {
	nn := neighbours(n, d, 0, kernelmv.F32, EvalOptions{})
	last := 1.6*pairCost(d, kernelmv.F32) + pairCost(d, kernelmv.F64)
	return float64(n) * (nearCost(n, d, nn, 0, 1, kernelmv.F32, unseen) + last*float64(n))
}

// chooseMethod sets the method for n rows of d inputs, if none is asked for, and
// says why.
func (o *Options) chooseMethod(n, d int) {
	if o.Method != "" {
		o.methodReason = "as asked"
		return
	}
	dense, products := exactCost(n, d), krylovCost(n, d)
	costs := fmt.Sprintf("an evaluation takes %.2g cycles by the dense matrix, %.2g by products", dense, products)
	switch need := exactBytes(n); {
	case dense > products:
		o.Method, o.methodReason = "bbgp", costs
	case !o.hasRoom(need):
		o.Method, o.methodReason = "bbgp", fmt.Sprintf("the dense matrices take %d bytes of a budget of %d", need, o.Memory)
	default:
		o.Method, o.methodReason = "exact", costs
	}
}
