package linalg

import (
	"slices"
	"testing"
)

// P = I has log determinant 0 and leaves what it is given.
func TestIdentity(t *testing.T) {
	p := Identity(3)
	v := randMatrix(newRand(5), 3, 2)
	if p.Dim() != 3 || p.LogDet() != 0 {
		t.Errorf("%d rows, log det %v", p.Dim(), p.LogDet())
	}
	for _, to := range []func(dst, src Matrix){p.FInvTo, p.FInvTransTo, p.SolveTo} {
		got := NewMatrix(3, 2)
		to(got, v)
		for i := range 3 {
			if !slices.Equal(got.Row(i), v.Row(i)) {
				t.Errorf("row %d: %v, want %v", i, got.Row(i), v.Row(i))
			}
		}
	}
}
