package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bbgp.dev/asm"
	"bbgp.dev/kernelmv"
)

func TestProductReport(t *testing.T) {
	for _, run := range []func(context.Context, ProductSpec) (*ProductReport, error){Product, Gradient} {
		r, err := run(context.Background(), ProductSpec{N: 300, D: 3, P: 4, Kernel: kernelmv.Matern52,
			Precision: kernelmv.F32, Threads: 2, Time: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if r.Kernel != "matern52" || r.Precision != "f32" || r.Threads != 2 {
			t.Errorf("%+v", r)
		}
		for _, v := range []float64{r.Seconds, r.PairsPerS, r.PeakGFlops} {
			if !(v > 0) || math.IsInf(v, 0) {
				t.Errorf("%+v", r)
			}
		}
		sameKeys(t, r,
			"cpu_seconds cycles_per_pair d fma_share isa kernel n p pairs_per_s peak_gflops precision seconds threads")
	}
	if _, err := Product(context.Background(), ProductSpec{N: 0, D: 1, P: 1}); err == nil {
		t.Error("n = 0 is accepted")
	}
}

// sameKeys wants those keys, in order, in the JSON object of v and no others.
func sameKeys(t *testing.T, v any, want string) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(b, &object); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(slices.Sorted(maps.Keys(object)), " "); got != want {
		t.Errorf("keys %q, want %q", got, want)
	}
}

// benchmark reports what Product or Gradient measures, per implementation.
func benchmark(b *testing.B, run func(context.Context, ProductSpec) (*ProductReport, error), n, d, p int) {
	for _, im := range asm.All() {
		if im.Name == "generic" {
			continue
		}
		for _, prec := range []kernelmv.Precision{kernelmv.F32, kernelmv.F64} {
			b.Run(fmt.Sprintf("n=%d/d=%d/p=%d/%v/isa=%s", n, d, p, prec, im.Name), func(b *testing.B) {
				spec := ProductSpec{N: n, D: d, P: p, Kernel: kernelmv.Matern32, Precision: prec, Impl: im, Threads: 1,
					Time: 300 * time.Millisecond}
				var r *ProductReport
				for range b.N {
					var err error
					if r, err = run(context.Background(), spec); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(r.CyclesPair, "cycles/pair")
				b.ReportMetric(r.FMAShare, "fma-share")
				b.ReportMetric(r.PairsPerS, "pairs/s")
			})
		}
	}
}

func BenchmarkMulTo(b *testing.B) {
	for _, d := range []int{1, 2, 4, 8, 18, 26, 50} {
		for _, p := range []int{1, 2, 4, 8, 16, 32} {
			benchmark(b, Product, 10000, d, p)
		}
	}
}

func BenchmarkGrad(b *testing.B) {
	for _, d := range []int{4, 8, 18, 50} {
		benchmark(b, Gradient, 10000, d, 16)
	}
}
