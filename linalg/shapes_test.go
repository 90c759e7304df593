package linalg

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// Arguments of wrong shapes are told by name.
func TestWrongShapes(t *testing.T) {
	e, m := testEngine(t, nil, 1), NewMatrix
	chol, err := e.NewCholesky(eye(2))
	if err != nil {
		t.Fatal(err)
	}
	var rows PackedRows
	rows.Append(e, m(2, 3))
	for what, call := range map[string]func(){
		"NewMatrix":   func() { m(-1, 2) },
		"Sub":         func() { m(2, 2).Sub(0, 3, 0, 1) },
		"CopyFrom":    func() { m(2, 2).CopyFrom(m(2, 1)) },
		"EigenSym":    func() { _, _, _ = EigenSym(m(2, 1)) },
		"NewCholesky": func() { _, _ = e.NewCholesky(m(2, 1)) },
		"InverseTo":   func() { chol.InverseTo(m(3, 3)) },
		"GemmTo":      func() { e.GemmTo(m(2, 2), 1, m(2, 3), false, m(2, 2), false, 0) },
		"SyrkTo":      func() { e.SyrkTo(m(2, 2), 1, m(3, 2), false, 0) },
		"MulPacked":   func() { e.MulPacked(m(2, 2), 1, &rows, m(2, 2)) },
		"Mirror":      func() { m(2, 3).Mirror() },
		"TransposeTo": func() { e.TransposeTo(m(2, 3), m(2, 3)) },
		"GramTo":      func() { e.GramTo(m(2, 2), m(5, 2), m(4, 2)) },
		"Dot":         func() { e.Dot(make([]float64, 2), make([]float64, 3)) },
		"SolveLeft":   func() { e.SolveLeft(eye(2), false, m(3, 1)) },
		"SolveRight":  func() { e.SolveRight(m(1, 3), eye(2), false) },
		"InvertLower": func() { e.InvertLower(m(2, 3)) },
	} {
		t.Run(what, func(t *testing.T) {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "linalg: "+what) {
					t.Errorf("it says %q", s)
				}
			}()
			call()
		})
	}
}

func eye(n int) Matrix {
	m := NewMatrix(n, n)
	for i := range n {
		m.Set(i, i, 1)
	}
	return m
}

// Rows that are packed once, columns added in pieces, give the bits of a product that packs them each time.
func TestMulPacked(t *testing.T) {
	engines(t, func(t *testing.T, e *Engine) {
		rng := newRand(11)
		a, b := randMatrix(rng, 37, gemmKC+20), randMatrix(rng, 30, gemmKC+20)
		for _, most := range []int{0, a.Cols} { // with a last step that is as deep as the others, or not
			packed := PackedRows{Most: most}
			for at := 0; at < a.Cols; {
				to := min(a.Cols, at+150)
				packed.Append(e, a.Sub(0, a.Rows, at, to))
				at = to
			}
			got, want := randMatrix(rng, 37, 30), NewMatrix(37, 30)
			want.CopyFrom(got)
			c0 := got.Clone()
			e.MulPacked(got, -2, &packed, b)
			checkProduct(t, got, c0, -2, a, false, b, true, 1, false)
			e.GemmTo(want, -2, a.Sub(0, 37, 0, gemmKC), false, b.Sub(0, 30, 0, gemmKC), true, 1)
			e.GemmTo(want, -2, a.Sub(0, 37, gemmKC, a.Cols), false, b.Sub(0, 30, gemmKC, a.Cols), true, 1)
			for i := range got.Rows {
				if !slices.Equal(got.Row(i), want.Row(i)) {
					t.Fatalf("row %d has other bits than the product by steps", i)
				}
			}
		}
	})
}

// A panic in the body of a loop is raised in the caller, on one thread and on several, and the Par goes on.
func TestPanicInLoop(t *testing.T) {
	bad := errors.New("bad")
	for _, threads := range []int{1, 3} {
		p := NewPar(threads)
		func() {
			defer func() {
				if recover() != bad {
					t.Errorf("%d threads: the panic is lost", threads)
				}
			}()
			p.For(100, func(_, i int) {
				if i == 40 {
					panic(bad)
				}
			})
		}()
		const n = 3*rowBlock + 1
		seen := make([]int, n)
		p.ForRows(n, func(i int) { seen[i]++ })
		if slices.Max(seen) != 1 || slices.Min(seen) != 1 {
			t.Errorf("%d threads: rows are left out or taken twice", threads)
		}
	}
}

// A tall thin QR stops after one round where that loses less than is allowed.
func TestThinQRRows(t *testing.T) {
	e := testEngine(t, nil, 1)
	w := randMatrix(newRand(12), 300, 5)
	q := w.Clone()
	r, rank := e.ThinQRRows(q, 300, 1e-9)
	checkQR(t, e, "one round", w, q, r, rank)
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		bad := w.Clone()
		bad.Set(7, 2, v)
		r, _ := e.ThinQR(bad)
		if !slices.ContainsFunc(append(r.Data, bad.Clone().Data...), math.IsNaN) {
			t.Errorf("%v has no NaN in its factors", v)
		}
	}
	if c := MatrixOf(nil); c.Rows != 0 || c.Cols != 0 {
		t.Error("nothing is a matrix")
	}
	if c := MatrixOf(q2{}); c.Rows != 2 || c.Cols != 3 || c.At(1, 2) != 12 {
		t.Errorf("%v", c)
	}
	if d := ColumnDots(w, w); len(d) != 5 || math.Abs(d[3]-e.Dot(column(w, 3), column(w, 3))) > 1e-12*d[3] {
		t.Errorf("the dots are %v", d)
	}
}

type q2 struct{}

func (q2) Dims() (int, int)    { return 2, 3 }
func (q2) At(i, j int) float64 { return float64(10*i + j) }
func column(m Matrix, j int) (c []float64) {
	for i := range m.Rows {
		c = append(c, m.At(i, j))
	}
	return c
}
