package bench

import (
	"context"
	"testing"
	"time"
)

func TestDense(t *testing.T) {
	reports, err := Dense(context.Background(), DenseSpec{Threads: []int{2}, Scale: 0.02, Time: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(reports) != len(DenseOps()) {
		t.Fatalf("%d reports for %d operations", len(reports), len(DenseOps()))
	}
	for _, r := range reports {
		if !(r.Gflops > 0 && r.FMAShare > 0 && r.FMAShare < 1.5 && r.PeakGflops > 0) {
			t.Errorf("%+v", r)
		}
	}
	if _, err := Dense(context.Background(), DenseSpec{Ops: []string{"lu"}}); err == nil {
		t.Error("no error for an unknown operation")
	}
}
