package kernelmv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// BenchmarkH2Product has products of 8 columns below n² by one thread, in two and three inputs, once plan and matrices
// are there: uniform places, Matérn 3/2, ℓ .1, tolerance 1.4e-6, in float32 and float64. BBGP_LONG=1 takes 1e6 places
// for 1e5. Beside the usual figures there are CPU seconds.
func BenchmarkH2Product(b *testing.B) {
	n := 100000
	if os.Getenv("BBGP_LONG") != "" {
		n = 1000000
	}
	for d := 2; d <= 3; d++ {
		o, err := NewOp(linalgtest.NewEngine(b, nil, 1), h2Points("uniform", n, d, 1),
			Kernel{Matern32, 1, []float64{.1, .1, .1}[:d]}, nil)
		if err != nil {
			b.Fatal(err)
		}
		v, y := linalgtest.RandMatrix(rand.New(rand.NewPCG(1, 2)), n, 8), linalg.NewMatrix(n, 8)
		for _, p := range []Precision{F32, F64} {
			b.Run(fmt.Sprintf("%d/%v", d, p), func(b *testing.B) {
				o.SetForm(FormH2, 1.4e-6, 1.4e-6)
				mul := func() {
					if err := o.With(p).MulTo(context.Background(), y, v); err != nil {
						b.Fatal(err)
					}
				}
				mul()
				b.ResetTimer()
				start := cpuSeconds(b)
				for range b.N {
					mul()
				}
				b.ReportMetric((cpuSeconds(b)-start)/float64(b.N), "cpu-s/op")
			})
		}
	}
}

// cpuSeconds is what the process has taken.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
