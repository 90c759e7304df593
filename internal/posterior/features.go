package posterior

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// Random Fourier features (Rahimi and Recht 2007): with frequencies w drawn from the
// spectral density p of the kernel and a, b standard normal,
//
//	f(x) = σ_f Σ_l s_l^1/2 (a_l cos(w_l'x) + b_l sin(w_l'x)),   s_l = 1/L,
//
// has the covariance σ_f² Σ_l s_l cos(w_l'(x - x')), which is the kernel in the mean, with
// an error of about σ_f² L^-1/2 for one set of frequencies. For the Gaussian, w is
// normal with standard deviations 1/ℓ; for a Matérn function of order ν it has
// Student's t distribution with 2ν degrees of freedom.
//
// What is left of the function near the data is what data cannot tell: its share of σ_f² may be
// σ_n²/(n σ_f²), 1e-6 and less, all of it at frequencies of which no p shows one in L. Draws would be
// too narrow there. So half of the frequencies are drawn from p and half of them at larger scales λ_k
// beyond which p has 8^-k of its mass, down to that share: w/λ_k is drawn from p, and with α_k the part
// of them at λ_k
//
//	s_l = p(w_l)/(L Σ_k α_k λ_k^-D p(w_l/λ_k)) <= 2/L.

// A spectrum is that of a kernel in its inputs divided by their lengthscales.
type spectrum struct {
	degrees float64 // 2ν; 0 for the Gaussian
	inputs  float64 // that have an influence
}

// newSpectrum returns the spectrum of k.
func newSpectrum(k kernelmv.Kernel) spectrum {
	degrees, known := map[kernelmv.Family]float64{kernelmv.Matern12: 1, kernelmv.Matern32: 3, kernelmv.Matern52: 5,
		kernelmv.Gaussian: 0}[k.Family]
	if !known {
		panic("posterior: newSpectrum: no spectrum of this covariance function")
	}
	s := spectrum{degrees: degrees}
	for _, l := range k.Lengthscales {
		if !math.IsInf(l, 1) {
			s.inputs++
		}
	}
	return s
}

// scales returns λ_0 = 1 to λ_K, beyond which p has the given share of its mass, about. That of Student's t
// falls as r^-2ν, and that of a normal vector is below e^-t beyond D^1/2 + (2t)^1/2.
func (s spectrum) scales(share float64) []float64 {
	levels := int(math.Ceil(math.Log(1/share) / math.Log(8)))
	out := []float64{1}
	for k := 1; k <= min(levels, 20) && s.inputs > 0; k++ {
		if s.degrees > 0 {
			out = append(out, math.Pow(8, float64(k)/s.degrees))
		} else {
			out = append(out, 1+math.Sqrt(2*float64(k)*math.Log(8)/s.inputs))
		}
	}
	return out
}

// over returns λ^-D p(w/λ)/p(w) where |w|² = square.
func (s spectrum) over(square, scale float64) float64 {
	log := -s.inputs * math.Log(scale)
	if s.degrees > 0 {
		log += 0.5 * (s.degrees + s.inputs) * math.Log((s.degrees+square)/(s.degrees+square/(scale*scale)))
	} else {
		log += 0.5 * square * (1 - 1/(scale*scale))
	}
	return math.Exp(log)
}

// frequencies draws w, count×D, and their shares s_l of the variance, which sum to 1.
func frequencies(k kernelmv.Kernel, count int, least float64, rng *rand.Rand) (w linalg.Matrix, shares []float64) {
	of := newSpectrum(k)
	scales := of.scales(least)
	w, shares = linalg.NewMatrix(count, len(k.Lengthscales)), make([]float64, count)
	level := func(l int) int { // every other one is of λ_0, where there are more
		if l%2 == 0 || len(scales) == 1 {
			return 0
		}
		return 1 + l/2%(len(scales)-1)
	}
	part := make([]float64, len(scales))
	for l := range count {
		part[level(l)] += 1 / float64(count)
	}
	total := 0.0
	for l := range count {
		scale := scales[level(l)]
		if of.degrees > 0 {
			chi := 0.0
			for range int(of.degrees) {
				g := rng.NormFloat64()
				chi += g * g
			}
			scale *= math.Sqrt(of.degrees / chi)
		}
		square, row := 0.0, w.Row(l)
		for j, length := range k.Lengthscales {
			g := scale * rng.NormFloat64()
			row[j] = g / length // 0 for +Inf
			if row[j] != 0 {
				square += g * g
			}
		}
		density := 0.0
		for i, a := range part {
			density += a * of.over(square, scales[i])
		}
		shares[l] = 1 / density
		total += shares[l]
	}
	for l := range shares {
		shares[l] /= total
	}
	return w, shares
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
	w, shares := frequencies(k, count, slices.Min(p.op.Noise())/(k.Variance*float64(x.Rows)), rng)
	coef := linalg.NewMatrix(2*count, f.Cols)
	for l := range coef.Rows {
		size := math.Sqrt(k.Variance * shares[l%count])
		for c := range f.Cols {
			coef.Set(l, c, size*rng.NormFloat64())
		}
	}
	if err := p.featureErrors(k, x, w, shares, rng, s); err != nil {
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
func (p *Posterior) featureErrors(k kernelmv.Kernel, x, w linalg.Matrix, shares []float64, rng *rand.Rand,
	s *Draws) error {
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
				c += shares[l] * math.Cos(v-arg.At(b, l))
			}
			e := math.Abs(c - exact.At(a, b)/k.Variance)
			sum, pairs, s.CovMax = sum+e*e, pairs+1, max(s.CovMax, e)
		}
	}
	s.CovRMS = math.Sqrt(sum / float64(max(pairs, 1)))
	return nil
}
