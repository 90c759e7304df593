package train

import (
	"fmt"
	"math"
	"math/rand/v2"

	"bbgp.dev/internal/gp"
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
	p    gp.Params
}

const (
	MostRestarts = 1000 // that may be asked for
	longest      = 10.0 // the longest lengthscale of a start, times √D
	leastGap     = 1e-3 // and the shortest at least
	designNoises = 3
)

var designNoise = [designNoises]float64{0.02, 0.5, 1e-3}

// designStarts returns so many starts for d, those of the pre-fit first.
func designStarts(kernel string, d *gp.Table, fixed []bool, count int, seed uint64) []designed {
	var out []designed
	for i, p := range subsetStarts(kernel, d.X.Cols) {
		out = append(out, designed{usualStarts[i], p})
	}
	sd := make([]float64, d.X.Cols)
	var active []int
	for j := range sd {
		sd[j] = columnSD(d, j)
		if !fixed[j] {
			active = append(active, j)
		}
	}
	if len(active) == 0 {
		return out
	}
	near := min(max(nearGap(d, sd, fixed), leastGap), 1)
	ladder := (count - len(out) + 1) / 2
	if len(active) == 1 {
		ladder = count - len(out)
	}
	top := longest * math.Sqrt(float64(len(active)))
	variance := varianceOf(d.Y)
	for i := range ladder {
		p := gp.DefaultParams(kernel, d.X.Cols)
		l := near * math.Pow(top/near, (float64(i)+0.5)/float64(ladder))
		for _, j := range active {
			p.Lengthscales[j] = l
		}
		p.Noise = designNoise[i%designNoises]
		out = append(out, designed{fmt.Sprintf("lengths %.2g sd, noise %.2g", l, p.Noise), p})
	}
	out = append(out, cube(kernel, d.X.Cols, active, near, top, count-len(out), seed)...)
	for i := len(usualStarts); i < len(out); i++ {
		p := &out[i].p
		for j := range sd {
			p.Lengthscales[j] *= sd[j]
		}
		p.Variance, p.Noise = variance, max(p.Noise*variance, gp.MinParam)
	}
	return append(out, aloneStarts(kernel, d, fixed)...)
}

// cube returns a Latin hypercube of so many starts in the logarithms of the lengths.
func cube(kernel string, d int, active []int, near, top float64, count int, seed uint64) []designed {
	rng := rand.New(rand.NewPCG(seed, 0x63756265))
	out := make([]designed, max(count, 0))
	for i := range out {
		p := gp.DefaultParams(kernel, d)
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
