// Predict compares the predictions of saved models with dense ones on the test
// rows of a UCI set: whether the bounds hold, how wide they are, what a row costs.
//
//	go run ./bench/split -set elevators -split 0 -dir DIR
//	go run ./cmd/bbgp fit DIR/elevators-train.csv --target y --out DIR/elevators.bbgp
//	go run ./bench/predict -set elevators -rows 500 DIR/elevators.bbgp
//
// Dense deviations need 8n² bytes. The reference of the means is solved to -tol.
// At a condition of 1e13 and more, dense deviations in float64 may lie outside by
// their own rounding: TestBoundsOnFullSets of package bbgp settles that.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"slices"
	"time"

	"bbgp.dev/bbgp"
	"bbgp.dev/bench"
	"bbgp.dev/bench/uci"
	"bbgp.dev/linalg"
)

var (
	set   = flag.String("set", "elevators", "name of the set")
	split = flag.Int("split", 0, "number of the split, 0 to 4")
	rows  = flag.Int("rows", 0, "rows to compare, spread over the table; 0 for all")
	tol   = flag.Float64("tol", 1e-8, "error of the reference means, in standard deviations of the target")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: predict [flags] MODEL")
	}
	if err := compare(flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

// read returns the inputs of the model and the target, of at most n test rows.
func read(m *bbgp.Model, n int) (linalg.Matrix, []float64, error) {
	_, test, err := uci.Load(*set, *split, 0)
	if err != nil {
		return linalg.Matrix{}, nil, err
	}
	count := len(test.Rows)
	if n == 0 || n > count {
		n = count
	}
	x, y := linalg.NewMatrix(n, m.D()), make([]float64, n)
	for j, name := range m.Names { // a fit leaves out columns that repeat others
		at := slices.Index(test.Names, name)
		if at < 0 {
			return x, y, fmt.Errorf("the model has an input %s, the set %s has not", name, *set)
		}
		for i := range n {
			x.Set(i, j, test.Rows[i*count/n][at])
		}
	}
	for i := range n {
		y[i] = test.Rows[i*count/n][len(test.Names)-1]
	}
	return x, y, nil
}

func compare(model string) error {
	m, err := bbgp.Load(model)
	if err != nil {
		return err
	}
	x, y, err := read(m, *rows)
	if err != nil {
		return err
	}
	e, err := linalg.NewEngine(nil, 0)
	if err != nil {
		return err
	}
	ctx, n := context.Background(), x.Rows
	predict := func(what string, m *bbgp.Model, opt bbgp.PredictOptions) (p *bbgp.Prediction) {
		// The first rows pay for what is prepared once.
		for _, k := range []int{min(n, 256), n} {
			start, cpu := time.Now(), bench.CPUSeconds()
			opt.Engine = e
			if p, err = m.Predict(ctx, x.Sub(0, k, 0, x.Cols), opt); err != nil {
				log.Fatal(err)
			}
			fmt.Printf("%-22s %6d rows  %8.3f CPU s  %8.3f s  %7.3f CPU ms a row\n", what, k, bench.CPUSeconds()-cpu,
				time.Since(start).Seconds(), 1e3*(bench.CPUSeconds()-cpu)/float64(k))
		}
		return p
	}
	predict("means alone", m, bbgp.PredictOptions{})
	got := predict("means and deviations", m, bbgp.PredictOptions{SD: true})
	other, err := bbgp.Load(model)
	if err != nil {
		return err
	}
	want := predict("dense", other, bbgp.PredictOptions{SD: true, Dense: true, MeanTol: *tol})
	report(m, got, want, y)
	return nil
}

// report prints how two predictions compare.
func report(m *bbgp.Model, got, want *bbgp.Prediction, y []float64) {
	var width, ratio, mean []float64
	outside, outsideMean := 0, 0
	for i, sd := range want.SD {
		if sd < got.SDLower[i] || sd > got.SDUpper[i] {
			outside++
		}
		if want.Mean[i] < got.MeanLower[i] || want.Mean[i] > got.MeanUpper[i] {
			outsideMean++
		}
		width = append(width, (got.SDUpper[i]-got.SDLower[i])/(got.SDUpper[i]+got.SDLower[i])*2)
		ratio = append(ratio, got.SD[i]/sd)
		mean = append(mean, (got.MeanUpper[i]-got.MeanLower[i])/2/m.Scaling.YScale)
	}
	fmt.Printf("bounds are %s; of %d rows, dense sd outside %d, dense mean outside %d\n",
		got.BoundKind, len(y), outside, outsideMean)
	fmt.Println("width of the sd interval, relative ", quantiles(width))
	fmt.Println("sd / dense sd                      ", quantiles(ratio))
	fmt.Println("half width of the mean, target sd  ", quantiles(mean))
	a, err := m.Score(got, y)
	if err != nil {
		log.Fatal(err)
	}
	b, err := m.Score(want, y)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("NLPD %.5f, dense %.5f, difference %.2g; coverage of 95 %% intervals %.4f\n", a.NLPDStd, b.NLPDStd,
		a.NLPDStd-b.NLPDStd, a.Coverage95)
}

func quantiles(v []float64) string {
	slices.Sort(v)
	at := func(p float64) float64 { return v[int(math.Round(p*float64(len(v)-1)))] }
	return fmt.Sprintf("min %.3g  median %.3g  90 %% %.3g  99 %% %.3g  max %.3g",
		v[0], at(0.5), at(0.9), at(0.99), v[len(v)-1])
}
