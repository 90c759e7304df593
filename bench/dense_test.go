package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"bbgp.dev/linalg"
	"gonum.org/v1/gonum/mat"
)

func TestDense(t *testing.T) {
	reports, err := Dense(context.Background(), DenseSpec{Ops: DenseOps(), Threads: []int{2}, Scale: 0.02,
		Time: time.Millisecond})
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
		sameKeys(t, r, "cpu_seconds fma_share gflops m n op precision threads")
	}
	if _, err := Dense(context.Background(), DenseSpec{Ops: []string{"lu"}}); err == nil {
		t.Error("no error for an unknown operation")
	}
}

// TestDenseReport prints one measurement for bench/openblas/run.sh.
func TestDenseReport(t *testing.T) {
	ops := os.Getenv("BBGP_DENSE")
	if ops == "" {
		t.Skip("BBGP_DENSE names no operation")
	}
	threads, err := strconv.Atoi(os.Getenv("BBGP_DENSE_THREADS"))
	if err != nil {
		t.Fatal(err)
	}
	reports, err := Dense(context.Background(), DenseSpec{Ops: strings.Split(ops, ","), Threads: []int{threads},
		Time: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		fmt.Printf("dense %s %d %.4f %.3f\n", r.Op, r.Threads, r.CPUSeconds, r.FMAShare)
	}
}

// BenchmarkGonum times gonum on the operations of BenchmarkDense.
func BenchmarkGonum(b *testing.B) {
	const n = 1000
	rng := newRand()
	x, y := mat.NewDense(n, n, normal(rng, n, n).Data), mat.NewDense(n, n, normal(rng, n, n).Data)
	spd := mat.NewSymDense(n, definite(rng, n).Data)
	b.Run("gemm/n=1000", func(b *testing.B) {
		var z mat.Dense
		perFlop(b, 2*n*n*n, func() { z.Mul(x, y) })
	})
	b.Run("syrk/n=1000", func(b *testing.B) {
		var s mat.SymDense
		perFlop(b, n*n*n, func() { s.SymOuterK(1, x) })
	})
	b.Run("cholesky/n=1000", func(b *testing.B) {
		var c mat.Cholesky
		perFlop(b, n*n*n/3, func() { c.Factorize(spd) })
	})
}

// BenchmarkDense times the same on the default implementation and all threads.
func BenchmarkDense(b *testing.B) {
	for _, c := range denseCases[1:4] {
		const n = 1000
		b.Run(c.op+"/n=1000", func(b *testing.B) {
			e, err := linalg.NewEngine(nil, 0)
			if err != nil {
				b.Fatal(err)
			}
			reset, run := c.prepare(e, newRand(), n, n)
			perFlop(b, c.flopsOf(n, n), func() {
				reset()
				if err := run(context.Background()); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// perFlop reports the rate by CPU time, of all threads together.
func perFlop(b *testing.B, flops float64, body func()) {
	body()
	cpu := CPUSeconds()
	for b.Loop() {
		body()
	}
	b.ReportMetric(flops*float64(b.N)/(CPUSeconds()-cpu)/1e9, "Gflop/cpu-s")
}
