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

// outerSum is Σ_r g_r u_r u_r'.
func outerSum(u linalg.Matrix, g []float64) linalg.Matrix {
	m := linalg.NewMatrix(u.Rows, u.Rows)
	for i := range u.Rows {
		for j := range u.Rows {
			for r, v := range g {
				m.Data[i*m.Stride+j] += v * u.At(i, r) * u.At(j, r)
			}
		}
	}
	return m
}

// denseGrad is Σ M_ab ∂K_ab/∂log l_d by the scalar formulas, with the sum of
// the sizes of the terms, counting |x'|² as 1 where it is smaller.
func denseGrad(x linalg.Matrix, k Kernel, m linalg.Matrix) (sum []float64, size, mk float64) {
	sum = make([]float64, x.Cols)
	for i := range x.Rows {
		for j := range x.Rows {
			k.GradAt(sum, m.At(i, j), x.Row(i), x.Row(j))
			mk += m.At(i, j) * k.At(x.Row(i), x.Row(j))
			size += k.Variance * math.Abs(m.At(i, j))
		}
	}
	return sum, size, mk
}

func checkGrad(t *testing.T, what string, got, want []float64, allowed float64) {
	t.Helper()
	for d := range want {
		if !(math.Abs(got[d]-want[d]) <= allowed) {
			t.Fatalf("%s: input %d: %v, want %v, off by %.2g of %.2g allowed",
				what, d, got[d], want[d], math.Abs(got[d]-want[d]), allowed)
		}
	}
}

func TestGradTo(t *testing.T) {
	forEach(t, func(t *testing.T, im *asm.Impl) {
		for _, d := range []int{1, 2, 3, 8, 18, 40} {
			for _, n := range []int{1, 2, 97, 300} {
				if n > 2 && im.Name == "generic" && d != 8 {
					continue // seconds, and nothing new
				}
				rng := rand.New(rand.NewPCG(uint64(d), uint64(n)))
				x, r := linalgtest.RandMatrix(rng, n, d), 1+n%7*2
				u, g := linalgtest.RandMatrix(rng, n, r), make([]float64, r)
				for i := range g {
					g[i] = 1e-3 * rng.NormFloat64()
				}
				m := outerSum(u, g)
				for _, f := range families {
					k := randKernel(rng, f, d)
					op := newOp(t, linalgtest.NewEngine(t, im, 3), x, k, nil)
					want, size, mk := denseGrad(x, k, m)
					what := fmt.Sprintf("%s n=%d d=%d", f.String(), n, d)
					for prec, tol := range map[Precision]float64{F32: 3e-6, F64: 1e-13} {
						op.SetGradPrecision(prec)
						got := make([]float64, d)
						if err := op.GradTo(context.Background(), got, u, g); err != nil {
							t.Fatal(err)
						}
						checkGrad(t, fmt.Sprint(what, prec), got, want, tol*size)
					}
					got := make([]float64, d)
					gotMK, err := op.DenseGradTo(context.Background(), got, m)
					if err != nil {
						t.Fatal(err)
					}
					checkGrad(t, what+" dense", got, want, 1e-13*size)
					checkGrad(t, what+" dense M∘K", []float64{gotMK}, []float64{mk}, 1e-13*size)
				}
			}
		}
	})
}

// The gradient is that of u'Ku, by central differences of the float64 product.
func TestGradToDifferences(t *testing.T) {
	n, d := 200, 3
	rng := rand.New(rand.NewPCG(8, 9))
	x, u := linalgtest.RandMatrix(rng, n, d), linalgtest.RandMatrix(rng, n, 1)
	for _, f := range families {
		k := randKernel(rng, f, d)
		op := newOp(t, linalgtest.NewEngine(t, nil, 2), x, k, nil)
		form := func(k Kernel) (s float64) {
			if err := op.Reset(k, nil); err != nil {
				t.Fatal(err)
			}
			y := linalg.NewMatrix(n, 1)
			if err := op.MulTo(context.Background(), y, u); err != nil {
				t.Fatal(err)
			}
			for i, v := range y.Data {
				s += v * u.Data[i]
			}
			return s
		}
		want := make([]float64, d)
		const h = 1e-4
		for i := range want {
			up, down := op.Kernel(), op.Kernel()
			up.Lengthscales[i] *= math.Exp(h)
			down.Lengthscales[i] *= math.Exp(-h)
			a := form(up)
			want[i] = (a - form(down)) / (2 * h)
			form(k)
		}
		got := make([]float64, d)
		if err := op.GradTo(context.Background(), got, u, []float64{1}); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-6*(1+math.Abs(want[i])) {
				t.Errorf("%s: input %d: %v, want %v", f.String(), i, got[i], want[i])
			}
		}
	}
}

