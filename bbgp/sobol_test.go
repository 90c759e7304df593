package bbgp

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gptest"
)

// The indices of the Ishigami function (a = 7, b = 0.1) are known in closed form:
// first .3139, .4424, 0, total .5576, .4424, .2437. 900 rows have them to some hundredths.
func TestSobolIshigami(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	var rows [][]float64
	var y []float64
	for range 500 {
		x := []float64{0, 0, 0, 0}
		for j := range x {
			x[j] = math.Pi * (2*r.Float64() - 1)
		}
		s := math.Sin(x[1])
		rows = append(rows, x)
		y = append(y, math.Sin(x[0])+7*s*s+0.1*math.Pow(x[2], 4)*math.Sin(x[0]))
	}
	d, err := NewData(rows, y, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, e := context.Background(), gptest.Engine(t)
	m, err := Fit(ctx, d, Options{Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Sobol(ctx, SobolOptions{Groups: [][]int{{0}, {1}, {2}, {3}, {0, 2}}, Seed: 1, Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	want := []Sensitivity{{First: 0.3139, Total: 0.5576}, {First: 0.4424, Total: 0.4424}, {First: 0, Total: 0.2437}, {},
		{First: 0.5576, Total: 0.5576}}
	for i, w := range want {
		if g := got[i]; math.Abs(g.First-w.First) > 0.06 || math.Abs(g.Total-w.Total) > 0.06 {
			t.Errorf("group %d: %+v, want %+v", i, g, w)
		}
	}
	if _, err := m.Sobol(ctx, SobolOptions{Groups: [][]int{{4}}, Seed: 1, Engine: e}); err == nil {
		t.Error("an input that does not exist was accepted")
	}
	if _, err := m.Sobol(ctx, SobolOptions{Blocks: [][]int{{0, -1}}, Seed: 1, Engine: e}); err == nil {
		t.Error("a negative input was accepted")
	}
	blocks, err := m.Sobol(ctx, SobolOptions{Blocks: [][]int{{0, 2}, {1, 3}}, Seed: 1, Engine: e})
	if err != nil || len(blocks) != 2 || math.Abs(blocks[0].Total+blocks[1].Total-1) > 0.1 {
		t.Errorf("blocks %+v: %v", blocks, err)
	}
	again, err := m.Sobol(ctx, SobolOptions{Seed: 1})
	if err != nil || len(again) != 4 || again[0] != got[0] && math.Abs(again[0].Total-got[0].Total) > 0.05 {
		t.Errorf("%+v, before %+v: %v", again, got, err)
	}
}
