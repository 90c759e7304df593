package bbgp

import (
	"math"
	"path/filepath"
	"testing"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/gptest"
)

// TestFarInputs: what a fit reports is the likelihood at its parameters, and its weights belong to them, where inputs
// that are out are not near 1 or the noise is next to none: in columns as they are, by each method with bounds.
func TestFarInputs(t *testing.T) {
	for _, method := range []enum.Method{"exact", "sgpr", "cglb", "bbgp"} {
		d := randomData(90, 3, 8)
		for i := range d.Y {
			d.Y[i] = math.Sin(2 * d.X.At(i, 0)) // without noise, by one input
		}
		d.X.Set(40, 2, 1e30)
		opt := Options{Engine: gptest.Engine(t), Method: method, Kernel: "matern12", NoScale: true, MaxSteps: 40}
		m, err := Fit(t.Context(), d, opt)
		if err != nil {
			t.Fatal(err)
		}
		at, err := LogMarginalLikelihood(t.Context(), d, m.Parameters, Options{Engine: opt.Engine, Method: "exact",
			NoScale: true, NoGradient: true})
		if err != nil {
			t.Fatal(err)
		}
		r := &m.Result
		if at.LML < float64(r.Lower)-5*r.StdErr || at.LML > float64(r.Upper)+5*r.StdErr {
			t.Errorf("%s: %v in [%v, %v], exact %v, %+v", method, r.LML, r.Lower, r.Upper, at.LML, m.Parameters)
		}
		file := filepath.Join(t.TempDir(), "m.bbgp")
		if err := m.Save(file); err != nil {
			t.Fatal(err)
		}
		back, err := Load(file)
		if err == nil {
			_, err = back.Predict(t.Context(), d.X, PredictOptions{Engine: opt.Engine})
		}
		if err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}
