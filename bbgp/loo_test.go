package bbgp

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/gptest"
)

// TestLeaveOneOutConstant: nothing varies, nothing is unknown.
func TestLeaveOneOutConstant(t *testing.T) {
	d, err := NewData([][]float64{{1}, {2}, {3}}, []float64{7, 7, 7}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Fit(context.Background(), d, Options{Engine: gptest.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.LeaveOneOut(context.Background(), LeaveOutOptions{})
	if err != nil || math.Abs(l.Mean[1]-7) > 1e-12 || l.SDObs[1] != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}
