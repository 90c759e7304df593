package gp

import (
	"testing"

	"bbgp.dev/linalg"
)

// Columns yields every column whole, of wide and narrow matrices with a stride of their own, and ends when told to.
func TestColumns(t *testing.T) {
	for _, shape := range [][2]int{{3, 1}, {5, 8}, {4, 19}, {0, 3}, {7, 0}} {
		n, d := shape[0], shape[1]
		x := linalg.NewMatrix(n, d+2).Sub(0, n, 1, d+1)
		for i := range n {
			for j := range d {
				x.Set(i, j, float64(100*i+j))
			}
		}
		next := 0
		for j, col := range Columns(x) {
			if j != next || len(col) != n {
				t.Fatalf("%d×%d: column %d of %d numbers after %d", n, d, j, len(col), next)
			}
			for i, v := range col {
				if v != x.At(i, j) {
					t.Errorf("%d×%d: row %d, column %d: %v", n, d, i, j, v)
				}
			}
			next++
			if j == 9 {
				break
			}
		}
		if next != min(d, 10) {
			t.Errorf("%d×%d: %d columns", n, d, next)
		}
	}
}
