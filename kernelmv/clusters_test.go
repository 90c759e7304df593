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

// farTable returns n rows of d inputs, normal but for far values of the given kind.
func farTable(rng *rand.Rand, kind string, n, d int) linalg.Matrix {
	x := linalgtest.RandMatrix(rng, n, d)
	for i := range n {
		v := &x.Data[i*x.Stride]
		switch far := rng.IntN(20) == 0; {
		case kind == "sentinel" && far:
			*v = -999
		case kind == "shifted" && far:
			*v += 1000
		case kind == "a few" && i < 4:
			*v = 1e7 * (1 + *v)
		case kind == "both sides" && far:
			*v += float64(2*rng.IntN(2)-1) * 1e5
		case kind == "heavy tails":
			*v /= math.Abs(rng.NormFloat64()) + 1e-3
		case kind == "integers":
			*v = float64(rng.IntN(50))
		case kind == "wide":
			*v *= 300
		case kind == "offset":
			*v += 1e6
		}
	}
	return x
}

var farKinds = []string{"plain", "sentinel", "shifted", "a few", "both sides", "heavy tails", "integers", "wide",
	"offset"}

// TestFarClusters: with rows far away products, entries and gradients are what the
// scalar formulas say, in float64 closely, in float32 as closely as without such rows
// unless the operator foresees that they are not.
func TestFarClusters(t *testing.T) {
	ctx := context.Background()
	e := linalgtest.NewEngine(t, asm.All()[0], 1)
	for _, kind := range farKinds {
		for _, d := range []int{2, 5} {
			for _, f := range allFamilies {
				rng := rand.New(rand.NewPCG(uint64(len(kind)), uint64(d)))
				n := 300
				x := farTable(rng, kind, n, d)
				k := Kernel{Family: f, Variance: 1.3, Lengthscales: make([]float64, d)}
				for j := range k.Lengthscales {
					k.Lengthscales[j] = 0.5 + rng.Float64()
				}
				op, err := NewOp(e, x, k, nil)
				if err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%s, %d inputs, %v", kind, d, f)
				v, out := linalgtest.RandMatrix(rng, n, 3), linalg.NewMatrix(n, 3)
				want := denseMul(x, k, v)
				for _, prec := range []Precision{F32, F64} {
					op.SetPrecision(prec)
					if err := op.MulTo(ctx, out, v); err != nil {
						t.Fatal(err)
					}
					allowed := 1e-11
					if prec == F32 {
						allowed = 1e-5 * (1 + op.Extent()/50)
					}
					if off := linalgtest.MaxDiff(out, want); off > allowed {
						t.Errorf("%s: a product in %v is off by %.2g of %.2g allowed", name, prec, off, allowed)
					}
				}
				checkFarGradient(t, name, op, x, k, rng)
			}
		}
	}
}

func denseMul(x linalg.Matrix, k Kernel, v linalg.Matrix) linalg.Matrix {
	out := linalg.NewMatrix(v.Rows, v.Cols)
	for i := range x.Rows {
		for j := range x.Rows {
			h := k.At(x.Row(i), x.Row(j))
			for c, s := range v.Row(j) {
				out.Data[i*out.Stride+c] += h * s
			}
		}
	}
	return out
}

func checkFarGradient(t *testing.T, name string, op *Op, x linalg.Matrix, k Kernel, rng *rand.Rand) {
	t.Helper()
	ctx, n, d := context.Background(), x.Rows, x.Cols
	u, g := linalgtest.RandMatrix(rng, n, 6), make([]float64, 6)
	for r := range g {
		g[r] = rng.NormFloat64()
	}
	m := outerSum(u, g)
	want, size, _ := denseGrad(x, k, m)
	got := make([]float64, d)
	op.SetGradPrecision(F64)
	if err := op.GradTo(ctx, got, u, g); err != nil {
		t.Fatal(err)
	}
	checkGrad(t, name+" f64", got, want, 1e-11*size)
	if _, err := op.DenseGradTo(ctx, got, m); err != nil {
		t.Fatal(err)
	}
	checkGrad(t, name+" dense", got, want, 1e-11*size)
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	if _, err := op.CrossGradTo(ctx, got, rows, m); err != nil {
		t.Fatal(err)
	}
	checkGrad(t, name+" cross", got, want, 1e-11*size)
	op.SetGradPrecision(F32)
	if err := op.GradTo(ctx, got, u, g); err != nil {
		t.Fatal(err)
	}
	foreseen := op.GradError(u, g, 0)
	worst := 0.0
	for j := range want {
		worst = max(worst, math.Abs(got[j]-want[j]))
	}
	t.Logf("%s: float32 off by %.2g, foreseen %.2g, of %.2g", name, worst, foreseen, size)
	checkGrad(t, name+" f32", got, want, 3*foreseen+3e-6*size)
}
