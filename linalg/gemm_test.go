package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/asm"
)

// engines runs f with every implementation of this CPU.
func engines(t *testing.T, f func(*testing.T, *Engine)) {
	t.Helper()
	for _, im := range asm.All() {
		t.Run(im.Name, func(t *testing.T) { f(t, testEngine(t, im, 2)) })
	}
}

func testEngine(t testing.TB, im *asm.Impl, threads int) *Engine {
	t.Helper()
	e, err := NewEngine(im, threads)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// randMatrix returns an r×c matrix of standard normal numbers inside a larger
// one, whose other elements are NaN: a read outside shows.
func randMatrix(rng *rand.Rand, r, c int) Matrix {
	m := Matrix{Rows: r, Cols: c, Stride: c + 3}
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

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func elem(m Matrix, trans bool, i, j int) float64 {
	if trans {
		i, j = j, i
	}
	return m.At(i, j)
}

// checkProduct compares c with alpha op(a) op(b) + beta c0 where shape covers it
// and with c0 elsewhere.
func checkProduct(t *testing.T, c, c0 Matrix, alpha float64, a Matrix, ta bool, b Matrix, tb bool, beta float64,
	lower bool) {
	t.Helper()
	_, depth := shapeOf(a, ta)
	for i := range c.Rows {
		for j := range c.Cols {
			if lower && j > i {
				if c.At(i, j) != c0.At(i, j) {
					t.Fatalf("element (%d, %d) above the diagonal was written", i, j)
				}
				continue
			}
			want, scale := 0.0, 0.0
			if beta != 0 {
				want = beta * c0.At(i, j)
				scale = math.Abs(want)
			}
			for k := range depth {
				p := alpha * elem(a, ta, i, k) * elem(b, tb, k, j)
				want += p
				scale += math.Abs(p)
			}
			if got := c.At(i, j); !(math.Abs(got-want) <= float64(2*min(depth, gemmKX)+4)*0x1p-53*scale) {
				t.Fatalf("element (%d, %d): %g, want %g", i, j, got, want)
			}
		}
	}
}

// operands returns random a and b for a product of s[0]×s[2] and s[2]×s[1].
func operands(rng *rand.Rand, s [3]int, ta, tb bool) (a, b Matrix) {
	a, b = randMatrix(rng, s[0], s[2]), randMatrix(rng, s[2], s[1])
	if ta {
		a = randMatrix(rng, s[2], s[0])
	}
	if tb {
		b = randMatrix(rng, s[1], s[2])
	}
	return a, b
}

func TestGemmTo(t *testing.T) {
	sizes := [][3]int{{0, 3, 2}, {3, 0, 2}, {3, 2, 0}, {1, 1, 1}, {12, 16, 5}, {13, 17, 257}, {251, 33, 40},
		{24, 48, 600}, {100, 9, 9}, {9, 100, 300}}
	engines(t, func(t *testing.T, e *Engine) {
		rng := newRand(1)
		for _, s := range sizes {
			for form := range 4 {
				ta, tb := form&1 != 0, form&2 != 0
				a, b := operands(rng, s, ta, tb)
				for _, f := range [][2]float64{{1, 0}, {-1, 1}, {0.5, -2}, {0, 3}} {
					c := randMatrix(rng, s[0], s[1])
					c0 := c.Clone()
					if f[1] == 0 && c.Rows > 0 && c.Cols > 0 {
						c.Set(0, 0, math.NaN())
					}
					e.GemmTo(c, f[0], a, ta, b, tb, f[1])
					checkProduct(t, c, c0, f[0], a, ta, b, tb, f[1], false)
				}
			}
		}
	})
}

func TestTransposeTo(t *testing.T) {
	engines(t, func(t *testing.T, e *Engine) {
		for _, s := range [][2]int{{0, 3}, {1, 1}, {7, 9}, {8, 24}, {65, 30}} {
			m, out := randMatrix(newRand(6), s[0], s[1]), NewMatrix(s[1], s[0])
			e.TransposeTo(out, m)
			for i := range m.Rows {
				for j, v := range m.Row(i) {
					if out.At(j, i) != v {
						t.Fatalf("%v: element (%d, %d) is %g, want %g", s, j, i, out.At(j, i), v)
					}
				}
			}
		}
	})
}

func TestSyrkTo(t *testing.T) {
	engines(t, func(t *testing.T, e *Engine) {
		rng := newRand(2)
		for _, s := range [][2]int{{1, 1}, {12, 3}, {17, 30}, {100, 7}, {300, 40}, {50, 300}} {
			for _, trans := range []bool{false, true} {
				a := randMatrix(rng, s[0], s[1])
				if trans {
					a = randMatrix(rng, s[1], s[0])
				}
				c := randMatrix(rng, s[0], s[0])
				c0 := c.Clone()
				e.SyrkTo(c, -1, a, trans, 1)
				checkProduct(t, c, c0, -1, a, trans, a, !trans, 1, true)
				e.SyrkTo(c, 2, a, trans, 0)
				checkProduct(t, c, c0, 2, a, trans, a, !trans, 0, true)
				c.Mirror()
				if s[0] > 1 && c.At(0, s[0]-1) != c.At(s[0]-1, 0) {
					t.Fatal("Mirror: not symmetric")
				}
			}
		}
	})
}

// TestThreadsSameBits holds every result of this package's dense part to the
// promise that the number of threads does not show.
func TestThreadsSameBits(t *testing.T) {
	im, err := asm.Default()
	if err != nil {
		t.Fatal(err)
	}
	rng := newRand(3)
	a, b := randMatrix(rng, 511, 300), randMatrix(rng, 300, 131)
	x, y := randMatrix(rng, 3001, 9), randMatrix(rng, 3001, 14)
	var want [][]float64
	for _, threads := range []int{1, 2, 3, 7} {
		e := testEngine(t, im, threads)
		var got [][]float64
		c := NewMatrix(511, 131)
		e.GemmTo(c, 1, a, false, b, false, 0)
		got = append(got, c.Data)
		s := NewMatrix(511, 511)
		e.SyrkTo(s, 1, a, false, 0)
		got = append(got, s.Data)
		g := NewMatrix(9, 14)
		e.GramTo(g, x, y)
		got = append(got, g.Data)
		for i := range s.Rows {
			s.Data[i*s.Stride+i] += 1
		}
		s = s.Clone()
		if _, err := e.NewCholesky(s); err != nil {
			t.Fatal(err)
		}
		q := a.Clone()
		r, _ := e.ThinQR(q)
		got = append(got, s.Data, q.Data, r.Data)
		if want == nil {
			want = got
			continue
		}
		for k := range got {
			for i, v := range got[k] {
				if v != want[k][i] {
					t.Fatalf("result %d with %d threads: element %d is %g, not %g", k, threads, i, v, want[k][i])
				}
			}
		}
	}
}

func TestGramTo(t *testing.T) {
	engines(t, func(t *testing.T, e *Engine) {
		rng := newRand(4)
		for _, s := range [][3]int{{0, 2, 3}, {1, 1, 1}, {255, 9, 9}, {257, 13, 1}, {1030, 1, 17}, {700, 24, 32},
			{300, 70, 80}} {
			x, y := randMatrix(rng, s[0], s[1]), randMatrix(rng, s[0], s[2])
			c := randMatrix(rng, s[1], s[2])
			e.GramTo(c, x, y)
			checkProduct(t, c, c, 1, x, true, y, false, 0, false)
		}
	})
}

func TestDot(t *testing.T) {
	engines(t, func(t *testing.T, e *Engine) {
		rng := newRand(5)
		for _, n := range []int{0, 1, 31, 256, 1000, 70001} {
			x, y := make([]float64, n), make([]float64, n)
			want, scale := 0.0, 0.0
			for i := range x {
				x[i], y[i] = rng.NormFloat64(), rng.NormFloat64()
				want += x[i] * y[i]
				scale += math.Abs(x[i] * y[i])
			}
			if got := e.Dot(x, y); math.Abs(got-want) > float64(2*n)*0x1p-52*scale {
				t.Errorf("n = %d: %g, want %g", n, got, want)
			}
		}
	})
}

func TestDenseAllocations(t *testing.T) {
	e := testEngine(t, nil, 2)
	rng := newRand(6)
	x, y := randMatrix(rng, 2000, 9), randMatrix(rng, 2000, 9)
	c := NewMatrix(9, 9)
	if got := testing.AllocsPerRun(5, func() { e.GramTo(c, x, y); e.MulSubTo(y, x, c) }); got != 0 {
		t.Errorf("GramTo and MulSubTo allocate %g times", got)
	}
}

func BenchmarkGemmTo(b *testing.B) {
	for _, n := range []int{500, 1000, 2000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			e := testEngine(b, nil, 0)
			rng := newRand(7)
			x, y, z := randMatrix(rng, n, n), randMatrix(rng, n, n), randMatrix(rng, n, n)
			for b.Loop() {
				e.GemmTo(z, 1, x, false, y, false, 0)
			}
			b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gflop/s")
		})
	}
}
