package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// ended returns a trainer that stands at p, as if a training had ended there.
func ended(t *testing.T, d *gp.Table, p gp.Params) (*Search, *Trainer) {
	t.Helper()
	f := searchOf(t, d, true)
	obj, err := f.Config.New(f.Std, p)
	if err != nil {
		t.Fatal(err)
	}
	tr := f.trainer(obj, f.Std, "train")
	tr.constant, tr.stageSteps, tr.maxEvals = f.Flat, StageStepsOf(f.Config.Method), f.Config.MaxSteps
	tr.inactive = tr.inactiveAt(p)
	if tr.Cur, err = tr.relocate(context.Background(), p, tr.inactive, math.Inf(-1)); err != nil {
		t.Fatal(err)
	}
	return f, tr
}

// A training that has ended with its noise at the floor goes on from more of it, where that is the likelier.
func TestLookTriesNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	d := filled(900, 3, func(_ int, x []float64) float64 {
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		return math.Sin(x[0]) + x[1]*x[2] + 0.2*rng.NormFloat64()
	})
	f, tr := ended(t, d, startAt(gp.MinParam, 2, 2, 2))
	before := tr.Cur.Ev.LML
	// Random rows that lead, and have come down to a hundredth of what would be tried, have told as much.
	f.blind, f.Starts = true, []Candidate{{Parameters: startAt(1.1e-5, 2, 2, 2)}}
	if better, err := f.otherNoise(context.Background(), tr); err != nil || better || len(f.Starts) > 1 {
		t.Fatal(better, err, f.Starts)
	}
	f.blind, f.Starts = false, nil
	better, err := f.otherNoise(context.Background(), tr)
	if err != nil || !better {
		t.Fatal(better, err, f.Starts)
	}
	if tr.Cur.P.Noise < 1e-4 || tr.Cur.Ev.LML < before+100 {
		t.Errorf("noise %g, L %v, at the floor %v", tr.Cur.P.Noise, tr.Cur.Ev.LML, before)
	}
}

// Noise that is too large, away from the floor, is left for less, beyond the doubt of the neighbours.
func TestLookTriesLessNoise(t *testing.T) {
	d, want := hidden("sine")
	start := startAt(0.5, 2)
	f, tr := ended(t, d, start)
	f.Config.Start = &start // else dense evaluations have compared many starts
	f.Starts = []Candidate{{From: "given", Parameters: start}}
	if _, err := f.lookAbout(context.Background(), tr, "converged"); err != nil {
		t.Fatal(err)
	}
	if tr.Cur.Ev.LML < want-1 {
		t.Errorf("L %v, want %v; %+v", tr.Cur.Ev.LML, want, f.Starts)
	}
}

// The training from the runner-up of the comparison is taken where it ends higher, and what it
// has left says so; where it ends lower, the first one stays.
func TestRunnerUp(t *testing.T) {
	d, want := hidden("sine")
	good, bad := startAt(1e-4, 0.1), startAt(0.5, 2)
	for _, first := range []gp.Params{bad, good} {
		f, tr := ended(t, d, first)
		other := good
		if first.Noise == good.Noise {
			if _, err := tr.run(context.Background(), first); err != nil {
				t.Fatal(err)
			}
			other = bad
		}
		f.Starts = []Candidate{{From: "first", Parameters: first},
			{From: "other", Parameters: other, Dropped: "behind"}}
		tr.second = &f.Starts[1]
		if _, err := f.runnerUp(context.Background(), tr, "converged"); err != nil {
			t.Fatal(err)
		}
		if tr.Cur.Ev.LML < want-1 {
			t.Errorf("from noise %g: L %v, want %v", first.Noise, tr.Cur.Ev.LML, want)
		}
		if won := Live(f.Starts); len(won) != 1 || won[0].Parameters.Noise > 1e-3 {
			t.Errorf("from noise %g: %+v", first.Noise, f.Starts)
		}
	}
}

// Two evaluations whose standard errors leave the order open make a runner-up, others do not.
func TestSecond(t *testing.T) {
	c := &Candidate{}
	a, near, far := &evidence.Value{LML: -10, StdErr: 2}, &evidence.Value{LML: -13, StdErr: 2},
		&evidence.Value{LML: -20, StdErr: 2}
	if second(c, a, near) != c || second(c, a, far) != nil ||
		second(c, a, &evidence.Value{Rejected: true, StdErr: 9}) != nil {
		t.Error("2.8 nats of standard error: 3 nats are open, 10 are not, and a rejected candidate is behind")
	}
}

// An input that the climb has taken beyond its range is let back where it tells the target.
func TestCoarseLetsInputsBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	d := filled(1500, 3, func(_ int, x []float64) float64 {
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		return math.Sin(2*x[0]) + 0.3*math.Sin(x[1]) + 0.1*rng.NormFloat64()
	})
	s, err := newCoarse(searchOf(t, d, true))
	if err != nil {
		t.Fatal(err)
	}
	a := s.from(Candidate{Parameters: startAt(0.05, 1, 900, 900)})
	got, err := s.back(context.Background(), []*ascent{a})
	if err != nil {
		t.Fatal(err)
	}
	if l := s.params(got[0].z).Lengthscales; got[0] == a || l[1] > 30 || a.dropped == "" {
		t.Errorf("lengthscales %.3g: the second input tells the target", l)
	}
}

// An input is gone by what it tells, not by its length alone, and a climb from far out on a ridge
// begins there.
func TestGone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	d := filled(800, 2, func(_ int, x []float64) float64 {
		x[0], x[1] = rng.NormFloat64(), rng.NormFloat64()
		return x[0] + rng.NormFloat64()
	})
	s, err := newCoarse(searchOf(t, d, true))
	if err != nil {
		t.Fatal(err)
	}
	short, long := startAt(0.5, 1, 60), startAt(0.5, 50, 200)
	long.Variance = 7000
	if got := s.f.gone(short); len(got) != 1 || got[0] != 1 {
		t.Errorf("gone at σ_f² = 1: %v", got)
	}
	if got := s.f.gone(long); len(got) != 0 {
		t.Errorf("gone at σ_f² = 7000: %v", got)
	}
	s.admit(long)
	if p := s.params(s.from(Candidate{Parameters: long}).z); math.Abs(p.Variance/7000-1) > 1e-9 {
		t.Errorf("a climb begins with σ_f² = %v", p.Variance)
	}
}
