package linalg

import (
	"fmt"
	"math"
	"testing"
)

// checkQR holds q, r to W = Q R columnwise, Q'Q diagonal with ones and, for
// dropped columns, zeros, and R upper triangular.
func checkQR(t *testing.T, e *Engine, name string, w, q, r Matrix, rank int) {
	t.Helper()
	diff := w.Clone()
	e.GemmTo(diff, -1, q, false, r, false, 1)
	for j := range w.Cols {
		if d, norm := columnNorm(diff, j), columnNorm(w, j); !(d <= 3e-13*norm) {
			t.Errorf("%s: column %d of W - Q R is %g of %g", name, j, d, norm)
			break
		}
	}
	g := NewMatrix(q.Cols, q.Cols)
	e.GramTo(g, q, q)
	kept := 0
	for i := range q.Cols {
		want := 0.0
		if r.At(i, i) != 0 {
			want = 1
			kept++
		} else if maxAbs(r.Sub(i, i+1, 0, r.Cols)) != 0 {
			t.Errorf("%s: row %d of R is not zero", name, i)
		}
		for j := range i + 1 {
			if j < i {
				want = 0
				if r.At(i, j) != 0 {
					t.Fatalf("%s: R is not upper triangular", name)
				}
			} else if r.At(i, i) != 0 {
				want = 1
			}
			if !(math.Abs(g.At(i, j)-want) <= 1e-13) {
				t.Fatalf("%s: Q'Q (%d, %d) is %g", name, i, j, g.At(i, j))
			}
		}
	}
	if kept != rank {
		t.Errorf("%s: rank %d, but R has %d rows", name, rank, kept)
	}
}

// spoil changes w as kind says, and returns its rank.
func spoil(w Matrix, kind string) (rank int) {
	p := w.Cols
	for i := range w.Rows {
		row := w.Row(i)
		for j := range row {
			switch {
			case kind == "graded":
				row[j] *= math.Pow(10, -12*float64(j)/float64(p))
			case kind == "ill" && j > 0: // each column the one before plus a little
				row[j] = row[j-1] + 1e-9*row[j]
			case kind == "copies" && j%3 == 2:
				row[j] = -2 * row[j-1]
			case kind == "zero" && j == p/2:
				row[j] = 0
			case kind == "tiny":
				row[j] *= 1e-200
			case kind == "huge":
				row[j] *= 1e200
			}
		}
	}
	switch kind {
	case "copies":
		p -= p / 3
	case "zero":
		p--
	}
	return min(p, w.Rows)
}

func TestThinQR(t *testing.T) {
	engines(t, func(t *testing.T, e *Engine) {
		for _, s := range [][2]int{{1, 1}, {3, 2}, {2, 3}, {48, 48}, {500, 9}, {600, 60}, {700, 140}} {
			if s[1] > 48 && e.Impl.Name == "generic" {
				continue
			}
			for _, kind := range []string{"random", "graded", "ill", "copies", "zero", "tiny", "huge"} {
				w := randMatrix(newRand(21), s[0], s[1])
				want := spoil(w, kind)
				q := w.Clone()
				r, rank := e.ThinQR(q)
				name := fmt.Sprintf("%d×%d %s", s[0], s[1], kind)
				if rank != want {
					t.Errorf("%s: rank %d, want %d", name, rank, want)
				}
				checkQR(t, e, name, w, q, r, rank)
			}
		}
	})
}

// TestThinQRCondition factors matrices whose singular values fall evenly to
// 1e-14: rank decisions are free, W = Q R and the orthogonality of Q are not.
func TestThinQRCondition(t *testing.T) {
	engines(t, func(t *testing.T, e *Engine) {
		for _, s := range [][2]int{{1, 1}, {2, 2}, {30, 30}, {700, 50}, {1000, 200}, {400, 400}} {
			n, p := s[0], s[1]
			if p > 60 && e.Impl.Name != "avx512" && e.Impl.Name != "neon" {
				continue
			}
			left, right := randMatrix(newRand(31), n, p), randMatrix(newRand(32), p, p)
			e.ThinQR(left)
			e.ThinQR(right)
			for i := range n {
				for j := range p {
					left.Data[i*left.Stride+j] *= math.Pow(1e-14, float64(j)/float64(max(1, p-1)))
				}
			}
			w := NewMatrix(n, p)
			e.GemmTo(w, 1, left, false, right, true, 0)
			q := w.Clone()
			r, rank := e.ThinQR(q)
			checkQR(t, e, fmt.Sprintf("%d×%d", n, p), w, q, r, rank)
		}
	})
}
