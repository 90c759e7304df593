package bbgp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"bbgp.dev/linalg"
)

// What an input does to the prediction m(x), beside its lengthscale, which tells how
// fast m can change along it but not how much it does. With rows a and b drawn from the
// training rows and c = b with the inputs of a group g from a (Janon et al. 2014, Jansen 1999)
//
//	first S_g = cov(m(a), m(c)) / V,   total T_g = E (m(b) - m(c))² / 2V,
//
// V the variance of m over the rows. For independent inputs these are Sobol's indices:
// S_g is the share of V that the group explains alone, T_g what it explains with all
// others. Where inputs depend on each other, T_g is still what exchanging the group
// alone does.

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

// Sobol returns the indices of groups of inputs, given by their numbers from 0; an
// input may be in several groups. nil stands for one group an input. The rows drawn
// follow from seed. The cost is that of 256 to 4096 means for each group.
func (m *Model) Sobol(ctx context.Context, e *linalg.Engine, groups [][]int, seed uint64) ([]Sensitivity, error) {
	d, n := m.D(), m.N()
	if groups == nil {
		for j := range d {
			groups = append(groups, []int{j})
		}
	}
	for i, g := range groups {
		for _, j := range g {
			if j < 0 || j >= d {
				return nil, &DataError{Row: -1, Reason: fmt.Sprintf("group %d names input %d of %d", i, j, d)}
			}
		}
	}
	e, err := m.engineOr(e)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Sensitivity, len(groups))
	if m.Result.ConstantTarget {
		return out, nil
	}
	count := min(max(sobolPairs/(n*(len(groups)+2)), leastSobol), mostSobol)
	rng := rand.New(rand.NewPCG(seed, sobolSeedword))
	a, b := linalg.NewMatrix(count, d), linalg.NewMatrix(count, d)
	for i := range count {
		copy(a.Row(i), m.x.Row(rng.IntN(n)))
		copy(b.Row(i), m.x.Row(rng.IntN(n)))
	}
	fa, err := m.means(ctx, e, a, 0)
	if err != nil {
		return nil, err
	}
	fb, err := m.means(ctx, e, b, 0)
	if err != nil {
		return nil, err
	}
	v := spread(fa.Mean, fb.Mean)
	for i, g := range groups {
		if !(v > 0) || !m.matters(g) {
			continue
		}
		c := b.Clone()
		for r := range count {
			for _, j := range g {
				c.Set(r, j, a.At(r, j))
			}
		}
		fc, err := m.means(ctx, e, c, 0)
		if err != nil {
			return nil, err
		}
		out[i] = sensitivity(fa.Mean, fb.Mean, fc.Mean, v)
	}
	return out, nil
}

// matters says whether an input of the group is in the distance.
func (m *Model) matters(group []int) bool {
	for _, j := range group {
		if !math.IsInf(m.Parameters.Lengthscales[j], 1) {
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
