package gp

import (
	"context"
	"errors"
	"fmt"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// A Cholesky is K̂ of a table as a matrix that is stored, n×n, and its Cholesky factor.
type Cholesky struct {
	Engine *linalg.Engine
	Op     *kernelmv.Op
	Table  *Table
	A      linalg.Matrix    // where K̂ and its factor stand
	Chol   *linalg.Cholesky // of the last Factor, in A
}

// NewCholesky returns the Cholesky of d, without a factor.
func NewCholesky(e *linalg.Engine, d *Table, p Params) (*Cholesky, error) {
	op, err := kernelmv.NewOp(e, d.X, KernelOf(p), NoiseOf(p, d))
	if err != nil {
		return nil, err
	}
	return &Cholesky{Engine: e, Op: op, Table: d, A: linalg.NewMatrix(d.X.Rows, d.X.Rows)}, nil
}

// Factor sets Chol to the Cholesky factor of K̂ at p. It fails with an error that wraps
// ErrNotFinite where K̂ is not positive definite in float64.
func (o *Cholesky) Factor(ctx context.Context, p Params) error {
	noise := NoiseOf(p, o.Table)
	if err := o.Op.Reset(KernelOf(p), noise); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := o.Op.DenseTo(ctx, o.A); err != nil {
		return err
	}
	for i, v := range noise {
		o.A.Data[i*o.A.Stride+i] += v
	}
	done := o.Engine.Par.Until(ctx)
	chol, err := o.Engine.NewCholesky(o.A)
	done()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var notPD *linalg.NotPDError
	if errors.As(err, &notPD) {
		return fmt.Errorf("%w: %w", ErrNotFinite, err)
	}
	o.Chol = chol
	return err
}
