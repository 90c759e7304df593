package cost

import (
	"fmt"

	"bbgp.dev/kernelmv"
)

// Without a number asked for, the likelihood at one point takes 7 probes, which with
// the target fill the 8 columns of a tile, or 15, which fill 16. These have half the
// variance. In float64, where a pass is bound by the covariance function, they cost
// it a fifth more, and a wider block converges in fewer passes: at noise 1e-6 bike
// takes 9, 8, 8, 7, 7, 6 instead of 11, 10, 9, 8, 7, 6 (24, 32, 48, 64, 96, 128
// neighbours), kin40k 30 instead of 36. In float32 it costs two fifths more, and at
// the end each column's correction in float64.
const (
	FewProbes, manyProbes = 7, 15
	wideFrom, wideSaves   = 5, 0.25 // a quarter of the passes beyond the fifth are saved
	halfVariance          = 1.1     // times the cost is what half the variance is worth
	// h2Wider is how many times more columns cost a product below n²: polynomials and nodes of
	// each column besides. At n = 1e6 in the plane 8 columns more are .6 of the first 8.
	h2Wider = 3
)

// Probes returns the number of probes for n rows at p, whose P has so many
// columns and neighbours, and says why.
func Probes(n, d, columns, near int, prec kernelmv.Precision, opt Request) (probes int, reason string) {
	s, c := opt.Seen, OrStandard(opt.Costs)
	switch {
	case opt.Probes > 0:
		return opt.Probes, "as asked"
	case s.Passes == 0 || prec != kernelmv.F64:
		return FewProbes, UsualProbes
	}
	products := c.Pair64.At(d) * opt.rowWork(n)
	solves := c.Column*float64(columns) + c.Neighbour*float64(near)
	wider := c.Wide64 * opt.rowWork(n)
	if opt.H2 {
		wider *= h2Wider
	}
	pass, wide := products+solves, products+wider+2*solves
	// The value is not to change with the gradient's being asked for: that counts always.
	rest := c.build(d, near, columns) + gradProducts*products
	passes := s.predictedPasses(n, d, near, opt.rowWork(n))
	fewer := passes - max(passes-wideFrom, 0)*wideSaves
	ratio := ((fewer+1)*wide + rest) / ((passes+1)*pass + rest)
	reason = fmt.Sprintf("%d probes are foreseen to take %.1f passes in float64, %d to take %.1f at %.2f of the "+
		"cost, for half the variance",
		FewProbes, passes, manyProbes, fewer, ratio)
	if ratio > halfVariance {
		return FewProbes, reason
	}
	return manyProbes, reason
}

const UsualProbes = "7 and the target fill a block of 8 columns"
