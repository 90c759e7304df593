package bbgp

import "bbgp.dev/linalg"

// The size of the preconditioner is decided when its low-rank part is there,
// by what that leaves of the trace:
//
//   - no more than the noise: K̂ is P and little else. Low rank alone, whose
//     bounds are rigorous, is enough.
//   - a small part of K: both. The neighbours carry the fine structure.
//   - otherwise the function varies between any few hundred points, and only
//     neighbours help.
//
// Elevators (n = 11121, noise 0.005 σ_f²), passes to 1 nat: 26 with 48
// neighbours alone, 6 with rank 200 and 16 neighbours, 4 with rank 300 alone.
const (
	mostRank        = 288 // tried; whole groups of 96 columns
	loud            = 0.1 // mean noise, in σ_f², above which a few columns do:
	loudRank        = 96  // elevators at all ones, 9 passes and 1.0 CPU s for 7 and 1.4
	noiseTraces     = 1.0 // residual trace, in traces of the noise, for low rank alone
	smoothTrace     = 0.2 // residual trace, in traces of K, up to which a low-rank part pays
	mixedRank       = 192
	mixedNeighbours = 32
	quietNeighbours = 48
)

// choosePrecond returns how P is made for n rows at p, whose noise is given.
func choosePrecond(n int, p Params, noise []float64, opt EvalOptions) linalg.PrecondOptions {
	set := linalg.PrecondOptions{Rank: opt.Rank, Neighbours: opt.Neighbours}
	if set.Rank >= 0 && set.Neighbours >= 0 {
		return set
	}
	total := 0.0
	for _, v := range noise {
		total += v
	}
	if set.Rank < 0 {
		set.Rank = mostRank
		if total > loud*float64(n)*p.Variance {
			set.Rank = loudRank
		}
		set.Rank = min(set.Rank, n/4)
		set.TraceTol = 0.1 * total
	}
	set.Decide = func(rank int, trace float64) (columns, near int) {
		smooth := trace <= smoothTrace*float64(n)*p.Variance
		columns, near = 0, quietNeighbours
		switch {
		case trace <= noiseTraces*total:
			columns, near = rank, 0
		case smooth:
			columns, near = min(rank, mixedRank), mixedNeighbours
		}
		if opt.Rank >= 0 {
			columns = rank
		}
		if opt.Neighbours >= 0 {
			columns, near = rank, opt.Neighbours
			if !smooth && near > 0 && opt.Rank < 0 {
				columns = 0
			}
		}
		return columns, near
	}
	return set
}
