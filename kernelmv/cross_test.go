package kernelmv

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

var _ linalg.ColOp = (*Op)(nil)

func near(t *testing.T, what string, got, want linalg.Matrix, tol float64) {
	t.Helper()
	for i := range want.Rows {
		for j := range want.Cols {
			if !(math.Abs(got.At(i, j)-want.At(i, j)) <= tol) {
				t.Fatalf("%s: entry %d %d is %v, want %v", what, i, j, got.At(i, j), want.At(i, j))
			}
		}
	}
}

func TestEntries(t *testing.T) {
	forEach(t, func(t *testing.T, im *asm.Impl) {
		for _, n := range []int{1, 2, 95, 97, 260} {
			for _, d := range []int{1, 3, 18} {
				rng := rand.New(rand.NewPCG(uint64(n), uint64(d)))
				x := linalgtest.RandMatrix(rng, n, d)
				f := families[(n+d)%4]
				k, ctx := randKernel(rng, f, d), context.Background()
				op, want := newOp(t, linalgtest.NewEngine(t, im, 3), x, k, randNoise(rng, n)), dense(x, k, nil)
				got := linalg.NewMatrix(n, n+2).Sub(0, n, 1, n+1)
				if err := op.DenseTo(ctx, got); err != nil {
					t.Fatal(err)
				}
				near(t, "DenseTo", got, want, 1e-14)
				checkSets(t, op, want, rng)
				diag := make([]float64, n)
				op.DiagTo(diag)
				for _, v := range diag {
					if v != k.Variance {
						t.Fatalf("DiagTo gives %v", v)
					}
				}
			}
		}
	})
}

// checkSets checks ColsTo, RowsTo, BlockTo and TrianglesTo on random sets of
// rows, which may repeat.
func checkSets(t *testing.T, op *Op, want linalg.Matrix, rng *rand.Rand) {
	t.Helper()
	n, ctx := want.Rows, context.Background()
	for _, m := range []int{0, 1, 24, 25, 65, 97, 130} {
		rows, cols := make([]int32, m), make([]int, m)
		for i := range rows {
			cols[i] = rng.IntN(n)
			rows[i] = int32(cols[i])
		}
		wantCols, wantRows, wantBlock := linalg.NewMatrix(n, m), linalg.NewMatrix(m, n), linalg.NewMatrix(m, m)
		for a, i := range cols {
			for j := range n {
				wantCols.Set(j, a, want.At(j, i))
				wantRows.Set(a, j, want.At(i, j))
			}
			for b, j := range cols {
				wantBlock.Set(a, b, want.At(i, j))
			}
		}
		got := linalg.NewMatrix(n, m)
		if err := op.ColsTo(ctx, got, 0, cols); err != nil {
			t.Fatal(err)
		}
		near(t, "ColsTo", got, wantCols, 1e-14)
		got = linalg.NewMatrix(m, n)
		if err := op.RowsTo(ctx, got, rows); err != nil {
			t.Fatal(err)
		}
		near(t, "RowsTo", got, wantRows, 1e-14)
		got = linalg.NewMatrix(m, m)
		op.BlockTo(1, got, rows)
		near(t, "BlockTo", got, wantBlock, 1e-14)
		if m%4 == 1 {
			checkTriangles(t, op, want, rng, m)
		}
	}
}

func checkTriangles(t *testing.T, op *Op, want linalg.Matrix, rng *rand.Rand, m int) {
	t.Helper()
	const lanes = asm.CholLanes
	rows := make([]int32, m*lanes)
	for i := range rows {
		rows[i] = int32(rng.IntN(want.Rows))
	}
	tri := make([]float64, linalg.TriangleRoom(m))
	op.TrianglesTo(1, tri, rows)
	got, wantTri := linalg.NewMatrix(1, m*(m+1)/2*lanes), linalg.NewMatrix(1, m*(m+1)/2*lanes)
	copy(got.Data, tri)
	for a := range m {
		for b := range a + 1 {
			for l := range lanes {
				wantTri.Data[(a*(a+1)/2+b)*lanes+l] = want.At(int(rows[a*lanes+l]), int(rows[b*lanes+l]))
			}
		}
	}
	near(t, "TrianglesTo", got, wantTri, 1e-14)
}

