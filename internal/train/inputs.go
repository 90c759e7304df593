package train

import (
	"math"
	"slices"

	"bbgp.dev/internal/gp"
)

// The active set of inputs, those in the distance (Neal 1996): inactive ones, at ℓ = +Inf, are activated by the sign
// of the derivative by w = 1/ℓ², those that do not matter are deactivated.

// activate sets t.reentry to the lengthscales of the inactive inputs that
// promise a gain by the model of L in w = 1/ℓ² at w = 0, at its maximum over
// 0 <= w <= 1/9. In units v of 1/9, ∂L/∂log ℓ = -2w ∂L/∂w and
// F_log = 4 w w' F_w at w = FarLength⁻² give g and F of v.
func (t *Trainer) activate() {
	const nearest = 3.0 // least lengthscale to come in with
	unit := (gp.FarLength / nearest) * (gp.FarLength / nearest)
	n := len(t.Cur.z)
	g, lo, hi := make([]float64, n), make([]float64, n), make([]float64, n)
	free, units := make([]bool, n), make([]float64, n)
	t.reentry = nil
	for i := range n {
		hi[i] = 1
	}
	for i, o := range t.inactive {
		if !o || t.constant[i] || t.Cur.g[i] >= 0 {
			continue
		}
		f := t.model.base.at(i) * unit * unit / 4
		if g[i] = -t.Cur.g[i] * unit / 2; !(f > 0) || g[i]*min(g[i]/f, 1)/2 < activateGain*t.worth() {
			continue
		}
		free[i], units[i] = true, unit/2
	}
	if !slices.Contains(free, true) {
		return
	}
	v, _ := (&quadraticModel{e: t.e, base: t.model.base.scaled(units)}).step(g, lo, hi, free)
	for i, f := range free {
		if l := nearest / math.Sqrt(t.cut*v[i]); f && l < gp.FarLength/nearest {
			if t.reentry == nil {
				t.reentry = make([]float64, len(t.inactive))
			}
			t.reentry[i] = l
		}
	}
}

// deactivate returns which inputs are inactive in the next trial: besides those of now, those whose likelihood
// does not fall with ℓ and for which the model of L in w = 1/ℓ², going to
// w = 0, changes by g/2 - F/8, next to nothing.
func (t *Trainer) deactivate(center []float64) []bool {
	inactive := append([]bool{}, t.inactive...)
	for j := range inactive {
		if inactive[j] {
			continue
		}
		// Information was measured at the start of the stage; it falls as ℓ⁻⁴.
		g, f := t.Cur.g[j], t.model.base.at(j)*math.Exp(4*(center[j]-t.Cur.z[j]))
		if cost := f/8 + math.Abs(g)/2; cost < deactivateCost*t.eps && g >= 0 || cost < deactivateCost/5*t.eps {
			inactive[j] = true
		}
	}
	return inactive
}
