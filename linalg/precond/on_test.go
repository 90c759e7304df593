package precond

import (
	"slices"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// A factor on another engine gives the bits that it gives on its own.
func TestOn(t *testing.T) {
	linalgtest.Engines(t, func(t *testing.T, e *linalg.Engine) {
		const n = 100
		other := linalgtest.NewEngine(t, e.Impl, 3)
		k, noise := randomCov("matern32", n, 2, 1e-2, 32)
		b := linalg.NewMatrix(n, 3)
		for i := range b.Data {
			b.Data[i] = float64(i%7) - 3
		}
		same := func(what string, own, moved linalg.Solver) {
			x, y := linalg.NewMatrix(n, 3), linalg.NewMatrix(n, 3)
			own.SolveTo(x, b)
			moved.SolveTo(y, b)
			if !slices.Equal(x.Data, y.Data) {
				t.Errorf("%s: other bits on another engine", what)
			}
		}
		for _, opt := range []Options{{}, {Rank: 20}, {Neighbours: 8}, {Rank: 20, Neighbours: 8}} {
			p := newPrecond(t, e, k, noise, opt)
			same("preconditioner", p, p.On(other))
		}
		a := linalg.NewMatrix(n, n)
		for i := range n {
			for j := range n {
				a.Set(i, j, k.at(i, j))
			}
			a.Set(i, i, a.At(i, i)+noise[i])
		}
		c, err := e.NewCholesky(a)
		if err != nil {
			t.Fatal(err)
		}
		same("Cholesky", c, c.On(other))
	})
}
