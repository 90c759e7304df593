package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
)

// byLanczos returns a search of rough rows and a trainer with evaluations of many passes in float64 by products, at p.
func byLanczos(t *testing.T, n int, p gp.Params) (*Search, *Trainer) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	d := filled(n, 3, func(_ int, x []float64) float64 {
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		return math.Sin(3*x[0]) + math.Cos(2*x[1]) + x[2] + 0.05*rng.NormFloat64()
	})
	f, tr := ended(t, d, p)
	f.Config.Method = "bbgp"
	var err error
	if tr.obj, err = lanczos.New(f.Config.Engine, f.Std, p); err != nil {
		t.Fatal(err)
	}
	tr.eval.Precision, tr.eval.Product, tr.eval.Rank, tr.eval.Neighbours, tr.eval.Eps = "f64", "dense", 0, 5, 4
	if tr.Cur, err = tr.relocate(context.Background(), p, tr.inactive, math.Inf(-1)); err != nil {
		t.Fatal(err)
	}
	return f, tr
}

// The evaluation of a relocated step is brought to what others are compared with by the passes that are left, with the
// same P; where a step has left it, a stage begins and makes all of them.
func TestRefine(t *testing.T) {
	p := startAt(0.01, 1, 1, 2)
	for _, moved := range []bool{false, true} {
		_, tr := byLanczos(t, 500, p)
		relocated := tr.Cur
		if !tr.settles() || !tr.goesOn() {
			t.Fatalf("%+v", relocated.Ev)
		}
		tr.moved = moved
		if err := tr.refine(context.Background()); err != nil {
			t.Fatal(err)
		}
		ev := tr.Cur.Ev
		if want := map[bool]int{false: relocated.Ev.Passes, true: 0}[moved]; ev.Before != want || ev == relocated.Ev {
			t.Errorf("moved %v: %d passes were there, want %d", moved, ev.Before, want)
		}
		if !tr.fresh || tr.eval.After != 0 || ev.Upper-ev.Lower > relocated.Ev.Upper-relocated.Ev.Lower ||
			!tr.Cur.P.SameCovariance(p) {
			t.Errorf("moved %v: [%v, %v], before [%v, %v]; fresh %v", moved, ev.Lower, ev.Upper, relocated.Ev.Lower,
				relocated.Ev.Upper, tr.fresh)
		}
	}
}

// A place that other lengthscales have led to is judged by all rows: one ahead is gone to, one behind dropped, and an
// untrained one has a little room.
func TestOnAllRows(t *testing.T) {
	ctx, home := context.Background(), startAt(0.1, 4, 4, 4)
	f, tr := byLanczos(t, 500, home)
	s := &otherSearch{f: f, d: f.Std}
	was := tr.Cur
	ahead := Candidate{Parameters: startAt(0.02, 1, 1.5, 4)}
	at, err := s.onAllRows(ctx, tr, &ahead, true)
	if err != nil || ahead.Dropped != "" || !(at.Ev.LML > was.Ev.LML+10) || float64(ahead.LML) != at.Ev.LML {
		t.Fatalf("%v %+v, before %v", err, ahead, was.Ev.LML)
	}
	tr.Cur = at
	behind := Candidate{Parameters: startAt(0.5, 4, 4, 4)}
	if _, err := s.onAllRows(ctx, tr, &behind, false); err != nil || behind.Dropped == "" {
		t.Errorf("%v: %+v", err, behind)
	}
	gained := *at.Ev // as if a training had gained a little
	gained.LML += otherBehind / 2.
	tr.Cur.Ev = &gained
	for _, near := range []bool{true, false} {
		c := Candidate{Parameters: at.P}
		if _, err := s.onAllRows(ctx, tr, &c, near); err != nil || (c.Dropped == "") == near {
			t.Errorf("%v, near %v: %+v", err, near, c)
		}
	}
}
