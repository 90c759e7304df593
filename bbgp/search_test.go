package bbgp

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// A fit that is resumed takes the candidates from the journal and has the same bits.
func TestSearchIsKept(t *testing.T) {
	d := randomData(90, 2, 5)
	opt := Options{Engine: gptest.Engine(t)}
	plain, err := Fit(context.Background(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "j")
	for i := range 2 {
		m, replayed, err := journalFit(t, context.Background(), path, d, opt)
		if err != nil || i == 1 && replayed < 2 {
			t.Fatal(replayed, err)
		}
		sameFit(t, "with a journal", plain, m)
		if len(m.Result.Starts) != len(plain.Result.Starts) ||
			m.Result.Starts[0].Value != plain.Result.Starts[0].Value {
			t.Errorf("%d starts, want %d", len(m.Result.Starts), len(plain.Result.Starts))
		}
	}
}

// Any number of threads gives the same bits.
func TestSearchThreads(t *testing.T) {
	d := randomData(150, 2, 6)
	var first *Model
	for _, threads := range []int{1, 3} {
		e, err := linalg.NewEngine(nil, threads)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Fit(context.Background(), d, Options{Engine: e})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = m
		}
		sameFit(t, "threads", first, m)
	}
}

// TestSearchFewRows: what few rows hide is found, whatever the seed: Branin on a Latin
// hypercube, a block of rows written three times, a fast sine.
func TestSearchFewRows(t *testing.T) {
	block := func(times int) *Data {
		d := &Data{X: linalg.NewMatrix(13*times, 1)}
		for i := range 13 * times {
			x := 10 * float64(i%13) / 12
			d.X.Set(i, 0, x)
			d.Y = append(d.Y, math.Sin(x)+0.1*x)
		}
		return d
	}
	once, err := Fit(context.Background(), block(1), Options{Engine: gptest.Engine(t), Kernel: "gaussian"})
	if err != nil {
		t.Fatal(err)
	}
	seeds := uint64(2)
	if long() {
		seeds = 5
	}
	for seed := range seeds {
		for _, times := range []int{2, 3, 10} {
			m, err := Fit(context.Background(), block(times),
				Options{Engine: gptest.Engine(t), Kernel: "gaussian", Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if noise := m.Parameters.Noise; noise > 1.01*gp.MinParam || once.Parameters.Noise > 1.01*gp.MinParam {
				t.Errorf("seed %d, a block of 13 rows %d times: noise %g, once %g",
					seed, times, noise, once.Parameters.Noise)
			}
		}
		for _, n := range []int{120, 200, 300, 400} {
			d := &Data{X: linalg.NewMatrix(n, 1)}
			for i := range n {
				x := float64(i) / float64(n-1)
				d.X.Set(i, 0, x)
				d.Y = append(d.Y, math.Sin(2*math.Pi*16*x))
			}
			m, err := Fit(context.Background(), d, Options{Engine: gptest.Engine(t), Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if m.Parameters.Noise > 1e-4 || n == 300 && m.Result.LML < 300 {
				t.Errorf("seed %d, %d rows of a sine of 16 periods: noise %g, L %v",
					seed, n, m.Parameters.Noise, m.Result.LML)
			}
		}
	}
}

// Inputs that have gone come back after the training, if they tell something.
func TestGoneInputsComeBack(t *testing.T) {
	d := sensors(1200)(rand.New(rand.NewPCG(2, 2)))
	start := startAt(0.5, 1, 1e6, 1e6, math.Inf(1), math.Inf(1), math.Inf(1))
	m, err := Fit(context.Background(), d, Options{Engine: gptest.Engine(t), Start: &start})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("L %v, %.3g, %.2f CPU s", m.Result.LML, m.Parameters.Lengthscales, m.Result.CPUSeconds)
	for _, c := range m.Result.Starts {
		t.Logf("%s by %s: value %v, L %v; %s", c.From, c.By, float64(c.Value), float64(c.LML), c.Dropped)
	}
	if l := m.Parameters.Lengthscales; l[3] > 30 || l[4] > 30 || m.Result.LML < 80 {
		t.Errorf("L %v, lengthscales %.3g: the fourth and fifth input make one term", m.Result.LML, l)
	}
}

// Two maxima that the data hardly tell apart are said.
func TestRivalIsSaid(t *testing.T) {
	r := &Result{LML: -10, Parameters: startAt(0.5, 2), Starts: []Candidate{
		{LML: -10, Ended: true, Parameters: startAt(0.5, 2)},
		{LML: -12, Ended: true, Dropped: "at its end", Parameters: startAt(0.001, 0.05)},
	}}
	r.rival()
	if len(r.Warnings) != 1 {
		t.Errorf("warnings %q", r.Warnings)
	}
	r.Warnings, r.Starts[1].Parameters = nil, startAt(0.55, 2.5)
	r.rival()
	if len(r.Warnings) != 0 {
		t.Errorf("the same place: %q", r.Warnings)
	}
}