func TestCrossMulTo(t *testing.T) {
	forEach(t, func(t *testing.T, im *asm.Impl) {
		n, d, ctx := 400, 6, context.Background()
		rng := rand.New(rand.NewPCG(20, 21))
		x := linalgtest.RandMatrix(rng, n, d)
		for _, f := range families {
			k := randKernel(rng, f, d)
			op := newOp(t, linalgtest.NewEngine(t, im, 3), x, k, nil)
			for _, m := range []int{0, 1, 24, 100, 197} {
				if m > 24 && im.Name == "generic" && f != Matern32 {
					continue // seconds, and nothing new
				}
				xs := linalgtest.RandMatrix(rng, m, d)
				kx := linalg.NewMatrix(m, n)
				for i := range m {
					for j := range n {
						kx.Set(i, j, k.At(xs.Row(i), x.Row(j)))
					}
				}
				for _, p := range []int{1, 3, 8, 40} {
					v, y := linalgtest.RandMatrix(rng, n, p), linalg.NewMatrix(m, p)
					for _, prec := range []Precision{F32, F64} {
						op.SetPrecision(prec)
						if err := op.CrossMulTo(ctx, y, xs, v); err != nil {
							t.Fatal(err)
						}
						checkMul(t, kx, v, y, tol[prec], f.String())
					}
				}
				got, rows := linalg.NewMatrix(m, 3), []int32{7, 399, 7}
				if err := op.CrossTo(ctx, got, xs, rows); err != nil {
					t.Fatal(err)
				}
				for i := range m {
					for c, j := range rows {
						if math.Abs(got.At(i, c)-kx.At(i, int(j))) > 1e-14 {
							t.Fatalf("CrossTo: entry %d %d", i, c)
						}
					}
				}
			}
		}
	})
}

func TestBadInput(t *testing.T) {
	e, k := linalgtest.NewEngine(t, nil, 1), Kernel{Matern32, 1, []float64{1, 2}}
	x := linalg.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float64{1, 2, 3, 4, 5, 6}}
	bad := x.Clone()
	bad.Set(2, 1, math.NaN())
	check := func(want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	try := func(x linalg.Matrix, k Kernel, noise []float64) error {
		_, err := NewOp(e, x, k, noise)
		return err
	}
	check("input 1 of row 2 is NaN", try(bad, k, nil))
	bad.Set(2, 1, math.Inf(-1))
	check("input 1 of row 2 is -Inf", try(bad, k, nil))
	check("no points", try(linalg.Matrix{Cols: 2, Stride: 2}, k, nil))
	check("2 noise variances for 3 points", try(x, k, []float64{1, 2}))
	check("noise variance -1 of row 1", try(x, k, []float64{1, -1, 2}))
	check("variance 0", try(x, Kernel{Matern32, 0, []float64{1, 2}}, nil))
	check("lengthscale NaN of input 1", try(x, Kernel{Matern32, 1, []float64{1, math.NaN()}}, nil))
	check("1 lengthscales for 2 inputs", try(x, Kernel{Matern32, 1, []float64{1}}, nil))
	check("input 0 is too small", try(x, Kernel{Matern32, 1, []float64{5e-324, 1}}, nil))
	check("unknown kernel", try(x, Kernel{9, 1, []float64{1, 2}}, nil))
	_, err := ParseFamily("rbf")
	check("matern12, matern32, matern52, gaussian", err)
	for _, f := range families {
		if g, err := ParseFamily(f.String()); g != f || err != nil {
			t.Errorf("ParseFamily(%q) = %v, %v", f.String(), g, err)
		}
	}
	op := newOp(t, e, x, k, nil)
	check("input 1 of test row 0", op.CrossMulTo(context.Background(), linalg.NewMatrix(1, 1), bad.Sub(2, 3, 0, 2),
		linalg.NewMatrix(3, 1)))
}

