package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// The information of terms is about that of all rows, weights, repeated rows, an input far away and the mean included,
// where y is a draw of the model.
func TestMapInformation(t *testing.T) {
	ctx, inf := context.Background(), gp.FarLength
	for name, c := range map[string]struct {
		d     *gp.Table
		p     gp.Params
		tells bool
	}{
		"repeats": {gptest.RepeatedTable(300, "weights", 3).Merged(),
			gp.Params{Kernel: "matern12", Mean: 1e3, Variance: 1, Noise: .05, Lengthscales: []float64{3, 2}}, true},
		"plane": {filled(400, 3, func(i int, x []float64) float64 {
			x[0], x[1], x[2] = math.Mod(float64(i)*0.618, 1), float64(i)/400, math.Mod(float64(i)*0.414, 1)
			return 0
		}), gp.Params{Kernel: "matern32", Variance: 1, Noise: .002, Lengthscales: []float64{.3, .6, inf}}, true},
	} {
		s := searchOf(t, c.d, false)
		tr := s.trainer(nil, s.Std, "train")
		tr.constant, tr.Cur.P = make([]bool, len(c.p.Lengthscales)), c.p.Clone()
		for j, l := range c.p.Lengthscales {
			if l == inf {
				tr.Cur.P.Lengthscales[j] = math.Inf(1)
			}
		}
		o, rows, err := whitenedRows(ctx, tr.e, s.Std, c.p, 0.5, false)
		if err != nil {
			t.Fatal(err)
		}
		_, _, within := s.Std.WithinGroups(c.p.Noise)
		fs := &fisher{f: gram(tr.e, rows), within: within}
		want := fs.information(gp.MeanInfo(tr.e, s.Std.X.Rows, o.Chol.SolveTo))
		const draws = 40
		mean := make([]float64, len(c.p.Lengthscales)+3)
		rng, l := rand.New(rand.NewPCG(4, 4)), o.Chol.Factor()
		for range draws {
			z := make([]float64, len(s.Std.Y))
			for i := range z {
				z[i], s.Std.Y[i] = rng.NormFloat64(), c.p.Mean
				for j := range i + 1 {
					s.Std.Y[i] += l.At(i, j) * z[j]
				}
			}
			got, tells, err := tr.mapInformation(ctx, c.p)
			if err != nil || tells != c.tells {
				t.Fatal(name, tells, err)
			}
			for i := range mean {
				mean[i] += got.at(i) / draws
			}
		}
		for i, a := range mean {
			if b := want.at(i); b > 1e-3 && !(a > 0.9*b && a < 1.15*b) || b <= 1e-3 && a > 0.01 {
				t.Errorf("%s: information of %d is %.4g, of all rows %.4g", name, i, a, b)
			}
		}
	}
}

// Neighbours do not tell lengths of a tenth of a table of 4000 rows beside noise as great as the function.
func TestNoisyMapInformation(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	d := filled(4000, 2, func(_ int, x []float64) float64 {
		x[0], x[1] = rng.Float64(), rng.Float64()
		return math.Sin(15*x[0]) + math.Cos(12*x[1]) + rng.NormFloat64()
	})
	s := searchOf(t, d, false)
	tr := s.trainer(nil, s.Std, "train")
	p := gp.Params{Kernel: "matern52", Variance: 1, Noise: 1, Lengthscales: []float64{.2, .2}}
	tr.constant, tr.Cur.P = make([]bool, 2), p
	if _, tells, err := tr.mapInformation(context.Background(), p); err != nil || tells {
		t.Error("64 neighbours are said to tell all", err)
	}
}

// A map of which a few rows tell far more than others: all terms end where their likelihood is highest, which a sample
// misses, more noise than that is left to no evaluation of all rows, and a table that is no map stays where it was.
func TestAllTerms(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(6, 1))
	d := roughRows(20000, 2, 0.01)
	for i := range d.Y {
		if rng.IntN(500) == 0 { // an edge
			d.Y[i] += 3 * rng.NormFloat64()
		}
	}
	f := searchOf(t, d, true)
	f.Config.Kernel = "matern12"
	s, err := newCoarse(f)
	if err != nil {
		t.Fatal(err)
	}
	a := s.from(Candidate{From: "here", Parameters: gp.Params{Kernel: "matern12", Variance: 1, Noise: 0.1,
		Lengthscales: []float64{.3, .3}}})
	if err := s.round(ctx, []*ascent{a}, coarseRound{8, 1000, 16, 1}); err != nil {
		t.Fatal(err)
	}
	sample := s.params(a.z)
	left, err := s.byAllTerms(ctx, []*ascent{a})
	if err != nil || len(left) != 1 || len(a.parts) < 2500 {
		t.Fatal(left, err, len(a.parts))
	}
	if _, gain := s.step(a); gain > allWorth && a.evals < 16 {
		t.Errorf("%.3g nats are left after %d evaluations", gain, a.evals)
	}
	b := *a
	score, err := s.evaluate(ctx, &b, logVector(sample))
	if err != nil || score.Value > a.value-10 {
		t.Errorf("the sample ends at %.1f, all terms at %.1f: %v", score.Value, a.value, err)
	}
	if tops, err := s.tops(ctx, left); err != nil || len(tops) != 1 || tops[0].Gain < 0 {
		t.Error("the top of the ridge is lower:", tops, err)
	}
	wrong := s.params(a.z)
	wrong.Variance *= 2
	tops, err := s.topsByAll(ctx, left, []ridgeTop{{wrong, 50}})
	if err != nil || tops[0].P.Variance == wrong.Variance || math.Abs(math.Log(tops[0].P.Variance)-a.z[2]) > 0.2 {
		t.Errorf("by random rows alone: %+v, %v", tops, err)
	}
	more := Candidate{Parameters: s.params(a.z)}
	more.Parameters.Noise *= 30
	if err := s.raised(ctx, a, &more); err != nil || more.Dropped == "" || !(float64(more.Value) < a.value) {
		t.Errorf("more noise: %+v, %v", more, err)
	}
	more = Candidate{Value: evidence.Bound(1), Parameters: s.params(a.z)}
	more.Parameters.Kernel = "gaussian" // of which near rows do not tell the noise
	if err := s.raised(ctx, a, &more); err != nil || more.Dropped != "" || more.Value != 1 {
		t.Errorf("a Gaussian: %+v, %v", more, err)
	}
	f.Std = f.Std.Rows(gp.Subset(20000, 5000, 1))
	before := a.evals
	if left, err := s.byAllTerms(ctx, []*ascent{a}); err != nil || len(left) != 1 || a.evals != before {
		t.Error("5000 rows are no map", err)
	}
}
