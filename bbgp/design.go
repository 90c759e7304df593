package bbgp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"bbgp.dev/linalg"
)

// The designed starts of a search: lengthscales from the distance of near rows to
// beyond the range of the inputs, in units of standard deviations, first one length for
// all inputs, then a Latin hypercube of lengths, with little noise and with much. What
// is short and periodic, a trend with ripples, one input that is much rougher than the
// others, each has a start in its basin; σ_f² is 1, so that no start lies on the ridge
// where only σ_f²/ℓ^p is told by the data.

// A designed start has a name.
type designed struct {
	from string
	p    Params
}

const (
	mostRestarts = 1000 // that may be asked for
	longest      = 10.0 // the longest lengthscale of a start, times √D
	designNoises = 3
)

var designNoise = [designNoises]float64{0.02, 0.5, 1e-3}

// designStarts returns so many starts for standardised inputs x, those of today first.
func designStarts(kernel string, x linalg.Matrix, fixed []bool, count int, seed uint64) []designed {
	d := x.Cols
	out := []designed{}
	for i, p := range subsetStarts(kernel, d) {
		out = append(out, designed{usualStarts[i], p})
	}
	var active []int
	for j := range d {
		if !fixed[j] {
			active = append(active, j)
		}
	}
	near := typicalGap(x, active, seed)
	ladder := (count - len(out) + 1) / 2
	if len(active) == 1 {
		ladder = count - len(out)
	}
	top := longest * math.Sqrt(float64(len(active)))
	for i := range ladder {
		p := DefaultParams(kernel, d)
		l := near * math.Pow(top/near, (float64(i)+0.5)/float64(ladder))
		for _, j := range active {
			p.Lengthscales[j] = l
		}
		p.Noise = designNoise[i%designNoises]
		out = append(out, designed{fmt.Sprintf("lengths %.2g, noise %.2g", l, p.Noise), p})
	}
	return append(out, cube(kernel, d, active, near, top, count-len(out), seed)...)
}

// cube returns a Latin hypercube of so many starts in the logarithms of the lengths.
func cube(kernel string, d int, active []int, near, top float64, count int, seed uint64) []designed {
	rng := rand.New(rand.NewPCG(seed, 0x63756265))
	out := make([]designed, max(count, 0))
	for i := range out {
		p := DefaultParams(kernel, d)
		p.Noise = designNoise[i%designNoises]
		out[i] = designed{fmt.Sprintf("lengths of cube %d, noise %.2g", i+1, p.Noise), p}
	}
	for _, j := range active {
		for i, k := range rng.Perm(len(out)) {
			out[i].p.Lengthscales[j] = near * math.Pow(top/near, (float64(k)+rng.Float64())/float64(len(out)))
		}
	}
	return out
}

// gapRows are the rows whose nearest neighbours tell what is near.
const gapRows = 100

// typicalGap is the median distance of a row to the nearest row at another place, over
// the active inputs: half of it is the shortest length that rows could tell.
func typicalGap(x linalg.Matrix, active []int, seed uint64) float64 {
	rows := subset(x.Rows, gapRows, seed+4)
	gaps := make([]float64, 0, len(rows))
	for _, i := range rows {
		least := math.Inf(1)
		a := x.Row(i)
		for k := range x.Rows {
			b, sum := x.Row(k), 0.0
			for _, j := range active {
				sum += (a[j] - b[j]) * (a[j] - b[j])
			}
			if sum > 0 {
				least = min(least, sum)
			}
		}
		if !math.IsInf(least, 1) {
			gaps = append(gaps, math.Sqrt(least))
		}
	}
	if len(gaps) == 0 {
		return 1
	}
	slices.Sort(gaps)
	return min(max(gaps[len(gaps)/2], 1e-3), 1)
}
