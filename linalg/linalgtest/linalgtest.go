// Package linalgtest holds the checks that every operator must pass, and what tests of linear algebra share.
package linalgtest

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// Engines runs f with every implementation of this CPU, on two threads.
func Engines(t *testing.T, f func(*testing.T, *linalg.Engine)) {
	t.Helper()
	for _, im := range asm.All() {
		t.Run(im.Name, func(t *testing.T) { f(t, NewEngine(t, im, 2)) })
	}
}

// NewEngine is linalg.NewEngine in a test.
func NewEngine(t testing.TB, im *asm.Impl, threads int) *linalg.Engine {
	t.Helper()
	e, err := linalg.NewEngine(im, threads)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// NewRand returns random numbers that follow from a seed.
func NewRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// GuardedMatrix returns an r×c matrix of standard normal numbers inside a larger one, whose other elements are NaN: a
// read outside shows.
func GuardedMatrix(rng *rand.Rand, r, c int) linalg.Matrix {
	m := linalg.Matrix{Rows: r, Cols: c, Stride: c + 3}
	if r > 0 {
		m.Data = make([]float64, r*m.Stride-3)
	}
	for i := range m.Data {
		m.Data[i] = math.NaN()
	}
	for i := range r {
		for j := range c {
			m.Set(i, j, rng.NormFloat64())
		}
	}
	return m
}

// Transposed returns m'.
func Transposed(m linalg.Matrix) linalg.Matrix {
	r := linalg.NewMatrix(m.Cols, m.Rows)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			r.Set(j, i, v)
		}
	}
	return r
}

// MaxDiff returns the largest |a_ij - b_ij|.
func MaxDiff(a, b linalg.Matrix) float64 {
	d := 0.0
	for i := range a.Rows {
		for j, v := range a.Row(i) {
			d = max(d, math.Abs(v-b.At(i, j)))
		}
	}
	return d
}

// RandMatrix returns an r×c matrix of standard normal numbers.
func RandMatrix(rng *rand.Rand, r, c int) linalg.Matrix {
	m := linalg.NewMatrix(r, c)
	for i := range m.Data {
		m.Data[i] = rng.NormFloat64()
	}
	return m
}

// CheckSymOp checks op against its dense copy: products with 1 to 9 and some
// more columns agree within tol times Σ_j |A_ij| |x_j|, strided arguments are
// respected, the result is linear and symmetric to that accuracy, bitwise the
// same on 1 and 8 processors, and a product allocates nothing.
func CheckSymOp(t *testing.T, op linalg.SymOp, dense linalg.Matrix, tol float64) {
	t.Helper()
	n := dense.Rows
	if op.Dim() != n {
		t.Fatalf("Dim() = %d, want %d", op.Dim(), n)
	}
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	for _, p := range []int{1, 2, 3, 4, 5, 8, 9, 17, 33} {
		x := RandMatrix(rng, n, p)
		y := linalg.NewMatrix(n, p+3).Sub(0, n, 1, p+1) // a view with a stride
		mul(t, op, y, x)
		checkProduct(t, dense, x, y, tol)
	}
	checkForm(t, op, dense, rng, tol)
	checkBits(t, op, rng)
	x, y := RandMatrix(rng, n, 4), linalg.NewMatrix(n, 4)
	ctx := context.Background()
	if a := testing.AllocsPerRun(3, func() { _ = op.MulTo(ctx, y, x) }); a >= 1 {
		t.Errorf("MulTo allocates %v times", a)
	}
}

func mul(t *testing.T, op linalg.SymOp, y, x linalg.Matrix) {
	t.Helper()
	if err := op.MulTo(context.Background(), y, x); err != nil {
		t.Fatal(err)
	}
}

func checkProduct(t *testing.T, a, x, y linalg.Matrix, tol float64) {
	t.Helper()
	for i := range y.Rows {
		for c := range y.Cols {
			var want, size float64
			for j, v := range a.Row(i) {
				want += v * x.At(j, c)
				size += math.Abs(v * x.At(j, c))
			}
			if got := y.At(i, c); !(math.Abs(got-want) <= tol*size) {
				t.Fatalf("%d columns: y[%d][%d] = %v, want %v, off by %.2g of %.2g allowed",
					y.Cols, i, c, got, want, math.Abs(got-want), tol*size)
			}
		}
	}
}

// checkForm checks u'Av = v'Au and A(u + 2v) = Au + 2Av.
func checkForm(t *testing.T, op linalg.SymOp, a linalg.Matrix, rng *rand.Rand, tol float64) {
	t.Helper()
	n := a.Rows
	x := RandMatrix(rng, n, 3)
	for i := range n {
		x.Set(i, 2, x.At(i, 0)+2*x.At(i, 1))
	}
	y := linalg.NewMatrix(n, 3)
	mul(t, op, y, x)
	var uv, vu, size float64
	for i := range n {
		uv += x.At(i, 0) * y.At(i, 1)
		vu += x.At(i, 1) * y.At(i, 0)
		var row float64
		for j, v := range a.Row(i) {
			row += math.Abs(v) * (math.Abs(x.At(j, 0)) + math.Abs(x.At(j, 1)))
		}
		size += row * (math.Abs(x.At(i, 0)) + math.Abs(x.At(i, 1)))
		if d := y.At(i, 2) - y.At(i, 0) - 2*y.At(i, 1); !(math.Abs(d) <= 4*tol*row) {
			t.Fatalf("not linear: row %d is off by %.2g of %.2g allowed", i, d, 4*tol*row)
		}
	}
	if d := uv - vu; !(math.Abs(d) <= 2*tol*size) {
		t.Fatalf("not symmetric: off by %.2g of %.2g allowed", d, 2*tol*size)
	}
}

func checkBits(t *testing.T, op linalg.SymOp, rng *rand.Rand) {
	t.Helper()
	n := op.Dim()
	x := RandMatrix(rng, n, 5)
	one, many := linalg.NewMatrix(n, 5), linalg.NewMatrix(n, 5)
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	mul(t, op, one, x)
	runtime.GOMAXPROCS(8)
	mul(t, op, many, x)
	for i, v := range one.Data {
		if math.Float64bits(v) != math.Float64bits(many.Data[i]) {
			t.Fatalf("value %d depends on the number of processors", i)
		}
	}
}
