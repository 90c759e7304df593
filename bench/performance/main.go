// Command performance measures the routines and writes the tables of
// docs/PERFORMANCE.md as Markdown:
//
//	go run ./bench/performance > tables.md
//
// Each cell is the best of about -time of products, in cycles per ordered pair
// of points; a cycle is two vector multiply-adds at the peak of the same cores
// in the same run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"bbgp.dev/asm"
	"bbgp.dev/bench"
	"bbgp.dev/kernelmv"
)

var (
	columns = []int{1, 2, 4, 8, 16, 32}
	inputs  = []int{1, 2, 4, 8, 18, 26, 50}
)

func main() {
	n := flag.Int("n", 10000, "points")
	each := flag.Duration("time", 300*time.Millisecond, "time for a cell")
	flag.Parse()
	if err := run(*n, *each); err != nil {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
}

func run(n int, each time.Duration) error {
	ctx := context.Background()
	fmt.Printf("CPU: %s, n = %d, Matérn-3/2, whole products (packing and sums included).\n", asm.CPU(), n)
	for _, im := range asm.All() {
		if im.Name == "generic" {
			continue
		}
		for _, prec := range []kernelmv.Precision{kernelmv.F32, kernelmv.F64} {
			if err := products(ctx, im, prec, n, each); err != nil {
				return err
			}
		}
	}
	if err := threads(ctx, n, each); err != nil {
		return err
	}
	return dense(ctx)
}

// products prints the table of one implementation: cycles per pair, and the
// share of the bound (D + 8 + 2p)/2 multiply-adds at p = 8.
func products(ctx context.Context, im *asm.Impl, prec kernelmv.Precision, n int, each time.Duration) error {
	fmt.Printf("\n### %s, %s, one thread\n\n| D \\ p |", im.Name, prec)
	for _, p := range columns {
		fmt.Printf(" %d |", p)
	}
	fmt.Print(" share at p = 8 |\n|---|---|---|---|---|---|---|---|\n")
	for _, d := range inputs {
		fmt.Printf("| %d |", d)
		share := 0.0
		for _, p := range columns {
			r, err := bench.Product(ctx, bench.ProductSpec{N: n, D: d, P: p, Kernel: kernelmv.Matern32, Precision: prec, Impl: im, Threads: 1, Time: each})
			if err != nil {
				return err
			}
			fmt.Printf(" %.2f |", r.CyclesPair)
			if p == 8 {
				share = r.FMAShare
			}
		}
		fmt.Printf(" %.2f |\n", share)
	}
	return nil
}

// threads prints products and gradients on one thread and on all.
func threads(ctx context.Context, n int, each time.Duration) error {
	fmt.Print("\n### One thread and two, D = 18\n\n| pass | precision | threads | wall s | CPU s | pairs/s |\n|---|---|---|---|---|---|\n")
	for _, prec := range []kernelmv.Precision{kernelmv.F32, kernelmv.F64} {
		for _, gradient := range []bool{false, true} {
			for _, t := range []int{1, 2} {
				s := bench.ProductSpec{N: n, D: 18, P: 8, Kernel: kernelmv.Matern32, Precision: prec, Threads: t, Time: 3 * each}
				name, measure := "product, p = 8", bench.Product
				if gradient {
					s.P, name, measure = 16, "gradient, R = 16", bench.Gradient
				}
				r, err := measure(ctx, s)
				if err != nil {
					return err
				}
				fmt.Printf("| %s | %s | %d | %.4f | %.4f | %.3g |\n", name, prec, t, r.Seconds, r.CPUSeconds, r.PairsPerS)
			}
		}
	}
	return nil
}

// dense prints products and factorisations of matrices that are stored.
func dense(ctx context.Context) error {
	fmt.Print("\n### Dense, float64\n\n| operation | n | m | threads | Gflop/s | share of the peak | CPU s |\n|---|---|---|---|---|---|---|\n")
	reports, err := bench.Dense(ctx, bench.DenseSpec{})
	for _, r := range reports {
		fmt.Printf("| %s | %d | %d | %d | %.1f | %.2f | %.3f |\n", r.Op, r.N, r.M, r.Threads, r.Gflops, r.FMAShare, r.CPUSeconds)
	}
	return err
}
