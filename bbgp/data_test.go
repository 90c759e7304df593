package bbgp

import (
	"errors"
	"math"
	"testing"

	"bbgp.dev/linalg"
	"gonum.org/v1/gonum/mat"
)

func TestDataChecks(t *testing.T) {
	good := func() *Data {
		d, err := NewData([][]float64{{1, 2}, {3, 4}, {5, 7}}, []float64{1, 2, 3}, []string{"a", "b"})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if err := good().check(true); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   string
		change func(*Data)
		row    int
		column string
	}{
		{"NaN input", func(d *Data) { d.X.Set(1, 1, math.NaN()) }, 1, "b"},
		{"infinite target", func(d *Data) { d.Y[2] = math.Inf(1) }, 2, "y"},
		{"short target", func(d *Data) { d.Y = d.Y[:2] }, -1, "y"},
		{"negative noise variance", func(d *Data) { d.NoiseExtra = []float64{0, -1, 0} }, 1, "noise variance"},
		{"zero noise scale", func(d *Data) { d.NoiseScale = []float64{1, 1, 0} }, 2, "noise scale"},
		{"no rows", func(d *Data) { d.X, d.Y = linalg.NewMatrix(0, 2), nil }, -1, ""},
		{"no inputs", func(d *Data) { d.X, d.Names = linalg.NewMatrix(3, 0), nil }, -1, ""},
		{"names", func(d *Data) { d.Names = d.Names[:1] }, -1, ""},
	} {
		d := good()
		c.change(d)
		var bad *DataError
		if err := d.check(true); !errors.As(err, &bad) || bad.Row != c.row || bad.Column != c.column {
			t.Errorf("%s: error %v", c.what, err)
		}
	}
	if _, err := NewData([][]float64{{1, 2}, {3}}, nil, nil); err == nil {
		t.Error("ragged rows were taken")
	}
}

func TestDataFromGonum(t *testing.T) {
	d := DataFrom(mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6}), []float64{1, 2})
	if d.X.Rows != 2 || d.X.Cols != 3 || d.X.At(1, 2) != 6 || d.Name(2) != "x3" || d.TargetName() != "y" {
		t.Errorf("got %+v", d)
	}
}

// TestScalingLargeOffset: a column of 1e13 + 100 i standardises as i does.
func TestScalingLargeOffset(t *testing.T) {
	n := 200
	far, near := linalg.NewMatrix(n, 1), linalg.NewMatrix(n, 1)
	y := make([]float64, n)
	for i := range n {
		far.Data[i], near.Data[i], y[i] = 1e13+100*float64(i), float64(i), float64(i%7)
	}
	a, b := NewScaling(&Data{X: far, Y: y}, false), NewScaling(&Data{X: near, Y: y}, false)
	a.XTo(far, far)
	b.XTo(near, near)
	for i := range n {
		if math.Abs(far.Data[i]-near.Data[i]) > 1e-6 {
			t.Fatalf("row %d: %v and %v", i, far.Data[i], near.Data[i])
		}
	}
	id := NewScaling(&Data{X: near, Y: y}, true)
	if id.XMean[0] != 0 || id.XScale[0] != 1 || id.YMean != 0 || id.YScale != 1 {
		t.Errorf("identity is %+v", id)
	}
}
