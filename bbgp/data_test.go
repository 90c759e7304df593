package bbgp

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
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
	d := &Data{X: linalg.MatrixOf(mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})), Y: []float64{1, 2}}
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
	a, b := gp.Standardise(far, y, gp.PaperFloor), gp.Standardise(near, y, gp.PaperFloor)
	a.XTo(far, far)
	b.XTo(near, near)
	for i := range n {
		if math.Abs(far.Data[i]-near.Data[i]) > 1e-6 {
			t.Fatalf("row %d: %v and %v", i, far.Data[i], near.Data[i])
		}
	}
	id := gp.Identity(1)
	if id.XMean[0] != 0 || id.XScale[0] != 1 || id.YMean != 0 || id.YScale != 1 {
		t.Errorf("identity is %+v", id)
	}
}

// TestUnits: a model is the same in all units, whatever they do to the size of the
// numbers, offsets included.
func TestUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 14))
	const n = 120
	x, y := linalg.NewMatrix(n, 2), make([]float64, n)
	for i := range n {
		x.Set(i, 0, rng.Float64())
		x.Set(i, 1, 3+rng.NormFloat64())
		y[i] = 2 + math.Sin(8*x.At(i, 0)) + 0.3*x.At(i, 1) + 0.1*rng.NormFloat64()
	}
	fit := func(ux, uy float64) (*Model, *Prediction) {
		xs, ys := linalg.NewMatrix(n, 2), make([]float64, n)
		for i := range n {
			xs.Set(i, 0, ux*x.At(i, 0))
			xs.Set(i, 1, x.At(i, 1)/ux)
			ys[i] = uy * y[i]
		}
		m, err := Fit(t.Context(), &Data{X: xs, Y: ys}, Options{Engine: gptest.Engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		at := linalg.NewMatrix(1, 2)
		at.Set(0, 0, 0.37*ux)
		at.Set(0, 1, 2.5/ux)
		p, err := m.Predict(t.Context(), at, PredictOptions{SD: true, Engine: gptest.Engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		return m, p
	}
	m, p := fit(1, 1)
	for _, u := range [][2]float64{{1, 1e-12}, {1e-12, 1}, {1e-10, 1e12},
		{1e12, 1e-7}, {1e-150, 1e100}, {1e-3, 1e-140}} {
		um, up := fit(u[0], u[1])
		if gptest.Relative(um.Result.LML, m.Result.LML) > 1e-9 || gptest.Relative(up.Mean[0]/u[1], p.Mean[0]) > 1e-9 ||
			gptest.Relative(up.SD[0]/u[1], p.SD[0]) > 1e-9 || gptest.Relative(up.SDObs[0]/u[1], p.SDObs[0]) > 1e-9 {
			t.Errorf("units %v: LML %v, mean %v, sd %v; in others %v, %v, %v", u, um.Result.LML, up.Mean[0]/u[1],
				up.SD[0]/u[1],
				m.Result.LML, p.Mean[0], p.SD[0])
		}
	}
	var bad *DataError // variances would be 0
	if _, err := Fit(t.Context(), &Data{X: linalg.Matrix{Rows: 2, Cols: 1, Stride: 1, Data: []float64{1, 2}},
		Y: []float64{1e-200, 3e-200}}, Options{}); !errors.As(err, &bad) || bad.Column != "y" {
		t.Errorf("a target of 1e-200: %v", err)
	}
}

// TestStandardise: a column that differs by rounding is constant, one of small
// numbers is not, and the paper's rule adds its floor.
func TestStandardise(t *testing.T) {
	tenth := 0.1 // at run time 0.1 + 0.2 is not 0.3
	for _, c := range []struct {
		v            []float64
		floor, scale float64
	}{
		{[]float64{tenth + 0.2, 0.3, 0.3}, 0, 1}, {[]float64{5, 5}, 0, 1},
		{[]float64{5, 5}, gp.PaperFloor, gp.PaperFloor},
		{[]float64{0, 0}, 0, 1},
		{[]float64{-1e-13, 1e-13}, 0, 1e-13}, {[]float64{1 - 1e-9, 1 + 1e-9}, 0, 1e-9},
		{[]float64{-2e200, 2e200}, 0, 2e200},
		{[]float64{-2, 2}, gp.PaperFloor, 2 + gp.PaperFloor}, {[]float64{-3e-200, 3e-200}, 0, 3e-200},
	} {
		s := gp.Standardise(linalg.Matrix{Rows: len(c.v), Cols: 1, Stride: 1, Data: c.v}, c.v, c.floor)
		if gptest.Relative(s.XScale[0], c.scale) > 1e-7 || s.YScale != s.XScale[0] {
			t.Errorf("%v with floor %v: scale %v and %v, not %v", c.v, c.floor, s.XScale[0], s.YScale, c.scale)
		}
	}
	if _, err := Fit(t.Context(), &Data{X: linalg.NewMatrix(2, 1), Y: []float64{1, 2}},
		Options{ScaleFloor: -1}); err == nil {
		t.Error("a negative floor was taken")
	}
}
