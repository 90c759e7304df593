package posterior

import (
	"context"
	"math"
	"math/rand/v2"

	"bbgp.dev/linalg"
)

// What an input does to the prediction m(x), beside its lengthscale, which tells how
// fast m can change along it but not how much it does. The inputs fall into blocks (one
// input, or those that are made of one column); a and b take each block from a row of the
// training of its own, and c = b with the blocks of a group g from a. Then
//
//	first S_g = cov(m(a), m(c)) / V,   total T_g = E (m(b) - m(c))² / 2V,
//
// V the variance of m(a), are Sobol's indices (Janon et al. 2014, Jansen 1999): S_g is the
// share of V that the group explains alone, T_g what it explains with all others.

// A Sensitivity holds Sobol's indices of a group of inputs, each between 0 and 1.
type Sensitivity struct {
	First float64 `json:"first"`
	Total float64 `json:"total"`
	// StdErr is the standard error of Total over the rows drawn.
	StdErr float64 `json:"stderr"`
}

const (
	sobolPairs    = 1 << 30 // kernel entries to spend
	leastSobol    = 256     // rows drawn
	mostSobol     = 4096
	sobolSeedword = 0x736f626f6c
)

// Sobol returns the indices of groups of blocks of inputs. A block lists inputs, from 0,
// that belong together, a group lists blocks. The rows drawn follow from seed; e nil means
// the engine of the last call, or the default one.
func (p *Posterior) Sobol(ctx context.Context, e *linalg.Engine, blocks, groups [][]int, seed uint64) ([]Sensitivity,
	error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	count := min(max(sobolPairs/(p.N()*(len(groups)+2)), leastSobol), mostSobol)
	rng := rand.New(rand.NewPCG(seed, sobolSeedword))
	a, b := p.drawBlocks(rng, count, blocks), p.drawBlocks(rng, count, blocks)
	fa, err := p.means(ctx, e, a, 0)
	if err != nil {
		return nil, err
	}
	fb, err := p.means(ctx, e, b, 0)
	if err != nil {
		return nil, err
	}
	out := make([]Sensitivity, len(groups))
	v := spread(fa.Mean, fb.Mean)
	for i, g := range groups {
		var of []int
		for _, block := range g {
			of = append(of, blocks[block]...)
		}
		if !(v > 0) || !p.matters(of) {
			continue
		}
		c := b.Clone()
		for r := range count {
			for _, j := range of {
				c.Set(r, j, a.At(r, j))
			}
		}
		fc, err := p.means(ctx, e, c, 0)
		if err != nil {
			return nil, err
		}
		out[i] = sensitivity(fa.Mean, fb.Mean, fc.Mean, v)
	}
	return out, nil
}

// drawBlocks returns count rows, each block from a training row of its own.
func (p *Posterior) drawBlocks(rng *rand.Rand, count int, blocks [][]int) linalg.Matrix {
	x := linalg.NewMatrix(count, p.D())
	for i := range count {
		for _, block := range blocks {
			from := p.data.X.Row(rng.IntN(p.N()))
			for _, j := range block {
				x.Set(i, j, from[j])
			}
		}
	}
	return x
}

// matters says whether an input of the group is in the distance.
func (p *Posterior) matters(group []int) bool {
	for _, j := range group {
		if !math.IsInf(p.params.Lengthscales[j], 1) {
			return true
		}
	}
	return false
}

// spread returns the variance of the values of both.
func spread(a, b []float64) float64 {
	mean, ss, n := 0.0, 0.0, 0.0
	for _, v := range [][]float64{a, b} {
		for _, x := range v {
			n++
			delta := x - mean
			mean += delta / n
			ss += delta * (x - mean)
		}
	}
	return ss / n
}

// sensitivity estimates the indices from the means at a, b and c, V the variance.
func sensitivity(a, b, c []float64, v float64) Sensitivity {
	n := float64(len(a))
	mid, total, squares := 0.0, 0.0, 0.0
	for i := range a {
		others := (b[i] - c[i]) * (b[i] - c[i])
		mid += (a[i] + c[i]) / (2 * n)
		total += others
		squares += others * others
	}
	both, own := 0.0, 0.0
	for i := range a {
		both += (a[i] - mid) * (c[i] - mid)
		own += ((a[i]-mid)*(a[i]-mid) + (c[i]-mid)*(c[i]-mid)) / 2
	}
	mean := total / n
	return Sensitivity{
		First:  min(max(both/own, 0), 1),
		Total:  min(mean/(2*v), 1),
		StdErr: math.Sqrt(max(squares/n-mean*mean, 0)/n) / (2 * v),
	}
}
