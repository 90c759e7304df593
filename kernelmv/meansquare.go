package kernelmv

import "math/rand/v2"

// squarePairs are the pairs that MeanSquare looks at: where one in a thousand is near, it is within an eighth.
const squarePairs = 1 << 16

// MeanSquare estimates the mean of k(x_i, x_j)² over all pairs of rows, for variance 1, by some pairs
// that are always the same: a number between 0 and 1 that says which part of the table is near a row.
func (o *Op) MeanSquare() float64 {
	n, d, sum := o.Dim(), o.pts.dim, 0.0
	rng := rand.New(rand.NewPCG(0x73717561, 0x7265))
	c := o.kernel.Family.Scale()
	for range squarePairs {
		a, b, r2 := rng.IntN(n), rng.IntN(n), 0.0
		for k := range d {
			h := o.pts.x[a*d+k] - o.pts.x[b*d+k]
			r2 += h * h
		}
		v := unitCov(o.kernel.Family, r2/(c*c))
		sum += v * v
	}
	return sum / squarePairs
}
