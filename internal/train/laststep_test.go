package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// A placed estimator keeps where preconditioners and evaluations are asked for.
type placed struct{ built, at gp.Params }

func (o *placed) Rebuild(_ context.Context, p gp.Params, _ evidence.Options) error {
	o.built = p.Clone()
	return nil
}

func (o *placed) Evaluate(_ context.Context, p gp.Params, opt evidence.Options) (*evidence.Value, error) {
	o.at = p.Clone()
	return &evidence.Value{LML: 101, StdErr: 0.1, Probes: opt.Probes, Product: "h2"}, nil
}

// The last step goes to the top of the model, along a ridge too, where the probes tell; else to the most likely mean,
// and nowhere for what it is not worth. What is reported is evaluated there, with P of the place before.
func TestLastStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	d := filled(mapTerms+100, 2, func(_ int, x []float64) float64 {
		x[0], x[1] = rng.Float64(), rng.Float64()
		return rng.NormFloat64()
	})
	few := d.Rows(gp.Subset(len(d.Y), mapTerms/2, 1))
	// A ridge: 4e4 nats a unit of log(σ_f²/ℓ), 60 along it.
	info := linalg.NewMatrix(5, 5)
	for i, a := range []float64{-1, -1, 2, 0, 0} {
		for j, b := range []float64{-1, -1, 2, 0, 0} {
			info.Set(i, j, 1e4*a*b)
		}
	}
	for i, v := range []float64{30, 30, 30, 5000, 40} {
		info.Set(i, i, info.At(i, i)+v)
	}
	ridge := []float64{3, 3, 3, 0, 2} // .1 of each, and .05 of c
	for name, c := range map[string]struct {
		d      *gp.Table
		g      []float64
		stderr float64
		fixed  bool
		want   []float64
	}{
		"along the ridge":  {d, ridge, 0.3, false, []float64{.1, .1, .1, 0, .05}},
		"probes hide that": {d, ridge, 1, false, make([]float64, 5)},
		"but not the mean": {d, []float64{3, 3, 3, 0, 8}, 1, false, []float64{0, 0, 0, 0, .2}},
		"which is fixed":   {d, []float64{0, 0, 0, 0, 8}, 1, true, make([]float64, 5)},
		"no gain":          {d, []float64{1, 1, 1, 0, 1}, 0.1, false, make([]float64, 5)},
		"far":              {d, []float64{30, 30, 30, 0, 0}, 0.1, false, []float64{.3, .3, .3, 0, 0}},
		"no map":           {few, ridge, 0.3, false, make([]float64, 5)},
	} {
		f := searchOf(t, c.d, false)
		f.Config.Method, f.Config.FixMean = "bbgp", c.fixed
		obj := &placed{}
		tr := f.trainer(obj, f.Std, "train")
		p := gp.Params{Kernel: "matern12", Variance: 1, Noise: 0.1, Mean: 0.5, Lengthscales: []float64{.3, .4}}
		tr.constant, tr.inactive = make([]bool, 2), make([]bool, 2)
		tr.model = quadraticModel{e: tr.e, damping: firstDamping}
		tr.model.base = denseInformation{info}
		tr.Cur = Iterate{P: p, z: logVector(p), g: c.g,
			Ev: &evidence.Value{LML: 100, StdErr: c.stderr, Probes: 7, Product: "h2"}}
		tr.built = p.Clone()
		f.LastStep(tr)
		moved := false
		for i, z := range logVector(p) {
			moved = moved || c.want[i] != 0
			if math.Abs(tr.Cur.z[i]-z-c.want[i]) > 1e-3 {
				t.Errorf("%s: %d moves by %.4f, not %.4f", name, i, tr.Cur.z[i]-z, c.want[i])
			}
		}
		ev, err := f.Last(context.Background(), tr, 0)
		if err != nil || ev.LML != 101 || !obj.built.SameCovariance(p) || logVector(obj.at)[4] != tr.Cur.z[4] ||
			moved == (obj.at.Mean == p.Mean && obj.at.SameCovariance(p)) {
			t.Errorf("%s: P for %+v, evaluated at %+v: %v", name, obj.built, obj.at, err)
		}
	}
}
