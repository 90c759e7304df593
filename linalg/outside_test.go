package linalg

import (
	"math"
	"strings"
	"testing"
)

// badMatrices are not what they say they are.
func badMatrices(rows, cols int) map[string]Matrix {
	data := func(n int) []float64 { return make([]float64, n) }
	return map[string]Matrix{
		"no data":  {Rows: rows, Cols: cols, Stride: cols},
		"short":    {Rows: rows, Cols: cols, Stride: cols, Data: data(rows*cols - 1)},
		"overlap":  {Rows: rows, Cols: cols, Stride: cols - 1, Data: data(rows * cols)},
		"negative": {Rows: rows, Cols: cols, Stride: -cols, Data: data(rows * cols)},
		"most":     {Rows: math.MaxInt, Cols: cols, Stride: math.MaxInt, Data: data(rows * cols)},
		"no rows":  {Rows: -rows, Cols: cols, Stride: cols, Data: data(rows * cols)},
	}
}

// TestOutsideMatrices: each function tells by a text of its own what is wrong with a matrix.
func TestOutsideMatrices(t *testing.T) {
	e, good := testEngine(t, nil, 1), eye(3)
	chol, err := e.NewCholesky(eye(3))
	if err != nil {
		t.Fatal(err)
	}
	for what, m := range badMatrices(3, 3) {
		for name, call := range map[string]func(){
			"Check": m.Check, "Clone": func() { m.Clone() }, "CopyFrom": func() { good.CopyFrom(m) },
			"Sub": func() { m.Sub(0, 1, 0, 1) }, "ColumnDots": func() { ColumnDots(good, m) }, "Mirror": m.Mirror,
			"EigenSym": func() { _, _, _ = EigenSym(m) }, "NewCholesky": func() { _, _ = e.NewCholesky(m) },
			"InverseTo": func() { chol.InverseTo(m) }, "SolveTo": func() { chol.SolveTo(good, m) },
			"GemmTo a": func() { e.GemmTo(good, 1, m, false, good, false, 0) },
			"GemmTo b": func() { e.GemmTo(good, 1, good, false, m, false, 0) },
			"GemmTo c": func() { e.GemmTo(m, 1, good, false, good, false, 0) },
			"SyrkTo":   func() { e.SyrkTo(m, 1, good, false, 0) }, "GramTo": func() { e.GramTo(good, m, m) },
			"SolveLeft": func() { e.SolveLeft(m, false, good) }, "SolveRight": func() { e.SolveRight(good, m, true) },
			"InvertLower": func() { e.InvertLower(m) }, "ThinQR": func() { e.ThinQR(m) },
			"TransposeTo": func() { e.TransposeTo(good, m) },
			"MatrixOf":    func() { NewMatrix(math.MaxInt/4, math.MaxInt/4) },
		} {
			func() {
				defer func() {
					if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "linalg: ") {
						t.Errorf("%s of a matrix with %s: %v", name, what, s)
					}
				}()
				call()
			}()
		}
	}
}
