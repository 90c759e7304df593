package posterior

import (
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// Draws by features have the deviations of the process near the data, too, where these are a
// hundredth and less of the prior's. With frequencies of the spectral density alone they are .86 to
// 4.4 times those.
func TestFeaturesNear(t *testing.T) {
	const n, rows, draws = 400, 30, 800
	for _, c := range []struct {
		kernel string
		d      int
		ell    float64
	}{{"matern12", 1, 30}, {"matern32", 1, 10}, {"matern32", 2, 20}, {"matern52", 1, 4}, {"matern52", 6, 20},
		{"gaussian", 1, 1}, {"gaussian", 2, 3}, {"gaussian", 8, 6}} {
		d := gptest.RandomTable(n, c.d, 21)
		d.NoiseScale, d.NoiseExtra = nil, nil
		p := gp.Params{Kernel: c.kernel, Variance: 100, Noise: 1e-2, Lengthscales: make([]float64, c.d)}
		for j := range p.Lengthscales {
			p.Lengthscales[j] = c.ell
		}
		post, _ := pair(t, d, p, PrecondSpec{Neighbours: 16})
		xs := gptest.RandomTable(rows, c.d, 22).X
		opt := DrawOptions{Draws: draws, Seed: 7, Features: -4096, Tol: MeanTol}
		s, err := post.Draw(t.Context(), gptest.Engine(t), xs, opt)
		if err != nil {
			t.Fatal(err)
		}
		opt.Features = 4096
		_, want := sampleTruth(t, post, xs, opt)
		_, got := moments2(s.Values)
		log := 0.0
		for i := range rows {
			log += 0.5 * math.Log(got.At(i, i)/want.At(i, i)) / rows
		}
		if math.Abs(log) > 0.06 {
			t.Errorf("%+v: deviations are %.3f times those of the process", c, math.Exp(log))
		}
	}
}

// The features' covariance is the kernel in the mean: shares undo what scales do.
func TestFeatureShares(t *testing.T) {
	for _, family := range []kernelmv.Family{kernelmv.Matern12, kernelmv.Matern32, kernelmv.Matern52,
		kernelmv.Gaussian} {
		k := kernelmv.Kernel{Family: family, Variance: 1, Lengthscales: []float64{2, math.Inf(1), 0.5}}
		w, shares := frequencies(k, 200000, 1e-7, rand.New(rand.NewPCG(1, 2)))
		for _, at := range [][]float64{{0.1, 0.02}, {1, 0}, {0, 0.4}, {2, 0.5}} {
			sum := 0.0
			for l, s := range shares {
				sum += s * math.Cos(w.At(l, 0)*at[0]+w.At(l, 2)*at[1])
			}
			x := linalg.NewMatrix(2, 3)
			x.Set(1, 0, at[0])
			x.Set(1, 2, at[1])
			op, err := kernelmv.NewOp(gptest.Engine(t), x, k, nil)
			if err != nil {
				t.Fatal(err)
			}
			both := linalg.NewMatrix(2, 2)
			op.BlockTo(0, both, []int32{0, 1})
			if want := both.At(0, 1); math.Abs(sum-want) > 0.01 {
				t.Errorf("%v at %v: %v, want %v", family, at, sum, want)
			}
		}
	}
}
