package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
)

// Of two ends that their probes leave open the higher one is taken, whatever these said: by dense
// evaluations of few rows, else by the same probes for both.
func TestHigher(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 4))
	d := filled(500, 3, func(_ int, x []float64) float64 {
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		return math.Sin(2*x[0]) + x[1] + 0.2*rng.NormFloat64()
	})
	for _, finishes := range []bool{true, false} {
		f, tr := ended(t, d, startAt(0.05, 1, 8, 60))
		var err error
		if tr.obj, err = lanczos.New(f.Config.Engine, f.Std, tr.Cur.P); err != nil {
			t.Fatal(err)
		}
		f.Config.Method = "bbgp"
		lower, err := tr.relocate(context.Background(), startAt(0.05, 1, 2, 60), tr.inactive, math.Inf(-1))
		if err != nil {
			t.Fatal(err)
		}
		if !finishes {
			tr.maxEvals = f.Count.Evals
		}
		// What the probes said: the lower one leads.
		high := *tr.Cur.Ev
		high.LML, high.StdErr, lower.Ev.StdErr = lower.Ev.LML-1, 8, 8
		tr.Cur.Ev = &high
		if f.wantsDenseFinish(tr) != finishes {
			t.Fatal("the test does not ask for what it is about")
		}
		ahead, best, err := f.higher(context.Background(), tr, lower)
		if err != nil {
			t.Fatal(err)
		}
		if finishes && math.Abs(tr.Cur.Ev.LML-best.Ev.LML) > 0.5 || !finishes && !ahead {
			t.Errorf("finishes %v: ahead %v, %v and %v", finishes, ahead, tr.Cur.Ev.LML, best.Ev.LML)
		}
	}
}

// Few rows have a dense finish where probes hide gains, and on ridges beyond the room of the coarse search, where
// slopes promise little of what is left; not after dense evaluations, nor many rows.
func TestWantsDenseFinish(t *testing.T) {
	for _, c := range []struct {
		rows         int
		variance, se float64
		finishes     bool
	}{{1000, 20, 0.2, false}, {1000, 20, 0.5, true}, {1000, 80, 0.2, true}, {1000, 80, 0, false},
		{5000, 80, 0.5, false}} {
		f := searchOf(t, roughRows(c.rows, 2, 0.01), false)
		f.Config.Kernel, f.Config.Method = "matern12", "bbgp"
		tr := f.trainer(nil, f.Std, "train")
		p := gp.Params{Kernel: "matern12", Variance: c.variance, Noise: 0.01, Lengthscales: []float64{9, 9}}
		tr.Cur, tr.maxEvals = Iterate{P: p, Ev: &evidence.Value{StdErr: c.se}}, 100
		if f.wantsDenseFinish(tr) != c.finishes {
			t.Errorf("%d rows, variance %g, standard error %g: finishes %v", c.rows, c.variance, c.se, !c.finishes)
		}
	}
}
