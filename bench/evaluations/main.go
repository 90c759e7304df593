// Command evaluations measures single evaluations of the likelihood with its
// gradient and prints these tables:
//
//	go run ./bench/evaluations -table sets      # at all ones and at parameters fitted to 2000 rows
//	go run ./bench/evaluations -table lownoise  # bike at noise 1e-6 by preconditioner
//	go run ./bench/evaluations -table scaling   # kin40k, 5000 to 40000 rows
//	go run ./bench/evaluations -table float32   # bounds in float32 that miss the value in float64
//
// CPU seconds are those of the evaluation, the preconditioner included.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"

	"bbgp.dev/bbgp"
	"bbgp.dev/bench"
	"bbgp.dev/bench/uci"
)

// evaluate returns one likelihood with gradient by method bbgp.
func evaluate(d *bbgp.Data, p bbgp.Params, opt bbgp.Options) (*bbgp.LMLReport, error) {
	opt.Method = "bbgp"
	return bbgp.LogMarginalLikelihood(context.Background(), d, p, opt)
}

func row(label string, r *bbgp.LMLReport) {
	fmt.Printf("| %s | %d | %d | %s | %d | %.1f | [%.2f, %.2f] | %.1f | %.1f | %d |\n", label, r.Rank, r.Neighbours,
		r.Precision,
		r.Passes, r.LML, float64(r.Lower)-r.LML, float64(r.Upper)-r.LML, r.StdErr, r.CPUSeconds, r.PeakBytes>>20)
}

const head = "rank | neighbours | precision | passes | LML | bounds - LML | standard error | CPU s | peak MiB |\n" +
	"|---|---|---|---|---|---|---|---|---|---|\n"

// fitted returns the parameters that 2000 rows of the set give.
func fitted(set string) (bbgp.Params, error) {
	few, _, err := uci.Load(set, 0, 2000)
	if err != nil {
		return bbgp.Params{}, err
	}
	m, err := bbgp.Fit(context.Background(), few.Data(), bbgp.Options{})
	if err != nil {
		return bbgp.Params{}, err
	}
	return m.Parameters, nil
}

func sets() error {
	fmt.Print("| case | " + head)
	for _, set := range []string{"elevators", "pol", "bike"} {
		train, _, err := uci.Load(set, 0, 0)
		if err != nil {
			return err
		}
		d := train.Data()
		p, err := fitted(set)
		if err != nil {
			return err
		}
		for _, c := range []struct {
			label string
			p     bbgp.Params
		}{{"all ones", bbgp.DefaultParams("", d.X.Cols)}, {"fitted to 2000 rows", p}} {
			r, err := evaluate(d, c.p, bbgp.Options{Probes: 7})
			if err != nil {
				return err
			}
			row(fmt.Sprintf("%s, n = %d, %s (noise %.2g)", set, d.X.Rows, c.label, c.p.Noise), r)
		}
	}
	return nil
}

// lownoise is the paper's hard case: two relevant inputs, noise at its floor. Two
// registers of columns cost a float64 pass a fifth more than one, and save passes.
func lownoise(memory int64) error {
	train, _, err := uci.Load("bike", 0, 0)
	if err != nil {
		return err
	}
	d := train.Data()
	p := bbgp.DefaultParams("", d.X.Cols)
	for j := range p.Lengthscales {
		p.Lengthscales[j] = 1e4
	}
	p.Lengthscales[15], p.Lengthscales[16] = 1, 0.34
	p.Variance, p.Noise = 1.4, 1e-6
	fmt.Print("| preconditioner | " + head)
	for _, c := range []struct{ rank, near int }{{-1, 32}, {-1, 64}, {-1, 128}, {2000, -1}, {1000, -1}, {300, -1}} {
		r, err := evaluate(d, p, bbgp.Options{Probes: 15, Rank: c.rank, Neighbours: c.near, Memory: memory})
		if err != nil {
			return err
		}
		row(fmt.Sprintf("rank %d, %d neighbours", max(c.rank, 0), max(c.near, 0)), r)
	}
	return nil
}

// scalingRounds is the number of times that scaling evaluates; it prints medians.
const scalingRounds = 3

func scaling() error {
	train, test, err := uci.Load("kin40k", 0, 0)
	if err != nil {
		return err
	}
	p, err := fitted("kin40k")
	if err != nil {
		return err
	}
	all := uci.Table{Names: train.Names, Rows: append(train.Rows, test.Rows...)}
	sizes := []int{5000, 10000, 20000, 40000}
	reports, seconds := make([]*bbgp.LMLReport, len(sizes)), make([][]float64, len(sizes))
	for range scalingRounds { // in turns: the machine may change its pace
		for i, n := range sizes {
			part := uci.Table{Names: all.Names, Rows: all.Rows[:n]}
			r, err := evaluate(part.Data(), p, bbgp.Options{Probes: 7})
			if err != nil {
				return err
			}
			if reports[i] == nil { // whose peak is that of n rows
				reports[i] = r
			}
			seconds[i] = append(seconds[i], r.CPUSeconds)
		}
	}
	fmt.Print("| n | power of n since the last | since the first | " + head)
	power := func(i, j int) float64 {
		return math.Log(reports[i].CPUSeconds/reports[j].CPUSeconds) / math.Log(float64(sizes[i])/float64(sizes[j]))
	}
	for i, n := range sizes {
		reports[i].CPUSeconds = bench.Median(seconds[i])
		since := "- | -"
		if i > 0 {
			since = fmt.Sprintf("%.2f | %.2f", power(i, i-1), power(i, 0))
		}
		row(fmt.Sprintf("%d | %s", n, since), reports[i])
	}
	return nil
}

func main() {
	table := flag.String("table", "sets", "sets, lownoise, scaling or float32")
	memory := flag.Int64("memory", 2<<30, "budget of lownoise, bytes")
	cases := flag.Int("cases", 200, "evaluations of float32")
	rows := flag.Int("rows", 2000, "most rows of these")
	flag.Parse()
	err := fmt.Errorf("no table %q", *table)
	switch *table {
	case "sets":
		err = sets()
	case "lownoise":
		err = lownoise(*memory)
	case "scaling":
		err = scaling()
	case "float32":
		err = float32s(*cases, *rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "evaluations:", err)
		os.Exit(1)
	}
}
