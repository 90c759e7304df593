package kernelmv

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// lineInputs are points with duplicates, near duplicates and gaps beyond all
// correlation.
func lineInputs(rng *rand.Rand, n int) linalg.Matrix {
	x := linalgtest.RandMatrix(rng, n, 1)
	for i := range n {
		switch i % 7 {
		case 3:
			x.Data[i] = x.Data[i-1]
		case 4:
			x.Data[i] = x.Data[i-1] + 1e-6*rng.Float64()
		case 5:
			x.Data[i] += 50
		case 6:
			x.Data[i] -= 1e3 * rng.Float64()
		}
	}
	return x
}

func TestLine(t *testing.T) {
	for _, f := range []asm.Family{Matern12, Matern32, Matern52} {
		for _, n := range []int{2, 3, 97, 400} {
			rng := rand.New(rand.NewPCG(40, uint64(n)))
			x, k, noise := lineInputs(rng, n), Kernel{f, 1.7, []float64{0.6}}, randNoise(rng, n)
			op := newOp(t, linalgtest.NewEngine(t, nil, 3), x, k, noise)
			if op.line == nil {
				t.Fatal("the O(n) form is not used")
			}
			linalgtest.CheckSymOp(t, op, dense(x, k, noise), 1e-11)
			op.SetPrecision(F32)
			linalgtest.CheckSymOp(t, op, dense(x, k, noise), 1e-11)
			u, g := linalgtest.RandMatrix(rng, n, 6), []float64{1, -2, 3, 0.1, 5, -1}
			want, size, _ := denseGrad(x, k, outerSum(u, g))
			got := make([]float64, 1)
			if err := op.GradTo(context.Background(), got, u, g); err != nil {
				t.Fatal(err)
			}
			checkGrad(t, fmt.Sprint(f, n), got, want, 1e-11*size)
		}
	}
}

// The O(n) form and the tiles are two ways to the same numbers.
func TestLineAgainstTiles(t *testing.T) {
	for _, f := range []asm.Family{Matern12, Matern32, Matern52} {
		n, rng := 1000, rand.New(rand.NewPCG(41, uint64(f)))
		x, k := lineInputs(rng, n), Kernel{f, 1, []float64{0.3}}
		op := newOp(t, linalgtest.NewEngine(t, nil, 2), x, k, nil)
		v, y, z := linalgtest.RandMatrix(rng, n, 5), linalg.NewMatrix(n, 5), linalg.NewMatrix(n, 5)
		ctx := context.Background()
		if err := op.MulTo(ctx, y, v); err != nil {
			t.Fatal(err)
		}
		op.SetTilesOnly(true)
		if err := op.MulTo(ctx, z, v); err != nil {
			t.Fatal(err)
		}
		near(t, f.String(), y, z, 1e-10)
	}
}

// What a product of one input is off by is what LineHalves says: beside points at one place, where x'Hx is (Σ x_i)², a
// far one. The sums of x are large on the way, and cancel.
func TestLineHalves(t *testing.T) {
	most := 0.0
	for seed := range 30 {
		n, rng := 400, rand.New(rand.NewPCG(42, uint64(seed)))
		x, v, y := linalg.NewMatrix(n+1, 1), linalg.NewMatrix(n+1, 1), linalg.NewMatrix(n+1, 1)
		x.Data[n], v.Data[n] = 1e4, 1
		for i := range n {
			v.Data[i] = 1 + 0.3*rng.NormFloat64()
			if i >= n/2 {
				v.Data[i] -= 2
			}
		}
		op := newOp(t, linalgtest.NewEngine(t, nil, 1), x, Kernel{families[seed%3], 1, []float64{1}}, nil)
		if err := op.MulTo(t.Context(), y, v); err != nil {
			t.Fatal(err)
		}
		var terms []float64
		for i, a := range v.Data {
			b := a * y.Data[i]
			terms = append(terms, b, math.FMA(a, y.Data[i], -b))
		}
		sum := exactly(v.Data[:n])
		terms = append(terms, -sum*sum, -math.FMA(sum, sum, -sum*sum), -1)
		off := math.Abs(exactly(terms)) / (0x1p-52 * op.LineHalves(v.Data))
		most = max(most, off)
		if off > 3 {
			t.Errorf("seed %d: off by %v of what is foreseen", seed, off)
		}
	}
	if most < 0.1 {
		t.Errorf("foreseen is more than ten times as much as ever was: %v", most)
	}
	x, k := linalgtest.RandMatrix(rand.New(rand.NewPCG(42, 99)), 4, 2), Kernel{Matern32, 1, []float64{1, 1}}
	if tiles := newOp(t, linalgtest.NewEngine(t, nil, 1), x, k, nil); tiles.LineHalves(make([]float64, 4)) != 0 {
		t.Error("of tiles")
	}
}
