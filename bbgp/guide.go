package bbgp

import "bbgp.dev/internal/evidence"

func (f *fit) guide() evidence.Prior {
	n, d := f.full.X.Rows, f.Raw.X.Cols
	if f.opt.NoScale {
		return evidence.Prior{}
	}
	w := 1.0
	if !evidence.TooFewRows(n, d) {
		w = max(float64(10*d-n)/float64(10*d-(d+3)), 0)
	}
	return evidence.Prior{Weight: w, Known: f.Raw.X.Rows < n || f.full.NoiseExtra != nil}
}

// unguide takes the priors out of a result.
func (r *Result) unguide(g evidence.Prior) {
	if g.Weight == 0 {
		return
	}
	v := g.Weight * evidence.LogPrior(r.Parameters, g.Known, nil)
	r.LML -= v
	r.Lower -= Bound(v)
	r.Upper -= Bound(v)
	r.Interval95.Shift(-v)
	r.Interval999.Shift(-v)
}

// remark says that priors were at work.
func (r *Result) remarkGuide(g evidence.Prior) {
	if g.Weight == 0 {
		return
	}
	words := "do not identify"
	if g.Weight < 1 {
		words = "hardly identify"
	}
	r.warn("%d rows %s the lengthscales of %d inputs: weak priors keep the parameters bounded; intervals rest on them",
		r.N, words, r.D)
}
