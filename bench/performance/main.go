// Command performance measures the routines and writes the tables of
// docs/PERFORMANCE.md as Markdown:
//
//	go run ./bench/performance > tables.md
//
// A cell is "cycles (ceiling)" for an ordered pair of points: the middle one of
// about -time of products, a cycle being two vector multiply-adds at the peak of
// the same cores, looked at all through the products, and what two vector ports
// need for the instructions (bench.Product). For AVX2 the figure of a prototype in C on Zen 3 follows,
// which has separate adders. -only picks a table: avx512/f32, threads, dense, ...
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

// prototype holds the figures for AVX2, by precision and inputs.
var prototype = map[string]map[int][]float64{
	"f32": {
		1: {0.57, 0.69, 0.80, 1.13, 1.77, 3.22}, 2: {0.62, 0.73, 0.84, 1.19, 1.82, 3.26},
		4: {0.70, 0.82, 0.94, 1.25, 1.95, 3.32}, 8: {0.80, 0.94, 1.06, 1.39, 2.07, 3.46},
		18: {1.14, 1.25, 1.35, 1.68, 2.32, 3.73}, 26: {1.37, 1.49, 1.62, 1.97, 2.59, 4.01},
		50: {2.11, 2.24, 2.34, 2.65, 3.36, 4.81},
	},
	"f64": {18: {2.63, 2.81, 3.21, 3.75, 5.8, 7.7}},
}

func main() {
	n := flag.Int("n", 10000, "points")
	each := flag.Duration("time", 300*time.Millisecond, "time for a cell")
	only := flag.String("only", "", "the one table to measure")
	row := flag.Int("d", 0, "the one row of it to measure, 0 for all")
	flag.Parse()
	if *row > 0 {
		inputs = []int{*row}
	}
	if err := run(*n, *each, *only); err != nil {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
}

func run(n int, each time.Duration, only string) error {
	ctx := context.Background()
	wanted := func(name string) bool { return only == "" || only == name }
	if only == "" {
		fmt.Printf("CPU: %s, n = %d, Matérn-3/2, whole products (packing and sums included).\n", asm.CPU(), n)
	}
	for _, im := range asm.All() {
		for _, prec := range []kernelmv.Precision{kernelmv.F32, kernelmv.F64} {
			if im.Name == "generic" || !wanted(im.Name+"/"+prec.String()) {
				continue
			}
			if err := products(ctx, im, prec, n, each); err != nil {
				return err
			}
		}
	}
	if wanted("threads") {
		if err := threads(ctx, n, each); err != nil {
			return err
		}
	}
	if wanted("dense") {
		return dense(ctx)
	}
	return nil
}

// products prints the table of one implementation and, at p = 8, the shares of
// the bound (D + 8 + 2p)/2 multiply-adds and of the ports' ceiling.
func products(ctx context.Context, im *asm.Impl, prec kernelmv.Precision, n int, each time.Duration) error {
	fmt.Printf("\n### %s, %s, one thread\n\n| D \\ p |", im.Name, prec)
	for _, p := range columns {
		fmt.Printf(" %d |", p)
	}
	fmt.Print(" p = 8: of the FMA bound | of the ceiling |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, d := range inputs {
		fmt.Printf("| %d |", d)
		var share, ceiling float64
		for i, p := range columns {
			r, err := bench.Product(ctx, bench.ProductSpec{N: n, D: d, P: p, Kernel: kernelmv.Matern32, Precision: prec,
				Impl: im, Threads: 1, Time: each})
			if err != nil {
				return err
			}
			fmt.Printf(" %.2f (%.2f", r.CyclesPair, r.PortCycles)
			if old := prototype[prec.String()][d]; im.Name == "avx2" && old != nil {
				fmt.Printf("; %.2f", old[i])
			}
			fmt.Print(") |")
			if p == 8 {
				share, ceiling = r.FMAShare, r.PortCycles/r.CyclesPair
			}
		}
		fmt.Printf(" %.2f | %.2f |\n", share, ceiling)
	}
	return nil
}

// threads prints products and gradients on one thread and on all.
func threads(ctx context.Context, n int, each time.Duration) error {
	fmt.Print("\n### One thread and two, D = 18\n\n| pass | precision | threads | wall s | CPU s | pairs/s |\n" +
		"|---|---|---|---|---|---|\n")
	for _, prec := range []kernelmv.Precision{kernelmv.F32, kernelmv.F64} {
		for _, gradient := range []bool{false, true} {
			for _, t := range []int{1, 2} {
				s := bench.ProductSpec{N: n, D: 18, P: 8, Kernel: kernelmv.Matern32,
					Precision: prec, Threads: t, Time: 3 * each}
				name, measure := "product, p = 8", bench.Product
				if gradient {
					s.P, name, measure = 16, "gradient, R = 16", bench.Gradient
				}
				r, err := measure(ctx, s)
				if err != nil {
					return err
				}
				fmt.Printf("| %s | %s | %d | %.4f | %.4f | %.3g |\n",
					name, prec, t, r.Seconds, r.CPUSeconds, r.PairsPerS)
			}
		}
	}
	return nil
}

// dense prints products and factorisations of matrices that are stored.
func dense(ctx context.Context) error {
	fmt.Print("\n### Dense\n\n| operation | precision | n | m | threads | Gflop/s | share of the peak | CPU s |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	reports, err := bench.Dense(ctx, bench.DenseSpec{})
	for _, r := range reports {
		fmt.Printf("| %s | %s | %d | %d | %d | %.1f | %.2f | %.3f |\n", r.Op, r.Precision, r.N, r.M, r.Threads,
			r.Gflops, r.FMAShare, r.CPUSeconds)
	}
	return err
}
