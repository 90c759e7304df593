package bbgp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"bbgp.dev/linalg"
)

// The Fisher information of θ in logarithms,
//
//	F_ij = 1/2 tr(K̂⁻¹ ∂K̂/∂log θ_i K̂⁻¹ ∂K̂/∂log θ_j),  F_cc = 1'K̂⁻¹1,
//
// is the expected negative Hessian of L. Computed densely on some hundred
// random rows and scaled by n / rows it is an excellent metric for the first
// steps of a search (method card, section 7 e): it knows the scale of every
// direction, also of those whose gradient vanishes.

const (
	fisherRows  = 500
	fisherCells = 1 << 24 // at most so many numbers are kept at a time
)

// A fisher holds the information matrix of the rows of a subset, scaled to all.
type fisher struct {
	// f is (D+2)×(D+2): log ℓ_1..log ℓ_D, log σ_f², log σ_n².
	f linalg.Matrix
	// meanSub is F_cc of the subset, meanAll that times n / rows: F_cc of all
	// rows lies between the two.
	meanSub, meanAll float64
}

// subset returns m of n rows chosen at random, in increasing order.
func subset(n, m int, seed uint64) []int {
	if m >= n {
		rows := make([]int, n)
		for i := range rows {
			rows[i] = i
		}
		return rows
	}
	rows := rand.New(rand.NewPCG(seed, 0x5b5e7)).Perm(n)[:m]
	slices.Sort(rows)
	return rows
}

// newFisher computes the information at p on a random subset of d's rows.
func newFisher(ctx context.Context, e *linalg.Engine, d *Data, p Params, seed uint64) (*fisher, error) {
	dims := d.X.Cols
	n := d.X.Rows
	// An evaluation of few rows is cheap; its metric must not be dearer.
	rows := min(n, fisherRows, max(n/2, 200), int(math.Sqrt(float64(fisherCells)/float64(dims+2))))
	sub := d.Rows(subset(n, rows, seed))
	o, err := newExactObjective(e, sub, p)
	if err != nil {
		return nil, err
	}
	if err := o.factor(ctx, p); err != nil {
		return nil, err
	}
	inv := linalg.NewMatrix(rows, rows)
	o.last.InverseTo(inv)
	fs := &fisher{f: linalg.NewMatrix(dims+2, dims+2)}
	for i := range rows {
		for _, v := range inv.Row(i) {
			fs.meanSub += v
		}
	}
	scale := float64(n) / float64(rows)
	fs.meanSub = max(fs.meanSub, 0)
	fs.meanAll = fs.meanSub * scale
	a, err := fisherFactors(ctx, o, p, inv)
	if err != nil {
		return nil, err
	}
	fisherGram(e, fs.f, a, scale/2)
	for i := range dims + 2 {
		if !finite(fs.f.At(i, i)) {
			return nil, fmt.Errorf("%w: information matrix", ErrNotFinite)
		}
	}
	return fs, nil
}

// fisherFactors returns K̂⁻¹ ∂K̂/∂log θ_i for every i, and zero matrices (of no
// rows) for inputs that are out.
func fisherFactors(ctx context.Context, o *exactObjective, p Params, inv linalg.Matrix) ([]linalg.Matrix, error) {
	n, dims := o.d.X.Rows, o.d.X.Cols
	k := kernelOf(p)
	weight := linalg.NewMatrix(n, n)
	o.e.Par.For(n, func(_, i int) {
		for j := range n {
			weight.Set(i, j, k.WeightAt(o.d.X.Row(i), o.d.X.Row(j)))
		}
	})
	out := make([]linalg.Matrix, dims+2)
	dk := linalg.NewMatrix(n, n)
	for q, l := range p.Lengthscales {
		if math.IsInf(l, 1) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		o.e.Par.For(n, func(_, i int) {
			row, xi := dk.Row(i), o.d.X.At(i, q)
			for j, w := range weight.Row(i) {
				t := (xi - o.d.X.At(j, q)) / l
				row[j] = w * t * t
			}
		})
		out[q] = linalg.NewMatrix(n, n)
		o.e.GemmTo(out[q], 1, inv, false, dk, false, 0)
	}
	// K = K̂ - N, so K̂⁻¹K = I - K̂⁻¹N needs no product; N is diagonal.
	noise := noiseOf(p, o.d)
	signal, own := linalg.NewMatrix(n, n), linalg.NewMatrix(n, n)
	for i := range n {
		for j, v := range inv.Row(i) {
			signal.Set(i, j, -v*noise[j])
			extra := 0.0 // the known part of the noise does not depend on σ_n²
			if o.d.NoiseExtra != nil {
				extra = o.d.NoiseExtra[j]
			}
			own.Set(i, j, v*(noise[j]-extra))
		}
		signal.Data[i*signal.Stride+i]++
	}
	out[dims], out[dims+1] = signal, own
	return out, nil
}

// fisherGram sets f_ij = scale Σ_ab a_i[a,b] a_j[b,a].
func fisherGram(e *linalg.Engine, f linalg.Matrix, a []linalg.Matrix, scale float64) {
	e.Par.For(len(a), func(_, i int) {
		n := a[i].Rows
		if n == 0 {
			return
		}
		t := linalg.NewMatrix(n, n)
		for r := range n {
			for c, v := range a[i].Row(r) {
				t.Data[c*n+r] = v
			}
		}
		for j := range i + 1 {
			if a[j].Rows == 0 {
				continue
			}
			s := 0.0
			for r := range n {
				row := 0.0
				tr := t.Row(r)
				for c, v := range a[j].Row(r) {
					row += v * tr[c]
				}
				s += row
			}
			f.Set(i, j, s*scale)
		}
	})
	for i := range f.Rows {
		for j := range i {
			f.Set(j, i, f.At(i, j))
		}
	}
}

// notFinite says whether err means that a point cannot be evaluated, as
// opposed to a run that has to end.
func notFinite(err error) bool {
	var stagnation *StagnationError
	return errors.Is(err, ErrNotFinite) || errors.Is(err, errPrecision) || errors.As(err, &stagnation)
}
