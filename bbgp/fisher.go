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
	fisherRows  = 400
	fisherCells = 1 << 23 // at most so many numbers are kept at a time
)

// A fisher holds the information matrix of the rows of a subset, scaled to all.
type fisher struct {
	// f is (D+2)×(D+2): log ℓ_1..log ℓ_D, log σ_f², log σ_n²; empty for wide tables.
	f linalg.Matrix
	// wide is that of wide tables, within the noise of repeated rows.
	wide   linalg.Matrix
	within float64
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

// fisherSize is the number of rows of the subset. An evaluation of few rows is
// cheap; its metric must not be dearer.
func fisherSize(n, dims int) int {
	if isWide(n, dims) {
		return wideSize(n, dims)
	}
	return min(n, fisherRows, max(n/2, 200), int(math.Sqrt(float64(fisherCells)/float64(dims+2))))
}

// newFisher computes the information at p on a random subset of d's rows.
func newFisher(ctx context.Context, e *linalg.Engine, d *Data, p Params, seed uint64) (*fisher, error) {
	dims := d.X.Cols
	n := d.X.Rows
	rows := fisherSize(n, dims)
	sub := d.Rows(subset(n, rows, seed))
	o, err := newExactObjective(e, sub, p)
	if err != nil {
		return nil, err
	}
	if err := o.factor(ctx, p); err != nil {
		return nil, err
	}
	scale := float64(n) / float64(rows)
	_, _, within := sub.withinGroups(p.Noise)
	fs := &fisher{within: scale * within}
	if isWide(n, dims) {
		fs.meanSub = meanInfo(e, rows, o.last.SolveTo)
		fs.wide, err = wideFactors(ctx, o, p, scale/2)
	} else {
		err = fs.dense(ctx, o, p, scale)
	}
	fs.meanAll = fs.meanSub * scale
	if err != nil {
		return nil, err
	}
	f := fs.information(dims, fs.meanSub)
	for i := range dims + 2 {
		if !finite(f.at(i)) {
			return nil, fmt.Errorf("%w: information matrix", ErrNotFinite)
		}
	}
	return fs, nil
}

// dense computes f from o, factored at p.
func (fs *fisher) dense(ctx context.Context, o *exactObjective, p Params, scale float64) error {
	rows, dims := o.d.X.Rows, o.d.X.Cols
	inv := linalg.NewMatrix(rows, rows)
	o.last.InverseTo(inv)
	for i := range rows {
		for _, v := range inv.Row(i) {
			fs.meanSub += v
		}
	}
	fs.meanSub = max(fs.meanSub, 0)
	a, err := fisherFactors(ctx, o, p, inv)
	if err != nil {
		return err
	}
	fs.f = linalg.NewMatrix(dims+2, dims+2)
	fisherGram(o.e, fs.f, a, rows, scale/2)
	fs.f.Set(dims+1, dims+1, fs.f.At(dims+1, dims+1)+fs.within)
	return nil
}

// information returns F of z for so many inputs with F_cc = mean.
func (fs *fisher) information(dims int, mean float64) information {
	if fs.wide.Rows > 0 {
		own := make([]float64, dims+3)
		own[dims+1], own[dims+2] = fs.within, mean
		return wideInformation{fs.wide, own}
	}
	b := linalg.NewMatrix(dims+3, dims+3)
	b.Sub(0, dims+2, 0, dims+2).CopyFrom(fs.f)
	b.Set(dims+2, dims+2, mean)
	return denseInformation{b}
}

// unitInformation is a unit of curvature a row.
func unitInformation(n, dims int) information {
	own := make([]float64, dims+3)
	for i := range own {
		own[i] = float64(n)
	}
	if isWide(n, dims) {
		return wideInformation{linalg.NewMatrix(dims+3, 1), own}
	}
	b := linalg.NewMatrix(dims+3, dims+3)
	for i, v := range own {
		b.Set(i, i, v)
	}
	return denseInformation{b}
}

// meanInfo returns 1'A⁻¹1 for n×n A, where solve sets dst = A⁻¹ src.
func meanInfo(e *linalg.Engine, n int, solve func(dst, src linalg.Matrix)) float64 {
	ones, x := linalg.NewMatrix(n, 1), linalg.NewMatrix(n, 1)
	for i := range ones.Data {
		ones.Data[i] = 1
	}
	solve(x, ones)
	return max(e.Dot(ones.Data, x.Data), 0)
}

// fisherFactors returns the matrix whose row i holds K̂⁻¹ ∂K̂/∂log θ_i, n×n
// row by row; it is 0 for inputs that are out.
func fisherFactors(ctx context.Context, o *exactObjective, p Params, inv linalg.Matrix) (linalg.Matrix, error) {
	n, dims := o.d.X.Rows, o.d.X.Cols
	k := kernelOf(p)
	weight := linalg.NewMatrix(n, n)
	o.e.Par.For(n, func(_, i int) {
		for j := range n {
			weight.Set(i, j, k.WeightAt(o.d.X.Row(i), o.d.X.Row(j)))
		}
	})
	all := linalg.NewMatrix(dims+2, n*n)
	square := func(i int) linalg.Matrix {
		return linalg.Matrix{Rows: n, Cols: n, Stride: n, Data: all.Row(i)}
	}
	dk := linalg.NewMatrix(n, n)
	for q, l := range p.Lengthscales {
		if math.IsInf(l, 1) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return all, err
		}
		o.e.Par.For(n, func(_, i int) {
			row, xi := dk.Row(i), o.d.X.At(i, q)
			for j, w := range weight.Row(i) {
				t := (xi - o.d.X.At(j, q)) / l
				row[j] = w * t * t
			}
		})
		o.e.GemmTo(square(q), 1, inv, false, dk, false, 0)
	}
	// K = K̂ - N, so K̂⁻¹K = I - K̂⁻¹N needs no product; N is diagonal.
	noise := noiseOf(p, o.d)
	signal, own := square(dims), square(dims+1)
	for i := range n {
		for j, v := range inv.Row(i) {
			signal.Set(i, j, -v*noise[j])
			extra := 0.0 // the known part of the noise does not depend on σ_n²
			if o.d.NoiseExtra != nil {
				extra = o.d.NoiseExtra[j]
			}
			own.Set(i, j, v*(noise[j]-extra))
		}
		signal.Data[i*n+i]++
	}
	return all, nil
}

// fisherGram sets f_ij = scale Σ_ab a_i[a,b] a_j[b,a] for the n×n matrices in
// the rows of a: the product of a with the rows of all transposes.
func fisherGram(e *linalg.Engine, f, a linalg.Matrix, n int, scale float64) {
	t := linalg.NewMatrix(a.Rows, a.Cols)
	square := func(row []float64) linalg.Matrix {
		return linalg.Matrix{Rows: n, Cols: n, Stride: n, Data: row}
	}
	e.Par.For(a.Rows, func(_, i int) { e.TransposeTo(square(t.Row(i)), square(a.Row(i))) })
	e.GemmTo(f, scale, a, false, t, true, 0)
	for i := range f.Rows {
		for j := range i {
			v := (f.At(i, j) + f.At(j, i)) / 2
			f.Set(i, j, v)
			f.Set(j, i, v)
		}
	}
}

// notFinite says whether err means that a point cannot be evaluated, as
// opposed to a run that has to end.
func notFinite(err error) bool {
	return errors.Is(err, ErrNotFinite) || hopeless(err)
}
