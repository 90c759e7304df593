package linalg

import (
	"errors"

	"gonum.org/v1/gonum/mat"
)

// gonum serves small problems; nothing of order n comes here.

// ErrNoConvergence says that an eigenvalue or singular value iteration failed:
// the matrix holds NaN or Inf.
var ErrNoConvergence = errors.New("linalg: the eigenvalue iteration does not converge")

// EigenSym returns the eigenvalues of the symmetric p×p matrix a in ascending
// order, and its eigenvectors as the columns of a p×p matrix: a V = V diag(values).
// It reads the lower triangle of a, which stays as it is.
func EigenSym(a Matrix) (values []float64, vectors Matrix, err error) {
	p := a.Rows
	if a.Cols != p {
		panic("linalg: EigenSym: not square")
	}
	if p == 0 {
		return nil, NewMatrix(0, 0), nil
	}
	sym := mat.NewSymDense(p, nil)
	for i := range p {
		for j := range i + 1 {
			v := a.At(i, j)
			if v-v != 0 {
				return nil, Matrix{}, ErrNoConvergence
			}
			sym.SetSym(i, j, v)
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(sym, true) {
		return nil, Matrix{}, ErrNoConvergence
	}
	var v mat.Dense
	eig.VectorsTo(&v)
	return eig.Values(nil), fromDense(&v), nil
}

// SVD returns the thin singular value decomposition a = U diag(values) V' of
// the p×q matrix a: U is p×k, V q×k, k = min(p, q), values descending. a stays
// as it is.
func SVD(a Matrix) (u Matrix, values []float64, v Matrix, err error) {
	k := min(a.Rows, a.Cols)
	if k == 0 {
		return NewMatrix(a.Rows, 0), nil, NewMatrix(a.Cols, 0), nil
	}
	d := mat.NewDense(a.Rows, a.Cols, nil)
	for i := range a.Rows {
		for _, x := range a.Row(i) {
			if x-x != 0 {
				return Matrix{}, nil, Matrix{}, ErrNoConvergence
			}
		}
		d.SetRow(i, a.Row(i))
	}
	var svd mat.SVD
	if !svd.Factorize(d, mat.SVDThin) {
		return Matrix{}, nil, Matrix{}, ErrNoConvergence
	}
	var um, vm mat.Dense
	svd.UTo(&um)
	svd.VTo(&vm)
	return fromDense(&um), svd.Values(nil), fromDense(&vm), nil
}

func fromDense(d *mat.Dense) Matrix {
	r := d.RawMatrix()
	return Matrix{Rows: r.Rows, Cols: r.Cols, Stride: r.Stride, Data: r.Data}
}