// After a failed Reset the operator is as before.
func TestResetFails(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 1)
	rng := rand.New(rand.NewPCG(22, 23))
	x, v := linalgtest.RandMatrix(rng, 50, 2), linalgtest.RandMatrix(rng, 50, 1)
	op := newOp(t, e, x, Kernel{Matern32, 1, []float64{1, 2}}, nil)
	y, z := linalg.NewMatrix(50, 1), linalg.NewMatrix(50, 1)
	ctx := context.Background()
	if op.MulTo(ctx, y, v) != nil || op.Reset(Kernel{Gaussian, 1, []float64{5e-324, 1}}, nil) == nil ||
		op.MulTo(ctx, z, v) != nil {
		t.Fatal("unexpected error")
	}
	sameBits(t, "after a failed Reset", z.Data, y.Data)
	got := linalg.NewMatrix(50, 50)
	if err := op.DenseTo(ctx, got); err != nil {
		t.Fatal(err)
	}
	near(t, "after a failed Reset", got, dense(x, op.Kernel(), nil), 1e-14)
}

// Constant inputs and infinite lengthscales leave the distance; without any
// input left K is s2 everywhere.
func TestDroppedInputs(t *testing.T) {
	n, ctx := 100, context.Background()
	rng := rand.New(rand.NewPCG(24, 25))
	x := linalgtest.RandMatrix(rng, n, 3)
	for i := range n {
		x.Set(i, 1, 4.25)
	}
	for _, inf := range [][]float64{{1, 2, 3}, {math.Inf(1), 1, 2}, {math.Inf(1), 1, math.Inf(1)}} {
		for _, f := range families {
			k := Kernel{f, 2, inf}
			op := newOp(t, linalgtest.NewEngine(t, nil, 2), x, k, nil)
			if d := op.Dropped(); len(d) != 1 || d[0] != 1 {
				t.Fatalf("Dropped() = %v", d)
			}
			got, want := linalg.NewMatrix(n, n), dense(x, k, nil)
			if err := op.DenseTo(ctx, got); err != nil {
				t.Fatal(err)
			}
			near(t, "DenseTo", got, want, 1e-14)
			for _, prec := range []Precision{F32, F64} {
				linalgtest.CheckSymOp(t, op.With(prec), want, tol[prec])
			}
			grad := make([]float64, 3)
			u := linalgtest.RandMatrix(rng, n, 2)
			wantGrad, size, _ := denseGrad(x, k, outerSum(u, []float64{1, -1}))
			if err := op.GradTo(ctx, grad, u, []float64{1, -1}); err != nil {
				t.Fatal(err)
			}
			checkGrad(t, "GradTo", grad, wantGrad, 1e-13*size)
		}
	}
}

// TestCrossMulToReset: nothing of earlier parameters or roundings is left.
func TestCrossMulToReset(t *testing.T) {
	const n, m, d, p = 300, 40, 5, 3
	ctx, rng := t.Context(), rand.New(rand.NewPCG(22, 23))
	x, xs, v := linalgtest.RandMatrix(rng, n, d), linalgtest.RandMatrix(rng, m, d), linalgtest.RandMatrix(rng, n, p)
	old := newOp(t, linalgtest.NewEngine(t, nil, 2), x, randKernel(rng, Matern32, d), nil)
	for _, prec := range []Precision{F32, F64} {
		for step := range 4 {
			k := randKernel(rng, Matern32, d)
			if step == 2 {
				k.Lengthscales[1] = math.Inf(1)
			}
			if err := old.Reset(k, nil); err != nil {
				t.Fatal(err)
			}
			fresh := newOp(t, linalgtest.NewEngine(t, nil, 2), x, k, nil)
			got, want := linalg.NewMatrix(m, p), linalg.NewMatrix(m, p)
			for op, dst := range map[*Op]linalg.Matrix{old: got, fresh: want} {
				op.SetPrecision(prec)
				if err := op.CrossMulTo(ctx, dst, xs, v); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got.Data, want.Data) {
				t.Fatalf("%v, step %d: differs from a new operator", prec, step)
			}
		}
	}
}
