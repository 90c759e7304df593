package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"bbgp.dev/bbgp"
)

func TestScratch(t *testing.T) {
	ctx := context.Background()
	num := func(s string, d int) int {
		if v, err := strconv.Atoi(os.Getenv(s)); err == nil {
			return v
		}
		return d
	}
	seed, n, least, most := num("SEED", 501), num("N", 100), num("LEAST", 20), num("MOST", 300)
	first := num("FIRST", 0)
	for i := first; i < first+n; i++ {
		p := draw(uint64(seed), i, least, most)
		if p.dense {
			continue
		}
		opt := p.options()
		opt.Eps, _ = strconv.ParseFloat(os.Getenv("EPS"), 64)
		a, err := bbgp.LogMarginalLikelihood(ctx, p.data, p.params, opt)
		if err != nil || a.BoundKind == "exact" {
			continue
		}
		opt.Eps, opt.Probes, opt.Precision = 1e-6, a.Probes, "f64"
		b, err := bbgp.LogMarginalLikelihood(ctx, p.data, p.params, opt)
		if err != nil || b.Rank != a.Rank || b.Neighbours != a.Neighbours || b.BoundKind == "exact" {
			continue
		}
		ga, gb := p.logarithmic(a.Gradient), p.logarithmic(b.Gradient)
		worst, at := 0.0, 0
		for j := range ga {
			if d := math.Abs(ga[j] - gb[j]); d > worst {
				worst, at = d, j
			}
		}
		gap := float64(a.Upper - a.Lower)
		fmt.Printf("%6.2f off %8.3f gap %6.3f (%6.4f) dim %d of %d: %9.2f for %9.2f passes %d/%d se %.2f rank %d near %d prec %s L %.1f %s\n", worst/max(gap, 1e-9), worst, gap, float64(b.Upper-b.Lower), at, len(ga), ga[at], gb[at], a.Passes, b.Passes, float64(a.StdErr), a.Rank, a.Neighbours, a.Precision, float64(a.LML), p.recipe())
	}
}
