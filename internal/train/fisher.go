package train

import (
	"context"
	"fmt"
	"math"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// The Fisher information of θ in logarithms,
//
//	F_ij = 1/2 tr(K̂⁻¹ ∂K̂/∂log θ_i K̂⁻¹ ∂K̂/∂log θ_j) = 1/2 tr(S_i S_j),
//	S_i = L⁻¹ ∂K̂/∂log θ_i L⁻ᵀ,  K̂ = L L',  F_cc = 1'K̂⁻¹1,
//
// is the expected negative Hessian of L. Computed densely on some hundred
// random rows and taken to n rows it is an excellent metric for the
// steps of a search: it knows the scale of every
// direction, also of those whose gradient vanishes.
//
// What more rows tell is no multiple of that. Along σ_f²/ℓ^(2ν) = const information comes to an
// end (Zhang 2004), that of a small noise grows faster than n, and n / rows times that of
// the subset makes steps along such a ridge tens of times too short. So the information of
// quarters of the subset is computed as well, and every common direction of the two
// matrices is continued to n rows by its own power of the number of rows (grown.go).

// A fisher holds the information matrix of all rows, as a subset tells of it.
type fisher struct {
	// F = f + diag(0, .., 0, within, F_cc), within of the noise of repeated rows. Wide tables
	// have f = A A', a being (D+3) × m(m+1)/2.
	f, a   linalg.Matrix
	within float64
	// meanSub is F_cc of the subset, meanAll that times n / rows: F_cc of all
	// rows lies between the two.
	meanSub, meanAll float64
}

// newFisher computes the information at p on a random subset of d's rows.
func newFisher(ctx context.Context, e *linalg.Engine, d *gp.Table, p gp.Params, seed uint64) (*fisher, error) {
	dims := d.X.Cols
	n := d.X.Rows
	rows := cost.InformationRows(n, dims)
	sub := d.Rows(gp.Subset(n, rows, seed))
	times := float64(n) / float64(rows)
	wide := cost.Wide(n, dims)
	grows, scale := !wide && n > leastTimes*rows, times
	if grows {
		scale = 1
	}
	o, a, err := whitenedRows(ctx, e, sub, p, scale/2, !wide)
	if err != nil {
		return nil, err
	}
	_, _, within := sub.WithinGroups(p.Noise)
	fs := &fisher{within: times * within, meanSub: gp.MeanInfo(e, rows, o.Chol.SolveTo)}
	fs.meanAll = fs.meanSub * times
	if wide {
		fs.a = a
	} else {
		fs.f = gram(e, a)
	}
	if grows {
		few, err := quarters(ctx, e, sub, p)
		if err != nil {
			return nil, err
		}
		fs.f = grown(e, few, fs.f, quarterShare, times)
		atMost(fs.f, dims+1, float64(n)/2)
	}
	f := fs.information(fs.meanSub)
	for i := range dims + 2 {
		if !gp.Finite(f.at(i)) {
			return nil, fmt.Errorf("%w: information matrix", gp.ErrNotFinite)
		}
	}
	return fs, nil
}

// atMost scales row and column i of F so that F_ii is at most that. K̂ = K + N, so the eigenvalues of S are at most
// 1 for σ_n², and F_ii at most n/2: the power of a small noise does not go on for ever. The same holds of σ_f², but
// scaling it beside its lengthscales would turn the ridge along which F has hardly anything: a tenth too much of it
// (kin40k) is the lesser fault.
func atMost(f linalg.Matrix, i int, most float64) {
	if !(f.At(i, i) > most) {
		return
	}
	s := math.Sqrt(most / f.At(i, i))
	for j := range f.Rows {
		f.Set(i, j, s*f.At(i, j))
		f.Set(j, i, s*f.At(j, i))
	}
}

// whitenedRows returns A of all rows of d, and their factor. Of as many rows as are worth it S is seen
// through random vectors if sketched.
func whitenedRows(ctx context.Context, e *linalg.Engine, d *gp.Table, p gp.Params, scale float64,
	sketched bool) (*gp.Cholesky, linalg.Matrix, error) {
	o, err := gp.NewCholesky(e, d, p)
	if err == nil {
		err = o.Factor(ctx, p)
	}
	if err != nil {
		return nil, linalg.Matrix{}, err
	}
	var keep keeper = triangles{o, scale}
	if sketched && cost.Sketched(d.X.Rows) {
		keep = newSketch(o, scale)
	}
	a, err := whitened(ctx, o, p, keep)
	return o, a, err
}

// gram returns A A'.
func gram(e *linalg.Engine, a linalg.Matrix) linalg.Matrix {
	b := linalg.NewMatrix(a.Rows, a.Rows)
	e.SyrkTo(b, 1, a, false, 0)
	for i := range b.Rows {
		for j := range i {
			b.Set(j, i, b.At(i, j))
		}
	}
	return b
}

// information returns F of z with F_cc = mean.
func (fs *fisher) information(mean float64) information {
	n := max(fs.a.Rows, fs.f.Rows)
	if fs.a.Rows > 0 {
		own := make([]float64, n)
		own[n-2], own[n-1] = fs.within, mean
		return wideInformation{fs.a, own}
	}
	b := fs.f.Clone()
	b.Set(n-2, n-2, b.At(n-2, n-2)+fs.within)
	b.Set(n-1, n-1, b.At(n-1, n-1)+mean)
	return denseInformation{b}
}

// unitInformation is a unit of curvature a row.
func unitInformation(n, dims int) information {
	own := make([]float64, dims+3)
	for i := range own {
		own[i] = float64(n)
	}
	if cost.Wide(n, dims) {
		return wideInformation{linalg.NewMatrix(dims+3, 1), own}
	}
	b := linalg.NewMatrix(dims+3, dims+3)
	for i, v := range own {
		b.Set(i, i, v)
	}
	return denseInformation{b}
}

// whitened returns A, whose row i holds what keep keeps of S_i, where K̂ = L L' has been
// factored at p; the last row, that of c, is 0, and so are those of inactive inputs. Ranks share the rows out.
func whitened(ctx context.Context, o *gp.Cholesky, p gp.Params, keep keeper) (linalg.Matrix, error) {
	n, dims := o.Table.X.Rows, o.Table.X.Cols
	k := gp.KernelOf(p)
	weight, dk := linalg.NewMatrix(n, n), linalg.NewMatrix(n, n)
	o.Engine.Par.For(n, func(_, i int) {
		for j := range i + 1 {
			weight.Set(i, j, k.WeightAt(o.Table.X.Row(i), o.Table.X.Row(j)))
		}
	})
	weight.Mirror()
	a := linalg.NewMatrix(dims+3, keep.width())
	e := o.Engine
	for q, length := range p.Lengthscales {
		if math.IsInf(length, 1) || !e.Deals(q) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return a, err
		}
		o.Engine.Par.For(n, func(_, i int) {
			row, xi := dk.Row(i), o.Table.X.At(i, q)
			for j, w := range weight.Row(i) {
				t := (xi - o.Table.X.At(j, q)) / length
				row[j] = w * t * t
			}
		})
		keep.put(a.Row(q), dk)
	}
	// L⁻¹K L⁻ᵀ = I - L⁻¹N L⁻ᵀ, N the noise. Its known part does not depend on σ_n².
	noise, dst := gp.NoiseOf(p, o.Table), a.Row(dims)
	if e.Deals(dims) {
		setDiagonal(dk, noise)
		keep.put(dst, dk)
		for i := range dst {
			dst[i] *= -1
		}
		keep.addUnit(dst)
	}
	for i := range noise {
		if o.Table.NoiseExtra != nil {
			noise[i] -= o.Table.NoiseExtra[i]
		}
	}
	if e.Deals(dims + 1) {
		setDiagonal(dk, noise)
		keep.put(a.Row(dims+1), dk)
	}
	linalg.CompleteDealt(e, a.Data, a.Rows, a.Cols, false)
	return a, nil
}

