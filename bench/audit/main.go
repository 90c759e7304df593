// Command audit holds what the program says against the truth, on random tables with
// random parameters, and prints how often each kind of bounds fails:
//
//	go run ./bench/audit -short             # two CPU minutes at most, what CI runs
//	go run ./bench/audit -n 10000           # problems
//	go run ./bench/audit -seed 1 -case 17   # one of them again
//	go run ./bench/audit -least 300 -most 4000 -n 100000   # until interrupted
//
// The truth is computed in twice the precision of float64, from the inputs as they are
// (truth.go). It ends with code 1 where bounds that are called exact or rigorous fail
// at all, where those called probable fail more often than once in 10,000 or by more
// than a hundredth of their width, or where the program does not answer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"bbgp.dev/bbgp"
	"bbgp.dev/bench"
)

// An audit holds one part of what the program says of a problem.
type audit struct {
	name  string
	run   func(*problem, *tally)
	every int // problems between those it is made of, unless it is asked for
}

var audits = []audit{{"posterior", holdPosterior, 1}, {"evidence", holdEvidence, 1}, {"latents", holdLatents, 1},
	{"fits", holdFits, 8}}

// refuse notes that the program did not answer. A table that float64 cannot hold may
// be refused, if that is said.
func (t *tally) refuse(p *problem, what string, err error) {
	var stagnation *bbgp.StagnationError
	if errors.Is(err, bbgp.ErrNotFinite) || errors.As(err, &stagnation) {
		t.refused++
		return
	}
	t.fail("%s: %s: %v", p.recipe(), what, err)
}

func main() {
	short := flag.Bool("short", false, "stop after 100 CPU seconds; tables of at most 150 rows")
	n := flag.Int("n", 1000, "problems")
	seed := flag.Uint64("seed", 1, "of the problems")
	only := flag.Int("case", -1, "the one problem to look at")
	least := flag.Int("least", 20, "rows of the smallest table")
	most := flag.Int("most", 400, "rows of the largest")
	which := flag.String("audit", "", "the one audit to make")
	budget := flag.Float64("seconds", 0, "CPU seconds after which no problem is begun; 0 for no limit")
	verbose := flag.Bool("v", false, "print every miss")
	flag.Parse()
	if *short {
		*budget, *most = 100, 150
	}
	t, start := newTally(), time.Now()
	t.verbose = *verbose
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	done := 0
	for i := range *n {
		if *only >= 0 {
			i = *only
		}
		if ctx.Err() != nil || *budget > 0 && bench.CPUSeconds() > *budget {
			break
		}
		for _, a := range audits {
			if *which == a.name || *which == "" && i%a.every == 0 {
				a.run(draw(*seed, i, *least, *most), t)
			}
		}
		done++
		if *only >= 0 {
			fmt.Println(draw(*seed, i, *least, *most).recipe())
			break
		}
	}
	fmt.Printf("%d problems of seed %d, %d to %d rows, %d answers refused for want of digits, %.0f CPU s, %.0f s\n"+
		"%d likelihoods held against the truth, %d of them of more than %d rows\n\n", done, *seed, *least, *most,
		t.refused, bench.CPUSeconds(), time.Since(start).Seconds(), t.evaluations, t.large, manyRows)
	if t.print(os.Stdout) {
		os.Exit(1)
	}
}
