package train

import (
	"context"
	"math"

	"bbgp.dev/internal/gp"
)

// The paper's optimiser: Adam with step 0.1 on u, θ = 1e-6 + softplus(u), with
// a new preconditioner and new probes at every step.

const (
	adamStep   = 0.1
	adamWindow = 20 // steps over which a gain below eps ends the training
)

// runAdam climbs from p. t.cur ends as the best point by its lower
// bound, as far as the probes can tell.
func (t *Trainer) runAdam(ctx context.Context, p gp.Params) (string, error) {
	t.inactive = t.inactiveAt(p)
	u := softVector(p)
	opt := newAdam(len(u), adamStep)
	var means []float64 // of windows
	sum := 0.0
	for t.stage = 1; ; t.stage++ {
		q := withInactive(fromSoft(p.Kernel, u), t.inactive)
		t.eval.Seed = t.opt.Seed + uint64(t.stage)
		if err := t.obj.Rebuild(ctx, q, t.eval); err != nil {
			return "", err
		}
		pt, err := t.evaluate(ctx, q, math.Inf(-1))
		if err != nil {
			return "", err
		}
		// The later of two that the probes cannot tell apart.
		better := t.Cur.Ev == nil || pt.Ev.Lower > t.Cur.Ev.Lower-2*pt.Ev.StdErr
		t.report(pt, better)
		if better {
			t.Cur = pt
		}
		if t.count.Evals >= t.maxEvals {
			return "max-steps", nil
		}
		sum += pt.Ev.LML / adamWindow
		if t.stage%adamWindow == 0 {
			means = append(means, sum)
			sum = 0
			if k := len(means); k > 2 && means[k-1]-means[k-2] < t.eps {
				return "converged", nil
			}
		}
		g := softGradient(pt.Ev.Gradient, u)
		for j, o := range t.inactive {
			if o {
				g[j] = 0
			}
		}
		if t.opt.FixMean {
			g[len(g)-1] = 0
		}
		opt.move(u, g)
	}
}

// An adam is the optimiser of Kingma and Ba (2015) with its usual constants,
// climbing.
type adam struct {
	step   float64
	t      int
	m1, m2 []float64
}

func newAdam(n int, step float64) *adam {
	return &adam{step: step, m1: make([]float64, n), m2: make([]float64, n)}
}

// move changes u by one step along the gradient g.
func (a *adam) move(u, g []float64) {
	const b1, b2, tiny = 0.9, 0.999, 1e-8
	a.t++
	c1, c2 := 1-math.Pow(b1, float64(a.t)), 1-math.Pow(b2, float64(a.t))
	for i, v := range g {
		a.m1[i] = b1*a.m1[i] + (1-b1)*v
		a.m2[i] = b2*a.m2[i] + (1-b2)*v*v
		u[i] += a.step * (a.m1[i] / c1) / (math.Sqrt(a.m2[i]/c2) + tiny)
	}
}
