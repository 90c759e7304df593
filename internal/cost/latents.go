package cost

import (
	"fmt"
	"math"

	"bbgp.dev/kernelmv"
)

// Latents or neighbours. With noise, near rows tell of a small place only, and what is smooth over that is left to the
// passes: 13 of them at n = 1e6, D = 2, ℓ .1, noise 1e-2 with 96 neighbours a row. Latents have that, and fail where
// the function varies between rows that are near: their share (precond.LatentPilot) tells.

// LatentRows are the numbers of rows to a latent that are considered.
var LatentRows = []int{6, 8, 12, 16, 24, 32, 48}

const (
	latentRows   = 20000 // from which on they are
	latentInputs = 2     // with more the sparse factors fill up
	mostLatents  = 65536 // some 1.2 GB of factors
	// Costs, by measured parts of lml with 1e5 and 1e6 places: a row of cells, in Neighbour; the factors of m latents,
	// times m^1.5 in Dense; a row in a pass, and a latent, in Neighbour.
	latentCells, latentFactor, latentSolve, latentNode = 725, 11600, 130, 1080
	// Passes with a share s, D = 2: 2, 3 and 5 with .33, .56 and 2.5 at n = 1e5, 7 with .64 at 1e6.
	latentPasses, latentDoubling, latentAt, latentPower = 1.6, 2.8, 1e5, 3

	mostShare = 3 // with more P is far from K̂, whatever it costs
)

// MayHaveLatents says whether P may be of latents: in products below n², where nothing else is asked for.
func MayHaveLatents(n, d int, opt Request) bool {
	return opt.H2 && opt.Rank < 0 && opt.Neighbours < 0 && d >= 1 && d <= latentInputs && n >= latentRows
}

// sharePasses predicts the passes of n rows with a share s.
func sharePasses(n int, s float64) float64 {
	size := math.Log(float64(n)) / math.Log(latentAt)
	return (latentPasses + latentDoubling*math.Log2(1+s)) * math.Pow(size, latentPower)
}

// Latents returns how many latents P is best of for n rows, 0 where neighbours are less work, and says why. shares are
// those with the rows to a latent of LatentRows.
func Latents(n, d int, prec kernelmv.Precision, opt Request, shares []float64) (m int, reason string) {
	c, uses, rows := OrStandard(opt.Costs), float64(max(opt.Uses, 1)), float64(n)
	least, best := math.Inf(1), -1
	for i, r := range LatentRows {
		latents := rows / float64(r)
		if latents > mostLatents && i+1 < len(LatentRows) || !(shares[i] <= mostShare) ||
			!opt.roomFor(n, Size{Latents: n / r}) {
			continue
		}
		build := latentCells*c.Neighbour + latentFactor*c.Dense*math.Pow(latents, 1.5)/rows
		pass := c.pair(d, prec)*opt.rowWork(n) + c.Neighbour*(latentSolve+latentNode/float64(r))
		if v := build + uses*(sharePasses(n, shares[i])+1)*pass; v < least {
			least, best = v, i
		}
	}
	s := opt.Seen
	if s.Passes == 0 || s.Neighbours == 0 {
		s = noHistory
	}
	near := Neighbours(n, d, 0, prec, opt)
	other := nearCost(n, opt.rowWork(n), d, near, 0, max(opt.Uses, 1), prec, s, c)
	if best < 0 || least > other {
		return 0, ""
	}
	return n / LatentRows[best], fmt.Sprintf("a latent for %d rows leaves %.2g of the noise between them, for which "+
		"%.1f passes are foreseen, and %.2g of the cost of %d neighbours", LatentRows[best], shares[best],
		sharePasses(n, shares[best]), least/other, near)
}
