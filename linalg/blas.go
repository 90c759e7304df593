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
	a.Check()
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

func fromDense(d *mat.Dense) Matrix {
	r := d.RawMatrix()
	return Matrix{Rows: r.Rows, Cols: r.Cols, Stride: r.Stride, Data: r.Data}
}
