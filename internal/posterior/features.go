package posterior

import (
	"context"
	"math"
	"math/rand/v2"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// Random Fourier features (Rahimi and Recht 2007): with frequencies w drawn from the
// spectral density of the kernel and a, b standard normal,
//
//	f(x) = σ_f L^-1/2 Σ_l a_l cos(w_l'x) + b_l sin(w_l'x)
//
// has the covariance σ_f²/L Σ_l cos(w_l'(x - x')), which is the kernel in the mean, with
// an error of about σ_f² (2L)^-1/2 for one set of frequencies. For the Gaussian, w is
// normal with standard deviations 1/ℓ; for a Matérn function of order ν it has
// Student's t distribution with 2ν degrees of freedom.

// frequencies draws w, count×D.
func frequencies(k kernelmv.Kernel, count int, rng *rand.Rand) linalg.Matrix {
	w := linalg.NewMatrix(count, len(k.Lengthscales))
	degrees, known := map[kernelmv.Family]int{kernelmv.Matern12: 1, kernelmv.Matern32: 3, kernelmv.Matern52: 5,
		kernelmv.Gaussian: 0}[k.Family]
	if !known {
		panic("posterior: frequencies: no spectrum of this covariance function")
	}
	for l := range count {
		scale := 1.0
		if degrees > 0 {
			chi := 0.0
			for range degrees {
				g := rng.NormFloat64()
				chi += g * g
			}
			scale = math.Sqrt(float64(degrees) / chi)
		}
		row := w.Row(l)
		for j := range row {
			row[j] = scale * rng.NormFloat64() / k.Lengthscales[j] // 0 for +Inf
		}
	}
	return w
}

// drawFeatures sets f to draws of sums of features at the rows of x, and the errors
// of their covariance in s.
func (p *Posterior) drawFeatures(ctx context.Context, x, f linalg.Matrix, rng *rand.Rand, s *Draws,
	opt DrawOptions) error {
	const block = 256
	count := opt.Features
	if count < 0 {
		count = -count
	}
	k := p.kernel()
	w := frequencies(k, count, rng)
	coef := linalg.NewMatrix(2*count, f.Cols)
	size := math.Sqrt(k.Variance / float64(count))
	for i := range coef.Data {
		coef.Data[i] = size * rng.NormFloat64()
	}
	if err := p.featureErrors(k, x, w, rng, s); err != nil {
		return err
	}
	blocks := (x.Rows + block - 1) / block
	phi, arg := linalg.NewMatrix(block, 2*count), linalg.NewMatrix(block, count)
	for b := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		i, j := b*block, min((b+1)*block, x.Rows)
		part, t := phi.Sub(0, j-i, 0, 2*count), arg.Sub(0, j-i, 0, count)
		p.e.GemmTo(t, 1, x.Sub(i, j, 0, x.Cols), false, w, true, 0)
		p.e.Par.For(j-i, func(_, a int) {
			row := part.Row(a)
			for l, v := range t.Row(a) {
				row[count+l], row[l] = math.Sincos(v)
			}
		})
		p.e.GemmTo(f.Sub(i, j, 0, f.Cols), 1, part, false, coef, false, 0)
	}
	return nil
}

// featureErrors compares the features' covariance with the kernel on random pairs.
func (p *Posterior) featureErrors(k kernelmv.Kernel, x, w linalg.Matrix, rng *rand.Rand, s *Draws) error {
	const rows = 64
	some := linalg.NewMatrix(min(rows, x.Rows), x.Cols)
	index := make([]int32, some.Rows)
	for a, i := range rng.Perm(x.Rows)[:some.Rows] {
		copy(some.Row(a), x.Row(i))
		index[a] = int32(a)
	}
	op, err := kernelmv.NewOp(p.e, some, k, nil)
	if err != nil {
		return err
	}
	exact := linalg.NewMatrix(some.Rows, some.Rows)
	op.BlockTo(0, exact, index)
	arg := linalg.NewMatrix(some.Rows, w.Rows)
	p.e.GemmTo(arg, 1, some, false, w, true, 0)
	sum, pairs := 0.0, 0
	for a := range some.Rows {
		for b := range a {
			c := 0.0
			for l, v := range arg.Row(a) {
				c += math.Cos(v - arg.At(b, l))
			}
			e := math.Abs(c/float64(w.Rows) - exact.At(a, b)/k.Variance)
			sum, pairs, s.CovMax = sum+e*e, pairs+1, max(s.CovMax, e)
		}
	}
	s.CovRMS = math.Sqrt(sum / float64(max(pairs, 1)))
	return nil
}