func TestGradInvSqTo(t *testing.T) {
	n, d := 150, 4
	rng := rand.New(rand.NewPCG(10, 11))
	x, u := linalgtest.RandMatrix(rng, n, d), linalgtest.RandMatrix(rng, n, 1)
	k := Kernel{Matern52, 1.3, []float64{2, math.Inf(1), 3, math.Inf(1)}}
	op := newOp(t, linalgtest.NewEngine(t, nil, 2), x, k, nil)
	got := make([]float64, d)
	if err := op.GradInvSqTo(context.Background(), got, u, []float64{1}); err != nil {
		t.Fatal(err)
	}
	form := func(k Kernel) (s float64) {
		for i := range n {
			for j := range n {
				s += u.Data[i] * u.Data[j] * k.At(x.Row(i), x.Row(j))
			}
		}
		return s
	}
	for i, l := range k.Lengthscales {
		const h = 1e-5
		w := 1 / (l * l)
		up := Kernel{k.Family, k.Variance, append([]float64(nil), k.Lengthscales...)}
		down := Kernel{k.Family, k.Variance, append([]float64(nil), k.Lengthscales...)}
		up.Lengthscales[i] = 1 / math.Sqrt(w+h)
		step := h
		if w > 0 {
			down.Lengthscales[i] = 1 / math.Sqrt(w-h)
			step = 2 * h
		}
		want := (form(up) - form(down)) / step
		if math.Abs(got[i]-want) > 1e-3*math.Abs(want) {
			t.Errorf("input %d: %v, want %v", i, got[i], want)
		}
	}
	if err := op.GradTo(context.Background(), got, u, []float64{1}); err != nil {
		t.Fatal(err)
	}
	if got[1] != 0 || got[3] != 0 || got[0] == 0 {
		t.Errorf("GradTo = %v, want 0 for inputs 1 and 3 alone", got)
	}
}

func TestGradToThreads(t *testing.T) {
	n, d := 700, 9
	rng := rand.New(rand.NewPCG(12, 13))
	x, u := linalgtest.RandMatrix(rng, n, d), linalgtest.RandMatrix(rng, n, 6)
	g := []float64{1, -2, 3, 0.5, 1e-3, 7}
	k := randKernel(rng, Matern32, d)
	for _, prec := range []Precision{F32, F64} {
		var want []float64
		for _, threads := range []int{1, 3, 8} {
			op, got := newOp(t, linalgtest.NewEngine(t, nil, threads), x, k, nil), make([]float64, d)
			op.SetGradPrecision(prec)
			if err := op.GradTo(context.Background(), got, u, g); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			sameBits(t, fmt.Sprintf("%v, %d threads", prec, threads), got, want)
		}
	}
}

func TestCrossGradTo(t *testing.T) {
	forEach(t, func(t *testing.T, im *asm.Impl) {
		for _, d := range []int{1, 5, 18} {
			n, rng := 330, rand.New(rand.NewPCG(14, uint64(d)))
			x := linalgtest.RandMatrix(rng, n, d)
			rows := []int32{5, 7, 7, 300, 0}
			for i := range 95 {
				rows = append(rows, int32(i*3))
			}
			m := linalgtest.RandMatrix(rng, len(rows), n)
			for _, f := range families {
				k := randKernel(rng, f, d)
				op := newOp(t, linalgtest.NewEngine(t, im, 3), x, k, nil)
				want, got := make([]float64, d), make([]float64, d)
				var wantMK, size float64
				for a, i := range rows {
					for j := range n {
						k.GradAt(want, m.At(a, j), x.Row(int(i)), x.Row(j))
						wantMK += m.At(a, j) * k.At(x.Row(int(i)), x.Row(j))
						size += math.Abs(m.At(a, j))
					}
				}
				mk, err := op.CrossGradTo(context.Background(), got, rows, m)
				if err != nil {
					t.Fatal(err)
				}
				checkGrad(t, f.String(), got, want, 1e-13*size)
				checkGrad(t, f.String()+" M∘K", []float64{mk}, []float64{wantMK}, 1e-13*size)
			}
		}
	})
}
