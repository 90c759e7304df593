package kernelmv

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

var families = []asm.Family{Matern12, Matern32, Matern52, Gaussian}

// forEach runs f on every implementation that this CPU can run.
func forEach(t *testing.T, f func(*testing.T, *asm.Impl)) {
	for _, im := range asm.All() {
		t.Run(im.Name, func(t *testing.T) { f(t, im) })
	}
}

// randKernel has lengthscales that keep r of the order of 1 for standard
// normal inputs.
func randKernel(rng *rand.Rand, f asm.Family, d int) Kernel {
	k := Kernel{Family: f, Variance: 1.7}
	for range d {
		k.Lengthscales = append(k.Lengthscales, math.Sqrt(float64(d))*math.Exp(0.4*rng.NormFloat64()))
	}
	return k
}

func randNoise(rng *rand.Rand, n int) []float64 {
	noise := make([]float64, n)
	for i := range noise {
		noise[i] = 0.1 + rng.Float64()
	}
	return noise
}

// dense is K̂ by the scalar formulas.
func dense(x linalg.Matrix, k Kernel, noise []float64) linalg.Matrix {
	a := linalg.NewMatrix(x.Rows, x.Rows)
	for i := range x.Rows {
		for j := range x.Rows {
			a.Set(i, j, k.At(x.Row(i), x.Row(j)))
		}
		if noise != nil {
			a.Data[i*a.Stride+i] += noise[i]
		}
	}
	return a
}

func newOp(t testing.TB, e *linalg.Engine, x linalg.Matrix, k Kernel, noise []float64) *Op {
	t.Helper()
	op, err := NewOp(e, x, k, noise)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// tol is the accuracy of a product relative to Σ|K_ij||v_j|.
var tol = map[Precision]float64{F32: 2e-6, F64: 2e-13}

func TestMulToShapes(t *testing.T) {
	forEach(t, func(t *testing.T, im *asm.Impl) {
		for _, d := range []int{1, 2, 3, 8, 18, 50} {
			for _, n := range []int{1, 2, 3, 95, 96, 97, 500} {
				if n > 2 && im.Name == "generic" && (d != 3 || n == 500) {
					continue // seconds, and nothing new
				}
				rng := rand.New(rand.NewPCG(uint64(d), uint64(n)))
				x := linalgtest.RandMatrix(rng, n, d)
				f := families[(d+n)%len(families)]
				k, noise := randKernel(rng, f, d), randNoise(rng, n)
				op := newOp(t, linalgtest.NewEngine(t, im, 3), x, k, noise)
				want := dense(x, k, noise)
				for _, prec := range []Precision{F32, F64} {
					t.Run(fmt.Sprintf("%s/n=%d/d=%d/%v", f.String(), n, d, prec), func(t *testing.T) {
						linalgtest.CheckSymOp(t, op.With(prec), want, tol[prec])
					})
				}
			}
		}
	})
}

func TestMulToColumns(t *testing.T) {
	forEach(t, func(t *testing.T, im *asm.Impl) {
		n, d := 420, 5
		if im.Name == "generic" {
			n = 100
		}
		rng := rand.New(rand.NewPCG(1, 2))
		x := linalgtest.RandMatrix(rng, n, d)
		for i, p := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 32, 33, 64, 65, 130, 1, 1, 1, 2, 2, 2} {
			f := families[(i+i/4)%4]
			k := randKernel(rng, f, d)
			op, want := newOp(t, linalgtest.NewEngine(t, im, 2), x, k, nil), dense(x, k, nil)
			v, y := linalgtest.RandMatrix(rng, n, p), linalg.NewMatrix(n, p)
			for i := range n { // columns of very different size
				for c := range p {
					v.Data[i*p+c] *= math.Pow(10, float64(20*(c%5-2)))
				}
			}
			for _, prec := range []Precision{F32, F64} {
				if err := op.With(prec).MulTo(context.Background(), y, v); err != nil {
					t.Fatal(err)
				}
				checkMul(t, want, v, y, tol[prec], fmt.Sprintf("%v p=%d %v", f, p, prec))
			}
		}
	})
}

// Superblocks and tiles in numbers, with many and few inputs.
func TestMulToLarger(t *testing.T) {
	n := 1500
	for _, d := range []int{3, 18} {
		rng := rand.New(rand.NewPCG(61, uint64(d)))
		x, v, y := linalgtest.RandMatrix(rng, n, d), linalgtest.RandMatrix(rng, n, 9), linalg.NewMatrix(n, 9)
		k, noise := randKernel(rng, Matern52, d), randNoise(rng, n)
		op, want := newOp(t, linalgtest.NewEngine(t, nil, 3), x, k, noise), dense(x, k, noise)
		for _, prec := range []Precision{F32, F64} {
			if err := op.With(prec).MulTo(context.Background(), y, v); err != nil {
				t.Fatal(err)
			}
			checkMul(t, want, v, y, tol[prec], prec.String())
		}
	}
}

