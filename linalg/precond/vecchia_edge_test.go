package precond

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// randomBlock is an n×p matrix of normal values.
func randomBlock(n, p int, seed uint64) linalg.Matrix {
	r := rand.New(rand.NewPCG(seed, 2))
	m := linalg.NewMatrix(n, p)
	for i := range m.Data {
		m.Data[i] = r.NormFloat64()
	}
	return m
}

// TestVecchiaThreads wants the same bits for W and its products whatever the
// number of threads, from every implementation.
func TestVecchiaThreads(t *testing.T) {
	k, noise := randomCov("matern32", 203, 4, 0.1, 5)
	for _, l := range []linalg.Matrix{{}, nystrom(k, 50)} {
		var want []float64
		for _, im := range asm.All() {
			for _, threads := range []int{1, 2, 8} {
				v := newVecchia(t, linalgtest.NewEngine(t, im, threads), k, l, noise, 13)
				got := append([]float64{v.LogDet()}, v.w...)
				for _, p := range []int{1, 7, 8, 9, 33} {
					x, y := randomBlock(203, p, 1), linalg.NewMatrix(203, p)
					v.MulTo(y, x)
					got = append(got, y.Data...)
					v.MulTransTo(y, x)
					got = append(got, y.Data...)
				}
				if want == nil {
					want = got
				}
				for i := range got {
					if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
						t.Fatalf("%s, %d threads: value %d is %v, want %v", im.Name, threads, i, got[i], want[i])
					}
				}
			}
		}
	}
}

// TestVecchiaStrides multiplies views: only the columns of the view change.
func TestVecchiaStrides(t *testing.T) {
	const n, p = 90, 5
	k, noise := randomCov("matern52", n, 2, 0.1, 6)
	v := newVecchia(t, linalgtest.NewEngine(t, nil, 2), k, linalg.Matrix{}, noise, 9)
	x := randomBlock(n, p, 3)
	wide, out := randomBlock(n, p+4, 4), randomBlock(n, p+4, 5)
	wide.Sub(0, n, 2, 2+p).CopyFrom(x)
	for _, mul := range []func(dst, src linalg.Matrix){v.MulTo, v.MulTransTo} {
		y, before := linalg.NewMatrix(n, p), out.Clone()
		mul(y, x)
		mul(out.Sub(0, n, 1, 1+p), wide.Sub(0, n, 2, 2+p))
		for i := range n {
			for j := range p + 4 {
				want := before.At(i, j)
				if j >= 1 && j < 1+p {
					want = y.At(i, j-1)
				}
				if out.At(i, j) != want {
					t.Fatalf("element %d, %d is %v, want %v", i, j, out.At(i, j), want)
				}
			}
		}
	}
}

// TestVecchiaDuplicates has each row many times over.
func TestVecchiaDuplicates(t *testing.T) {
	const n = 60
	e := linalgtest.NewEngine(t, nil, 2)
	for _, noise := range []float64{1, 1e-3, 1e-6} {
		// Equal rows: det(1 1' + s I) = s^(n-1) (s + n), and any neighbour tells all.
		k, s := randomCov("matern32", n, 2, 1, 1)
		for i := range n {
			s[i] = noise
			copy(k.x.Row(i), k.x.Row(0))
		}
		v := newVecchia(t, e, k, linalg.Matrix{}, s, n)
		want := (n-1)*math.Log(noise) + math.Log(noise+n)
		if math.Abs(v.LogDet()-want) > 1e-8*n {
			t.Errorf("noise %g: log det %v, want %v", noise, v.LogDet(), want)
		}
	}
	for _, spread := range []float64{0, 1e-12, 1e-8, 1e-4} {
		for _, noise := range []float64{0, 1e-14, 1e-6} {
			for name := range scalarFamilies {
				k, s := randomCov(name, n, 2, 1, 8)
				for i := range n {
					s[i] = noise
					for d := range 2 {
						k.x.Set(i, d, k.x.At(i%5, d)+spread*float64(i/5))
					}
				}
				for _, nn := range []int{3, 16, n} {
					checkFinite(t, newVecchia(t, e, k, linalg.Matrix{}, s, nn), k, s)
				}
			}
		}
	}
}

// checkFinite wants the diagonal of W within what the variances and the guard
// allow, and W finite.
func checkFinite(t *testing.T, v *Vecchia, k scalarCov, noise []float64) {
	t.Helper()
	for q := range v.Dim() {
		row := v.w[q*v.near.width : (q+1)*v.near.width]
		for _, x := range row {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Fatalf("W is %v in row %d", x, q)
			}
		}
		self := q0(v, q)
		if row[0] < 0.999/math.Sqrt(k.at(self, self)+noise[self]) {
			t.Fatalf("W[%d][%d] = %v: the variance has grown", q, q, row[0])
		}
		if noise[self] > 1e-10 && row[0] > (1+1e-9)/math.Sqrt(noise[self]) {
			t.Fatalf("W[%d][%d] = %v: below the noise %v", q, q, row[0], noise[self])
		}
	}
}

