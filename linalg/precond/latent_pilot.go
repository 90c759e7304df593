package precond

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/dissect"
)

// pilotPlaces is the number of places that LatentPilot looks at, pilotLatents that of latents around each.
const pilotPlaces, pilotLatents = 24, 24

// LatentPilot tells how much P would leave out with a latent for each rows[i] rows, for all i: shares[i] is about the
// largest eigenvalue, over the noise, of what the latents near a cell leave of K in it. With a share s, P⁻¹K̂ has
// eigenvalues from about 1/(1+s) to 1+s. It looks at some places only, the same for all i, at random rows that seed
// gives, in O(n) operations each, and returns ctx.Err() if ctx ends first.
func LatentPilot(ctx context.Context, e *linalg.Engine, k linalg.Placed, noise []float64, rows []int,
	seed uint64) (shares []float64, err error) {
	n := k.Dim()
	x, dim := k.Places()
	rng := rand.New(rand.NewPCG(seed, 0x6c6174656e74))
	shares = make([]float64, len(rows))
	for range pilotPlaces {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all := dissect.Around(x, dim, rng.IntN(n), min(n, pilotLatents*slices.Max(rows)))
		for i, r := range rows {
			near := all[:min(len(all), pilotLatents*r)]
			var at []float64
			for _, r := range near {
				at = append(at, x[int(r)*dim:int(r+1)*dim]...)
			}
			net, _ := dissect.Net(ctx, at, dim, rng.Perm(len(near)), min(pilotLatents, len(near)))
			cell := near[:min(len(near), max(r, cellRows))]
			shares[i] = max(shares[i], leftOf(e, k, noise, cell, near, net))
		}
	}
	return shares, nil
}

// leftOf returns the largest eigenvalue of what the latents nearest to a cell leave of K in it, in units of the noise;
// +Inf where K of the latents has no factor. The latents are places among rows, which begin with those of the cell.
func leftOf(e *linalg.Engine, k linalg.ColOp, noise []float64, cell, rows, net []int32) float64 {
	slices.Sort(net) // rows are nearest first
	net = net[:min(cellNear, len(net))]
	m, all := len(net), make([]int32, 0, len(net)+len(cell))
	for _, p := range net {
		all = append(all, rows[p])
	}
	all = append(all, cell...)
	block := linalg.NewMatrix(len(all), len(all))
	k.BlockTo(0, block, all)
	for i := range net {
		block.Data[i*block.Stride+i] *= 1 + leastNugget
	}
	knn, krn := block.Sub(0, m, 0, m), block.Sub(m, len(all), 0, m)
	left := block.Sub(m, len(all), m, len(all))
	if _, err := e.NewCholesky(knn); err != nil {
		return math.Inf(1)
	}
	e.SolveRight(krn, knn, true)
	e.SyrkTo(left, -1, krn, false, 1)
	for i, r := range cell {
		for j, s := range cell[:i+1] {
			left.Set(i, j, left.At(i, j)/math.Sqrt(noise[r]*noise[s]))
		}
	}
	left.Mirror()
	v, w := make([]float64, len(cell)), make([]float64, len(cell))
	for i := range v {
		v[i] = 1
	}
	norm := 0.0
	for range 20 {
		norm = 0
		for i := range w {
			w[i] = 0
			for j, x := range left.Row(i) {
				w[i] += x * v[j]
			}
			norm = max(norm, math.Abs(w[i]))
		}
		if !(norm > 0) {
			return norm
		}
		for i := range w {
			v[i] = w[i] / norm
		}
	}
	return norm
}
