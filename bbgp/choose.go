package bbgp

import "bbgp.dev/linalg"

// choosePrecond returns the size of the preconditioner at p. A noise that is
// not small beside the variance makes K̂ a low-rank matrix plus identity to
// begin with: a low-rank part alone, whose bounds are rigorous, is enough.
// Otherwise nearest neighbours carry the fine structure.
func choosePrecond(n int, p Params, opt EvalOptions) linalg.PrecondOptions {
	set := linalg.PrecondOptions{Rank: opt.Rank, Neighbours: opt.Neighbours}
	smooth := p.Noise >= 0.03*p.Variance
	if set.Rank < 0 {
		if set.Rank = 0; smooth {
			set.Rank = min(300, n/4)
		}
	}
	if set.Neighbours < 0 {
		if set.Neighbours = 0; !smooth {
			set.Neighbours = 48
		}
	}
	return set
}
