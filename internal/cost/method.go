package cost

import (
	"fmt"

	"bbgp.dev/kernelmv"
)

// Without a method asked for, few rows are trained by the exact one: where a dense
// evaluation with its gradient costs no more than one by products, and fits the
// budget. With the standard costs: 630 rows for 2 inputs, 730 for 18, 1230 for 100.

// UsualEvaluations of all rows are what a fit takes, more or less.
const UsualEvaluations = 16

// ExactCost is the cost of a dense evaluation: n³ operations for the factor and the
// inverse, and the entries, weights and sums of the gradient.
func ExactCost(n, d int, c *Costs) float64 {
	x := float64(n)
	return x * x * (c.Dense*x + c.DenseEntry.At(d))
}

// gradProducts is what a gradient costs, in products of 8 columns.
const gradProducts = 1.6

// krylovCost is the cost of an evaluation by products of which nothing is known:
// neighbours, passes in float32, and at its end the gradient and one float64 product.
func krylovCost(n, d int, c *Costs) float64 {
	nn := Neighbours(n, d, 0, kernelmv.F32, Request{Costs: c})
	last := gradProducts*c.pair(d, kernelmv.F32) + c.pair(d, kernelmv.F64)
	return float64(n) * (nearCost(n, float64(n), d, nn, 0, 1, kernelmv.F32, noHistory, c) + last*float64(n))
}

// Method returns the method for n rows of d inputs within so much memory, 0: any,
// and says why.
func Method(n, d int, c *Costs, memory int64) (method, reason string) {
	dense, products := ExactCost(n, d, c), krylovCost(n, d, c)
	costs := fmt.Sprintf("an evaluation takes %.2g %s by the dense matrix, %.2g by products", dense, c.Unit, products)
	exact := Budget{Bytes: memory, Method: "exact"}
	switch need := exact.LeastBytes(n, n, d); {
	case dense > products:
		return "bbgp", costs
	case memory > 0 && need > memory:
		return "bbgp", fmt.Sprintf("the dense method takes %d bytes of a budget of %d", need, memory)
	}
	return "exact", costs
}