func checkMul(t *testing.T, a, v, y linalg.Matrix, tol float64, what string) {
	t.Helper()
	for i := range y.Rows {
		for c := range y.Cols {
			var want, size float64
			for j, x := range a.Row(i) {
				want += x * v.At(j, c)
				size += math.Abs(x * v.At(j, c))
			}
			if !(math.Abs(y.At(i, c)-want) <= tol*size) {
				t.Fatalf("%s: y[%d][%d] = %v, want %v", what, i, c, y.At(i, c), want)
			}
		}
	}
}

func sameBits(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("%s: value %d is %v, want the bits of %v", what, i, got[i], want[i])
		}
	}
}

func TestMulToThreads(t *testing.T) {
	forEach(t, func(t *testing.T, im *asm.Impl) {
		n := 1500
		if im.Name == "generic" {
			n = 600
		}
		for _, d := range []int{2, 7} {
			rng := rand.New(rand.NewPCG(3, 4))
			x, v := linalgtest.RandMatrix(rng, n, d), linalgtest.RandMatrix(rng, n, 9)
			k := randKernel(rng, Matern32, d)
			for _, prec := range []Precision{F32, F64} {
				want := linalg.NewMatrix(n, 9)
				for _, threads := range []int{1, 3, 8} {
					op, y := newOp(t, linalgtest.NewEngine(t, im, threads), x, k, nil), linalg.NewMatrix(n, 9)
					if err := op.With(prec).MulTo(context.Background(), y, v); err != nil {
						t.Fatal(err)
					}
					if threads == 1 {
						want = y
					}
					sameBits(t, fmt.Sprintf("%v, %d threads", prec, threads), y.Data, want.Data)
				}
			}
		}
	})
}

func TestSchedule(t *testing.T) {
	for _, n := range []int{1, 192, 193, 400, 577, 1500, 3073, 5000, 30000} {
		for _, threads := range []int{1, 3, 100} {
			s := newSchedule(n, linalgtest.NewEngine(t, nil, threads))
			seen := map[[2]int]bool{}
			err := s.run(t.Context(), linalgtest.NewEngine(t, nil, 1).Par, 64, func(_, a, b int) {
				if a < b || a >= s.count || seen[[2]int{a, b}] {
					t.Errorf("n = %d: pair %d %d", n, a, b)
				}
				seen[[2]int{a, b}] = true
			})
			if err != nil || len(seen) != s.count*(s.count+1)/2 {
				t.Fatalf("n = %d: %d pairs of %d blocks, %v", n, len(seen), s.count, err)
			}
		}
	}
}

func TestMulToCancel(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	x, v := linalgtest.RandMatrix(rng, 3000, 9), linalgtest.RandMatrix(rng, 3000, 4)
	op := newOp(t, linalgtest.NewEngine(t, nil, 2), x, randKernel(rng, Matern32, 9), nil)
	y, want := linalg.NewMatrix(3000, 4), linalg.NewMatrix(3000, 4)
	if err := op.MulTo(context.Background(), want, v); err != nil {
		t.Fatal(err)
	}
	// A context that ends after some looks: the product stops, and the next is
	// not disturbed.
	ctx := &countdown{Context: context.Background(), left: 20}
	if err := op.MulTo(ctx, y, v); err != context.Canceled {
		t.Fatalf("MulTo = %v, want context.Canceled", err)
	}
	if err := op.MulTo(context.Background(), y, v); err != nil {
		t.Fatal(err)
	}
	sameBits(t, "after a cancelled product", y.Data, want.Data)
}

// Reset takes the noise that the operator has.
func TestResetOwnNoise(t *testing.T) {
	x := linalg.NewMatrix(5, 1)
	for i := range 5 {
		x.Set(i, 0, float64(i))
	}
	k := Kernel{Matern32, 1, []float64{1}}
	o, err := NewOp(linalgtest.NewEngine(t, nil, 1), x, k, []float64{1, 2, 3, 4, 5})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Reset(k, o.Noise()); err != nil || !slices.Equal(o.Noise(), []float64{1, 2, 3, 4, 5}) {
		t.Errorf("%v, noise %v", err, o.Noise())
	}
	if err := o.Reset(k, nil); err != nil || !slices.Equal(o.Noise(), make([]float64, 5)) {
		t.Errorf("%v, noise %v", err, o.Noise())
	}
}
