package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// stood returns rows of which the second input tells what the third tells less well, and of which the
// fourth tells nothing, and where a training has ended with the second and the fourth out.
func stood(t *testing.T) (*Search, *Trainer) {
	rng := rand.New(rand.NewPCG(7, 4))
	d := filled(400, 4, func(_ int, x []float64) float64 {
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		x[2] = x[1] + 0.3*rng.NormFloat64()
		return math.Sin(2*x[0]) + math.Sin(x[1]) + 0.1*rng.NormFloat64()
	})
	p := startAt(0.1, 1, math.Inf(1), 2, math.Inf(1))
	f, tr := ended(t, d, p)
	f.Config.Start = &p // else dense evaluations have compared many starts
	f.Starts = []Candidate{{From: "given", Parameters: p}}
	return f, tr
}

// Inputs that are out come back where they gain, whatever took them out, and the candidates say so.
func TestLetBack(t *testing.T) {
	f, tr := stood(t)
	before := tr.Cur.Ev.LML
	if err := f.letBack(context.Background(), tr); err != nil {
		t.Fatal(err)
	}
	if l := tr.Cur.P.Lengthscales; tr.Cur.Ev.LML < before+100 || !(l[1] < 10) || l[3] < 30 {
		t.Errorf("L %v, before %v; lengthscales %v", tr.Cur.Ev.LML, before, l)
	}
	if won := Live(f.Starts); len(won) != 1 || won[0].By != "check" || !won[0].Ended || f.Starts[0].Dropped == "" {
		t.Errorf("%+v", f.Starts)
	}
	// From there nothing is to be gained.
	end, starts := tr.Cur, len(f.Starts)
	if err := f.letBack(context.Background(), tr); err != nil {
		t.Fatal(err)
	}
	if tr.Cur.Ev.LML != end.Ev.LML && tr.Cur.Ev.LML < end.Ev.LML {
		t.Errorf("L %v, before %v", tr.Cur.Ev.LML, end.Ev.LML)
	}
	for _, c := range f.Starts[starts:] {
		if c.Dropped == "" && tr.Cur.Ev == end.Ev {
			t.Errorf("%+v", c)
		}
	}
}

// What harms by its slope stays out, and what the distance sees already is left as it is.
func TestWithBack(t *testing.T) {
	f, tr := stood(t)
	g := make([]float64, 7)
	g[3] = 1 // at the farthest length: so much harm at any other
	q, back := f.withBack(tr.Cur.P, g)
	if l := q.Lengthscales; back != 1 || !(l[1] < 30) || !math.IsInf(l[3], 1) || l[0] != 1 || l[2] != 2 {
		t.Errorf("%d back: %v", back, l)
	}
}

// Neighbours of all rows let an input back that another stood for, and lead by little where nothing is
// to be gained.
func TestLetBackByNeighbours(t *testing.T) {
	f, tr := stood(t)
	s, err := newCoarse(f)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.letBack(context.Background(), tr.Cur.P)
	if err != nil {
		t.Fatal(err)
	}
	if l := c.Parameters.Lengthscales; c.Dropped != "" || !(l[1] < 10) || l[0] != 1 {
		t.Errorf("lengthscales %v, %s", l, c.Dropped)
	}
	good := startAt(0.01, 1.5, 3, math.Inf(1), math.Inf(1))
	if c, err = s.letBack(context.Background(), good); err != nil {
		t.Fatal(err)
	}
	if c.Dropped == "" {
		t.Errorf("from the right inputs: lengthscales %v", c.Parameters.Lengthscales)
	}
}
