package train

import (
	"context"
	"math"

	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// How information grows with the number of rows. With F_1 of m/4 rows and F_2 of m there is
// V with F_1 = V V' and F_2 = V Λ V'; a direction that has λ = 4^e there is taken to have (n/m)^e
// times that of F_2 with n rows. One direction of kin40k (σ_f² and all ℓ together) has
// e = .08, that of its noise, which is at the floor, 2, the others 1.1.

const (
	quarterShare    = 4   // parts of the subset
	leastQuarter    = 40  // rows; of fewer the information says nothing about its growth
	leastTimes      = 2   // the rows of the subset up to which a multiple will do
	mostGrowth      = 1.5 // the largest e believed
	mostNoiseGrowth = 2.0 // and of the noise
	growthRidge     = 1e-9
)

// quarters returns the mean information of the quarters of d's rows, without that of c;
// an empty matrix if they have too few.
func quarters(ctx context.Context, e *linalg.Engine, d *gp.Table, p gp.Params) (linalg.Matrix, error) {
	if d.X.Rows < quarterShare*leastQuarter {
		return linalg.Matrix{}, nil
	}
	sum := linalg.NewMatrix(d.X.Cols+3, d.X.Cols+3)
	each, err := linalg.Tasks(ctx, e, quarterShare, func(ctx context.Context, k int) ([]float64, error) {
		var rows []int
		for i := k; i < d.X.Rows; i += quarterShare {
			rows = append(rows, i)
		}
		_, a, err := whitenedRows(ctx, e.Alone(), d.Rows(rows), p, 0.5, false)
		if err != nil {
			return nil, err
		}
		return gram(e, a).Data, nil
	})
	for _, information := range each {
		for i, v := range information {
			sum.Data[i] += v / quarterShare
		}
	}
	return sum, err
}

// grown continues few, the information of some rows, and many, that of share times as many, to
// times the rows of many. That of the noise given all else is continued by itself: where the
// noise is small it grows as n², and what others share with it must not.
func grown(e *linalg.Engine, few, many linalg.Matrix, share, times float64) linalg.Matrix {
	out := many.Clone()
	for i := range out.Data {
		out.Data[i] *= times
	}
	noise := many.Rows - 2
	var idx []int // variables with information; that of c has none here
	for i := range noise {
		if few.Rows > 0 && few.At(i, i) > 0 && many.At(i, i) > 0 {
			idx = append(idx, i)
		}
	}
	if len(idx) == 0 || times == 1 {
		return out
	}
	a, b := unitBlock(few, few, idx), unitBlock(few, many, idx)
	kernel, err := grownBlock(e, a, b, share, times, mostGrowth)
	if err != nil {
		return out
	}
	// r are the coefficients of the noise on the others: F_n = r F.
	own1, _, err := conditional(e, few, idx, noise)
	own2, r, err2 := conditional(e, many, idx, noise)
	if err != nil || err2 != nil || !(own1 > 0 && own2 > 0) {
		return out
	}
	back := func(p, q int) float64 {
		return kernel.At(p, q) * math.Sqrt(few.At(idx[p], idx[p])*few.At(idx[q], idx[q]))
	}
	own := own2 * growth(own2/own1, share, times, mostNoiseGrowth)
	for p, i := range idx {
		cross := 0.0
		for q, j := range idx {
			v := back(p, q)
			out.Set(i, j, v)
			cross += v * r[q]
		}
		out.Set(i, noise, cross)
		out.Set(noise, i, cross)
		own += r[p] * cross
	}
	out.Set(noise, noise, own)
	return out
}

// growth is the factor by which information grows to times the rows, λ times at share times.
func growth(lambda, share, times, most float64) float64 {
	power := math.Log(max(lambda, growthRidge)) / math.Log(share)
	return math.Pow(times, min(max(power, 0), most))
}

// unitBlock returns the variables idx of m in units in which few has a unit diagonal.
func unitBlock(few, m linalg.Matrix, idx []int) linalg.Matrix {
	b := linalg.NewMatrix(len(idx), len(idx))
	for p, i := range idx {
		for q, j := range idx {
			b.Set(p, q, m.At(i, j)/math.Sqrt(few.At(i, i)*few.At(j, j)))
		}
		b.Set(p, p, b.At(p, p)*(1+growthRidge))
	}
	return b
}

// conditional returns F_kk - f'F⁻¹f of variable k, f its row, and r = F⁻¹f, for idx.
func conditional(e *linalg.Engine, m linalg.Matrix, idx []int, k int) (own float64, r []float64, err error) {
	chol, err := e.NewCholesky(unitBlock(m, m, idx))
	if err != nil {
		return 0, nil, err
	}
	x := linalg.NewMatrix(len(idx), 1)
	for p, i := range idx {
		x.Data[p] = m.At(i, k) / math.Sqrt(m.At(i, i))
	}
	chol.SolveTo(x, x)
	own = m.At(k, k)
	for p, i := range idx {
		x.Data[p] /= math.Sqrt(m.At(i, i))
		own -= x.Data[p] * m.At(i, k)
	}
	return own, x.Data, nil
}

// grownBlock is grown of all variables alike. It overwrites a, of few rows, and b, of many.
func grownBlock(e *linalg.Engine, a, b linalg.Matrix, share, times, most float64) (linalg.Matrix, error) {
	chol, err := e.NewCholesky(a)
	if err != nil {
		return a, err
	}
	l, k := chol.Factor(), a.Rows
	e.SolveLeft(l, false, b)
	e.SolveRight(b, l, true)
	values, vectors, err := linalg.EigenSym(b)
	if err != nil {
		return a, err
	}
	// L Q diag(λ growth) Q'L'
	v, out := linalg.NewMatrix(k, k), linalg.NewMatrix(k, k)
	for p := range k {
		for q, value := range values {
			sum := 0.0
			for r := range p + 1 {
				sum += l.At(p, r) * vectors.At(r, q)
			}
			v.Set(p, q, sum*math.Sqrt(max(value, growthRidge)*growth(value, share, times, most)))
		}
	}
	for p := range k {
		for q := range k {
			for r := range k {
				out.Data[p*k+q] += v.At(p, r) * v.At(q, r)
			}
		}
	}
	return out, nil
}
