package score

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Abs(want)) {
		t.Errorf("%s is %v, not %v", what, got, want)
	}
}

// Student's t has quantiles in every table, and a density in closed form, out to
// where no other law has any left.
func TestStudent(t *testing.T) {
	for _, c := range []struct{ df, q95, q99 float64 }{
		{1, 12.706204736432095, 63.65674116287399}, {2, 4.302652729911275, 9.92484320091807},
		{2.5, 3.558134, 7.324}, {4, 2.7764451051977987, 4.604094871415897}, {7, 2.3646242510102993, 3.4994832973505026},
		{30, 2.0422724563012373, 2.7499956535672254}, {1000, 1.9623390808264078, 2.580754697},
	} {
		l := Law{Mean: 3, Mixed: 4, Tail: NewTail(c.df)}
		if c.df != 2.5 {
			near(t, "95 % quantile", l.HalfWidth(0.95), 2*c.q95, 1e-8)
			near(t, "99 % quantile", l.HalfWidth(0.99), 2*c.q99, 1e-8)
			near(t, "SD", l.SD(), 2*c.q95/z95, 1e-8)
		}
		g1, _ := math.Lgamma((c.df + 1) / 2)
		g0, _ := math.Lgamma(c.df / 2)
		for _, z := range []float64{0, 0.3, 1, 4, 30, 1e4, 1e7} {
			want := g1 - g0 - 0.5*math.Log(c.df*math.Pi) - (c.df+1)/2*math.Log1p(z*z/c.df) - math.Log(2)
			if got := l.LogDensity(3 - 2*z); c.df < 100 && math.Abs(got-want) > 1e-8 {
				t.Errorf("%v degrees, z = %v: log density %v, not %v", c.df, z, got, want)
			}
		}
		near(t, "probability beyond the 95 % quantile", l.Beyond(3+l.HalfWidth(0.95)), 0.05, 1e-8)
	}
	if NewTail(0) != nil || NewTail(1e5) != nil || (*Tail)(nil).DF() != 0 || NewTail(4).DF() != 4 {
		t.Error("normal laws have a tail")
	}
}

// A normal function with t noise: density, distribution and score are those of
// draws, and between those of its parts.
func TestMixture(t *testing.T) {
	l := Law{Mean: 1, Fixed: 0.5, Mixed: 0.3, Tail: NewTail(4)}
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() float64 {
		chi := 0.0
		for range 4 {
			z := rng.NormFloat64()
			chi += z * z
		}
		return 1 + math.Sqrt(l.Fixed)*rng.NormFloat64() + math.Sqrt(l.Mixed/(chi/4))*rng.NormFloat64()
	}
	const n = 400000
	h, beyond, crps := l.HalfWidth(0.95), 0.0, 0.0
	for range n {
		v := draw()
		if math.Abs(v-1) > h {
			beyond++
		}
		crps += math.Abs(v-2.5) - math.Abs(v-draw())/2
	}
	near(t, "share beyond the 95 % interval", beyond/n, 0.05, 0.03)
	near(t, "CRPS", l.CRPS(2.5), crps/n, 0.01)
	// The density is the slope of the distribution.
	for _, y := range []float64{1.2, 2, 4, 9} {
		const d = 1e-4
		near(t, "density", math.Exp(l.LogDensity(y)), (l.Beyond(y-d)-l.Beyond(y+d))/(4*d), 1e-6)
	}
	// The score of a normal law is that of the limit.
	near(t, "CRPS of many degrees", Law{Mixed: 1, Tail: NewTail(1100)}.CRPS(0.7), Normal(0, 1).CRPS(0.7), 2e-3)
}

// One rule for what has no density, wherever it is scored.
func TestScoreWithoutDensity(t *testing.T) {
	for _, c := range []struct {
		law      Law
		y        float64
		coverage float64
	}{{Law{Mean: 7}, 7, 1}, {Law{Mean: 7}, 7.5, 0}, {Law{Mean: 7, Fixed: math.Inf(1)}, 9, 1}} {
		var s Sum
		s.Add(c.y, c.law)
		r := s.Score(2)
		if !math.IsNaN(r.NLPD) || !math.IsNaN(r.NLPDStd) || r.Coverage95 != c.coverage ||
			r.RMSE != math.Abs(c.y-7) || !math.IsNaN(r.R2) {
			t.Errorf("%+v", r)
		}
		v, err := Validate([]float64{c.y}, []Law{c.law}, 1)
		if err != nil || !math.IsNaN(v.NLPD) || v.Coverage95 != c.coverage {
			t.Errorf("%+v, %v", v, err)
		}
		for _, x := range []any{r, v} {
			b, err := json.Marshal(x)
			if err != nil || !json.Valid(b) {
				t.Errorf("%s, %v", b, err)
			}
		}
	}
	var s Sum
	s.AddMean(1, 2)
	if b, err := json.Marshal(s.Score(1)); err != nil ||
		string(b) != `{"n":1,"rmse":1,"nlpd":null,"coverage95":null,"rmse_std":1,"nlpd_std":null,"r2":null}` {
		t.Errorf("%s, %v", b, err)
	}
}

// R² is 1 - mean squared error / variance.
func TestR2(t *testing.T) {
	var s Sum
	for i, y := range []float64{1, 2, 4, 5} {
		s.AddMean(y, []float64{1, 2, 4, 3}[i])
	}
	near(t, "R²", s.Score(1).R2, 1-4.0/10, 1e-12)
}
