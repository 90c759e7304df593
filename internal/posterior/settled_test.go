package posterior

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

const truthBits = 128

func number(v float64) *big.Float { return new(big.Float).SetPrec(truthBits).SetFloat64(v) }

func zero() *big.Float { return new(big.Float).SetPrec(truthBits) }

// bigExp is e^-x, x >= 0, by a series of x/2^16.
func bigExp(x *big.Float) *big.Float {
	small := zero().Neg(zero().SetMantExp(x, -16))
	sum, term := number(1), number(1)
	for i := 1; i < 40; i++ {
		term.Mul(term, small)
		term.Quo(term, number(float64(i)))
		sum.Add(sum, term)
		if term.Sign() == 0 || term.MantExp(nil) < -truthBits-20 {
			break
		}
	}
	for range 16 {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigCovariance is the Matérn 3/2 covariance of two rows.
func bigCovariance(p gp.Params, a, b []float64) *big.Float {
	r2 := zero()
	for j, v := range a {
		e := zero().Sub(number(v), number(b[j]))
		e.Quo(e, number(p.Lengthscales[j]))
		r2.Add(r2, e.Mul(e, e))
	}
	r := zero().Sqrt(r2.Mul(r2, number(3)))
	k := bigExp(r)
	k.Mul(k, r.Add(r, number(1)))
	return k.Mul(k, number(p.Variance))
}

// bigFactor returns the rows of L, K̂ = LL' at the rows of x, and after them, for the rows of
// xs, those of [K(X*, X)L⁻ᵀ, v], v the posterior variances of the function, by 128 bits.
func bigFactor(p gp.Params, x, xs linalg.Matrix) [][]*big.Float {
	n, m := x.Rows, xs.Rows
	rows, t := make([][]*big.Float, n+m), zero()
	for i := range n + m {
		train := i < n
		at := xs.Row(max(i-n, 0))
		if train {
			at = x.Row(i)
		}
		rows[i] = make([]*big.Float, min(i, n)+1)
		for j := range rows[i] {
			last := j == len(rows[i])-1
			s, o := number(p.Variance), rows[i]
			if !last {
				s, o = bigCovariance(p, at, x.Row(j)), rows[j]
			} else if train {
				s.Add(s, number(p.Noise))
			}
			for k := range j {
				s.Sub(s, t.Mul(rows[i][k], o[k]))
			}
			if !last {
				s.Quo(s, rows[j][j])
			} else if train {
				s.Sqrt(s)
			}
			rows[i][j] = s
		}
	}
	return rows
}

// bigSDs returns the posterior standard deviations of the function at rows of xs.
func bigSDs(p gp.Params, x, xs linalg.Matrix) []float64 {
	sd := make([]float64, xs.Rows)
	for i, row := range bigFactor(p, x, xs)[x.Rows:] {
		v, _ := row[x.Rows].Float64()
		sd[i] = math.Sqrt(v)
	}
	return sd
}

// bigMeans returns the posterior means.
func bigMeans(p gp.Params, d *gp.Table, xs linalg.Matrix) []float64 {
	n := d.X.Rows
	rows, t := bigFactor(p, d.X, xs), zero()
	z := make([]*big.Float, n) // L⁻¹(y - c)
	for i := range z {
		z[i] = number(d.Y[i])
		z[i].Sub(z[i], number(p.Mean))
		for k := range i {
			z[i].Sub(z[i], t.Mul(rows[i][k], z[k]))
		}
		z[i].Quo(z[i], rows[i][i])
	}
	mean := make([]float64, xs.Rows)
	for i, row := range rows[n:] {
		s := number(p.Mean)
		for k := range n {
			s.Add(s, t.Mul(row[k], z[k]))
		}
		mean[i], _ = s.Float64()
	}
	return mean
}

// TestSettledBounds: where rounding rules, with a noise of 1e-9 σ_f² or rows that nearly
// repeat, regressions end when more rows would not help, the iteration is left alone after the
// first rows, and the bounds hold the deviations of 128 bits.
func TestSettledBounds(t *testing.T) {
	const n, checked = 180, 12
	designs := []struct {
		name            string
		variance, noise float64
		length, near    float64
		d               int
	}{
		{"low noise, long lengths", 1e6, 1e-7, 30, 0, 2},
		{"low noise, one input", 1e4, 1e-7, 5, 0, 1},
		{"near repeats", 1e5, 1e-8, 10, 1e-5, 2},
	}
	if testing.Short() {
		designs = designs[:1]
	}
	for _, c := range designs {
		rng := rand.New(rand.NewPCG(5, 9))
		x, xs := linalg.NewMatrix(n, c.d), linalg.NewMatrix(fewRows+40, c.d)
		for i := range x.Data {
			x.Data[i] = rng.NormFloat64()
		}
		for i := range n / 2 {
			for j := range c.d {
				if c.near > 0 {
					x.Set(n/2+i, j, x.At(i, j)+c.near*rng.NormFloat64())
				}
			}
		}
		for i := range xs.Data {
			xs.Data[i] = rng.NormFloat64()
		}
		for i := range 8 { // at, and beside, training rows
			for j := range c.d {
				xs.Set(i, j, x.At(7*i, j)+1e-4*float64(i%4)*rng.NormFloat64())
			}
		}
		data := &gp.Table{X: x, Y: make([]float64, n)}
		for i := range n {
			data.Y[i] = math.Sin(2 * x.At(i, 0))
		}
		p := gp.Params{Kernel: "matern32", Variance: c.variance, Noise: c.noise}
		for range c.d {
			p.Lengthscales = append(p.Lengthscales, c.length)
		}
		m := New(data, p, PrecondSpec{Neighbours: 32}, nil, Weights{MeanError: math.Inf(1)})
		got, err := m.Predict(context.Background(), gptest.Engine(t), xs, Options{SD: true, SDTol: 0.02})
		if err != nil {
			t.Fatal(err)
		}
		wide := 0
		for i := range got.Lo {
			if !narrow(0.02, got.Lo[i], got.Hi[i]) {
				wide++
			}
		}
		t.Logf("%s: %d of %d rows wider than asked, probes %v, lost %v", c.name, wide, xs.Rows, m.probes != nil, m.lost)
		if wide == 0 || m.probes == nil || !m.lost {
			t.Errorf("%s: %d rows are left open by rounding, probes %v, lost %v", c.name, wide, m.probes != nil, m.lost)
		}
		for i, sd := range bigSDs(p, x, xs.Sub(0, checked, 0, c.d)) {
			if r := got.row(i); sd < r.sdLo*(1-1e-12) || sd > r.sdHi*(1+1e-12) {
				t.Errorf("%s, row %d: sd %v outside [%v, %v]", c.name, i, sd, r.sdLo, r.sdHi)
			}
		}
	}
}

// TestBarelyWide: a row that the least of rounding keeps from being narrow is regressed on near rows as any other,
// since there is more to gain than rounding; iterating for it costs as much as for a block of rows.
func TestBarelyWide(t *testing.T) {
	const n = 300
	ctx, d := context.Background(), gptest.SmoothTable(n, 2, 0)
	p := gp.Params{Kernel: "matern32", Variance: 30, Noise: 0.1, Lengthscales: []float64{3, 4}}
	m := New(d, p, PrecondSpec{Rank: 30, Node: 1}, nil, Weights{MeanError: math.Inf(1)})
	if err := m.prepare(ctx, gptest.Engine(t), true); err != nil {
		t.Fatal(err)
	}
	if err := m.makeProbes(ctx, true); err != nil || m.probes == nil || m.probes.rank == 0 {
		t.Fatal(err, m.probes)
	}
	xs := d.X.Sub(0, 20, 0, 2).Clone()
	for i := range xs.Data {
		xs.Data[i] += 0.1
	}
	v := newVarianceBounds(xs.Rows, p.Variance)
	rows := span(0, xs.Rows)
	alone := func(tol float64, c int) *regression {
		r, err := m.newRegression(ctx, xs, rows, tol, v)
		if err != nil {
			t.Fatal(err)
		}
		own := r.kg.Row(c)[:m.probes.rank]
		r.bound(c, p.Variance-m.e.Dot(own, own), nil, nil)
		return r
	}
	for c := range rows {
		alone(1, c)
		lo, hi := math.Sqrt(v.lo[c]), math.Sqrt(v.hi[c])
		width := (hi - lo) / (hi + lo)
		if barely := width * (1 - 1e-12); narrow(barely, v.lo[c], v.hi[c]) || alone(barely, c).settled[c] {
			t.Errorf("row %d, of relative half width %g, is settled below it by rounding", c, width)
		}
	}
}
