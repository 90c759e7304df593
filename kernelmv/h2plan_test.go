package kernelmv

import (
	"context"
	"math"
	"runtime"
	"testing"

	"bbgp.dev/linalg/linalgtest"
)

// Where a tolerance is so fine that no boxes of three inputs are far from each other, all leaves are near all others.
// That is found before there are lists of them: those of this table took 2 GB.
func TestPlanWithoutFarBoxes(t *testing.T) {
	n, most := 200000, int64(400<<20)
	if testing.Short() {
		n, most = 20000, 200<<20
	}
	o := newOp(t, linalgtest.NewEngine(t, nil, 1), h2Points("uniform", n, 3, 1), Kernel{Family: Matern32, Variance: 1,
		Lengthscales: []float64{.1, .1, .1}}, nil)
	for _, form := range []Form{FormAuto, FormH2} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o.SetForm(form, 1e-6, 1e-12)
		pairs, h2, err := o.Work(context.Background(), F64)
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		taken := int64(after.TotalAlloc - before.TotalAlloc)
		if square := math.Pow(float64(n), 2); form == FormAuto && (h2 || pairs != square) {
			t.Errorf("form %v: %v pairs, h2 %v", form, pairs, h2)
		}
		if taken > most {
			t.Errorf("form %v: %d MB taken for a plan, h2 %v", form, taken>>20, h2)
		}
		t.Logf("form %v: %d MB, h2 %v", form, taken>>20, h2)
	}
}