// A keeper keeps of S = L⁻¹ D L⁻ᵀ what its products tr(S_i S_j) are told from.
type keeper interface {
	width() int
	put(dst []float64, d linalg.Matrix) // sets dst; d may be overwritten
	addUnit(dst []float64)              // adds what is kept of S = I
}

// triangles keep the lower triangle of S times sqrt(scale), entries off the diagonal times sqrt 2.
type triangles struct {
	o     *gp.Cholesky
	scale float64
}

func (t triangles) width() int { n := t.o.Table.X.Rows; return n * (n + 1) / 2 }

func (t triangles) put(dst []float64, d linalg.Matrix) {
	l := t.o.Chol.Factor()
	t.o.Engine.SolveLeft(l, false, d)
	t.o.Engine.SolveRight(d, l, true)
	on, off := math.Sqrt(t.scale), math.Sqrt(2*t.scale)
	at := 0
	for i := range d.Rows {
		for _, v := range d.Row(i)[:i] {
			dst[at] = off * v
			at++
		}
		dst[at] = on * d.At(i, i)
		at++
	}
}

func (t triangles) addUnit(dst []float64) {
	at := -1
	for i := range t.o.Table.X.Rows {
		at += i + 1
		dst[at] += math.Sqrt(t.scale)
	}
}

func setDiagonal(m linalg.Matrix, diag []float64) {
	clear(m.Data)
	for i, v := range diag {
		m.Set(i, i, v)
	}
}
