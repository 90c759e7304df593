package bbgp

import "bbgp.dev/linalg"

// The size of the preconditioner. A noise that is not small beside the variance
// makes K̂ a low-rank matrix plus identity to begin with: a low-rank part
// alone, whose bounds are rigorous, is enough. With little noise the nearest
// neighbours carry the fine structure. In between, both: on elevators (n = 11121,
// σ_n² = 0.005 σ_f²) evaluations to 1 nat take 26 passes with 48 neighbours
// alone, 6 with rank 200 and 16 neighbours, 5 with 200 and 32.
const (
	noisy = 0.03 // σ_n²/σ_f² from here on: low rank alone
	quiet = 3e-3 // below: neighbours alone

	noisyRank       = 128
	mixedRank       = 192
	mixedNeighbours = 32
	quietNeighbours = 48
)

// choosePrecond returns the size of the preconditioner at p for n rows.
func choosePrecond(n int, p Params, opt EvalOptions) linalg.PrecondOptions {
	rank, near := noisyRank, 0
	switch ratio := p.Noise / p.Variance; {
	case ratio < quiet:
		rank, near = 0, quietNeighbours
	case ratio < noisy:
		rank, near = mixedRank, mixedNeighbours
	}
	set := linalg.PrecondOptions{Rank: opt.Rank, Neighbours: opt.Neighbours}
	if set.Rank < 0 {
		set.Rank = min(rank, n/4)
	}
	if set.Neighbours < 0 {
		set.Neighbours = near
	}
	return set
}
