package bbgp

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/gptest"
)

// A model knows the rows that it was trained on, repeated ones too, and gives them back.
func TestTrainedRows(t *testing.T) {
	d := randomData(40, 3, 9)
	d.NoiseScale, d.NoiseExtra = nil, nil
	copy(d.X.Row(39), d.X.Row(2))
	e := gptest.Engine(t)
	m, err := Fit(context.Background(), d, Options{Engine: e, MaxSteps: 5})
	if err != nil {
		t.Fatal(err)
	}
	xs := d.Rows([]int{5, 39, 7, 2}).X
	xs.Set(2, 1, xs.At(2, 1)+1e-9)
	got, err := m.Trained(xs)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] < 0 || got[1] < 0 || got[2] != -1 || got[3] != got[1] {
		t.Errorf("rows %v", got)
	}
	back := m.Training()
	if len(back.Y) != 39 {
		t.Fatalf("%d rows", len(back.Y))
	}
	for j := range 3 {
		if v, w := back.X.At(got[0], j), xs.At(0, j); math.Abs(v-w) > 1e-12*(1+math.Abs(w)) {
			t.Errorf("input %d is %v, was %v", j, v, w)
		}
	}
	if v := back.Y[got[0]]; math.Abs(v-d.Y[5]) > 1e-12*(1+math.Abs(v)) {
		t.Errorf("target %v, was %v", v, d.Y[5])
	}
}