// TestVecchiaFullRank leaves nothing of K: R is the noise, in the rows that L
// holds exactly and up to rounding.
func TestVecchiaFullRank(t *testing.T) {
	const n = 40
	k, noise := randomCov("matern32", n, 3, 1e-3, 9)
	v := newVecchia(t, linalgtest.NewEngine(t, nil, 2), k, nystrom(k, n), noise, 12)
	want := 0.0
	for _, s := range noise {
		want += math.Log(s)
	}
	if math.Abs(v.LogDet()-want) > 1e-6 {
		t.Errorf("log det %v, want %v", v.LogDet(), want)
	}
	for i := range noise {
		noise[i] = 0
	}
	checkFinite(t, newVecchia(t, linalgtest.NewEngine(t, nil, 1), k, nystrom(k, n), noise, 12), k, noise)
}

// TestVecchiaReuse builds a factor with the neighbours of another one.
func TestVecchiaReuse(t *testing.T) {
	e, ctx := linalgtest.NewEngine(t, nil, 2), context.Background()
	k, noise := randomCov("matern32", 150, 3, 0.01, 3)
	first := newVecchia(t, e, k, linalg.Matrix{}, noise, 11)
	again, err := NewVecchiaWith(ctx, e, k, linalg.Matrix{}, noise, first.Neighbours())
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range first.w {
		if again.w[i] != x {
			t.Fatalf("value %d is %v, want %v", i, again.w[i], x)
		}
	}
	for i := range k.x.Data {
		k.x.Data[i] *= 1.2
	}
	moved, err := NewVecchiaWith(ctx, e, k, linalg.Matrix{}, noise, first.Neighbours())
	if err != nil {
		t.Fatal(err)
	}
	want := denseVecchia(residualOf(k, linalg.Matrix{}, noise), first.Neighbours())
	got := applied(moved, false)
	for i, x := range want.Data {
		if math.Abs(got.Data[i]-x) > 1e-9*(1+math.Abs(x)) {
			t.Fatalf("value %d is %v, want %v", i, got.Data[i], x)
		}
	}
	if b, m := again.Bytes(), int64(150*(11+2)*12); b < m || b > 2*m {
		t.Errorf("%d bytes, want about %d", b, m)
	}
}

func TestVecchiaFailures(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 2)
	k, noise := randomCov("matern32", 30, 3, 0.01, 3)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := NewVecchia(ctx, e, k, linalg.Matrix{}, noise, 4, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: error %v", err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), -2} {
		s := append([]float64(nil), noise...)
		s[17] = bad
		var notPD *linalg.NotPDError
		_, err := NewVecchia(context.Background(), e, k, linalg.Matrix{}, s, 4, 1)
		if !errors.As(err, &notPD) || notPD.Pivot != 17 {
			t.Errorf("noise %v: error %v", bad, err)
		}
	}
	for name, f := range map[string]func(){
		"nn < 0":    func() { NewVecchia(context.Background(), e, k, linalg.Matrix{}, noise, -1, 1) },
		"noise":     func() { NewVecchia(context.Background(), e, k, linalg.Matrix{}, noise[1:], 4, 1) },
		"rows of L": func() { NewVecchia(context.Background(), e, k, linalg.NewMatrix(29, 2), noise, 4, 1) },
		"shapes": func() {
			newVecchia(t, e, k, linalg.Matrix{}, noise, 4).MulTo(linalg.NewMatrix(30, 2), linalg.NewMatrix(30, 3))
		},
		"short": func() {
			newVecchia(t, e, k, linalg.Matrix{}, noise, 4).MulTransTo(linalg.NewMatrix(29, 2), linalg.NewMatrix(30, 2))
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestVecchiaAllocs(t *testing.T) {
	k, noise := randomCov("matern32", 130, 3, 0.01, 3)
	v := newVecchia(t, linalgtest.NewEngine(t, nil, 2), k, linalg.Matrix{}, noise, 16)
	x, y := randomBlock(130, 9, 1), linalg.NewMatrix(130, 9)
	if n := testing.AllocsPerRun(20, func() { v.MulTo(y, x); v.MulTransTo(x, y) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	v.MulTo(linalg.NewMatrix(130, 0), linalg.NewMatrix(130, 0))
}

// TestFamilyOrder wants every position once, and none before its parent.
func TestFamilyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 50} {
		for nn := range 3 {
			found := make([]int32, n*nn)
			for q := 1; q < n; q++ {
				for i := range nn {
					found[q*nn+i] = int32(r.IntN(q))
				}
			}
			at := make([]int, n)
			for i, q := range familyOrder(found, n, nn) {
				at[q] = i + 1
			}
			for q := range n {
				if at[q] == 0 || (q > 0 && nn > 0 && at[q] < at[found[q*nn]]) {
					t.Fatalf("n=%d, nn=%d: position %d is at %d", n, nn, q, at[q]-1)
				}
			}
		}
	}
}
