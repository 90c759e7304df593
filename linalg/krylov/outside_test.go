package krylov

import (
	"context"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// TestEmptyEngine: an engine that computes nothing is told by name, not by a nil pointer.
func TestEmptyEngine(t *testing.T) {
	for what, f := range map[string]func(e *linalg.Engine){
		"NewCG":      func(e *linalg.Engine) { NewCG(e, 10, 1) },
		"NewLanczos": func(e *linalg.Engine) { NewLanczos(e, 10, 1, LanczosOptions{}) },
	} {
		for _, e := range []*linalg.Engine{nil, {}} {
			func() {
				defer func() {
					if s, ok := recover().(string); !ok || !strings.Contains(s, "NewEngine") {
						t.Errorf("%s: %v", what, s)
					}
				}()
				f(e)
			}()
		}
	}
}

// A diagonal is a SymOp.
type diagonal []float64

func (d diagonal) Dim() int { return len(d) }

func (d diagonal) MulTo(_ context.Context, dst, src linalg.Matrix) error {
	for i, v := range d {
		for j, s := range src.Row(i) {
			dst.Set(i, j, v*s)
		}
	}
	return nil
}

// TestNoPreconditioner: nil is the identity.
func TestNoPreconditioner(t *testing.T) {
	const n = 12
	e, op := linalgtest.NewEngine(t, nil, 1), make(diagonal, n)
	b := linalg.NewMatrix(n, 1)
	for i := range op {
		op[i], b.Data[i] = float64(1+i%3), float64(i)
	}
	var got [2]linalg.Matrix
	for k, f := range []linalg.Solver{nil, linalg.Identity(n)} {
		got[k] = linalg.NewMatrix(n, 1)
		if _, err := NewCG(e, n, 1).Solve(context.Background(), op, f, got[k], b, CGOptions{Tol: 1e-9}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got[0].Data, got[1].Data) {
		t.Errorf("%v without, %v with the identity", got[0].Data, got[1].Data)
	}
	NewLanczos(e, n, 1, LanczosOptions{}).Start(op, nil, b)
}
