package train

import (
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/gp"
)

// Where the coarse search begins.

// designed returns the designed starts: one length for all inputs in units of their
// standard deviations, from far beyond the range to the distance of near rows, with
// much noise and with little.
func (s *coarse) designed() []Candidate {
	f := s.f
	d := f.Std.X.Cols
	sd, active := make([]float64, d), 0.0
	for j := range sd {
		sd[j] = columnSD(f.Std, j)
		if !f.Flat[j] {
			active++
		}
	}
	variance := varianceOf(f.Std.Y)
	var out []Candidate
	gap := max(1.5*nearGap(f.Std, sd, f.Flat), leastStart)
	for l := 3 * math.Sqrt(active); ; l /= math.E {
		l = max(l, gap)
		for _, noise := range []float64{0.5, 0.02} {
			p := gp.DefaultParams(f.Config.Kernel, d)
			p.Variance, p.Noise = variance, max(noise*variance, gp.MinParam)
			for j := range sd {
				p.Lengthscales[j] = l * sd[j]
			}
			out = append(out, Candidate{From: fmt.Sprintf("lengths %.2g sd, noise %g", l, noise), Parameters: p})
		}
		if l <= gap {
			return out
		}
	}
}

const (
	gapRows    = 100  // rows whose nearest other row is looked for
	leastStart = 1e-5 // standard deviations; structure that is shorter has no start of its own
)

// nearGap is the median distance of a row to the nearest at another place, in units of
// standard deviations.
func nearGap(d *gp.Table, sd []float64, flat []bool) float64 {
	var gaps []float64
	for _, i := range gp.Subset(d.X.Rows, min(gapRows, d.X.Rows), 0) {
		best, a := math.Inf(1), d.X.Row(i)
		for k := range d.X.Rows {
			sum := 0.0
			for j, v := range d.X.Row(k) {
				t := (v - a[j]) / sd[j]
				if !flat[j] {
					sum += t * t
				}
			}
			if sum > 0 {
				best = min(best, sum)
			}
		}
		gaps = append(gaps, math.Sqrt(best))
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}
