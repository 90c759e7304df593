// Command compare fits UCI sets by several methods of the same engine and
// prints, for each, what the fit cost and what it reached:
//
//	go run ./bench/compare -sets elevators,pol,bike -methods bbgp,cglb,sgpr -n 2000
//
// "99 %" and "99.9 %" are the CPU seconds until the exact log marginal
// likelihood at the current parameters first reached that part of the way from
// the start (all ones) to the best that any method found on the set. The exact
// values, by dense Cholesky, are not in the times.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"bbgp.dev/bbgp"
	"bbgp.dev/bench/uci"
)

func main() {
	sets := flag.String("sets", "elevators,pol,bike", "sets of data")
	methods := flag.String("methods", "bbgp,cglb,sgpr", "methods")
	n := flag.Int("n", 2000, "training rows, 0 for all")
	split := flag.Int("split", 0, "number of the split")
	rank := flag.Int("rank", 1000, "inducing points of sgpr and cglb")
	flag.Parse()
	fmt.Print("| set | n | method | exact LML | RMSE | NLPD | CPU s | 99 % | 99.9 % | evaluations | passes |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, set := range strings.Split(*sets, ",") {
		if err := compare(set, *split, *n, *rank, strings.Split(*methods, ",")); err != nil {
			fmt.Fprintln(os.Stderr, "compare:", err)
			os.Exit(1)
		}
	}
}

// A result is one fit with the exact likelihood along its way.
type result struct {
	method string
	model  *bbgp.Model
	score  bbgp.Score
	exact  float64
	steps  []bbgp.Step // accepted points on all rows
}

func compare(set string, split, n, rank int, methods []string) error {
	train, test, err := uci.Load(set, split, n)
	if err != nil {
		return err
	}
	data, held := train.Data(), test.Data()
	truth := newTruth(data)
	var all []*result
	best := truth.at(bbgp.DefaultParams("", data.X.Cols))
	start := best
	for _, method := range methods {
		opt := bbgp.Options{Method: method}
		if method == "sgpr" || method == "cglb" {
			opt.Rank = rank
		}
		r := &result{method: method}
		if r.model, err = bbgp.Fit(context.Background(), data, opt); err != nil {
			return fmt.Errorf("%s by %s: %w", set, method, err)
		}
		for _, s := range r.model.Result.Trace {
			if s.Phase != "prefit" && s.Accepted {
				r.steps = append(r.steps, s)
			}
		}
		r.exact = truth.at(r.model.Parameters)
		best = max(best, r.exact)
		p, err := r.model.Predict(context.Background(), nil, held.X, bbgp.PredictOptions{SD: true, SDTol: 0.2})
		if err != nil {
			return err
		}
		if r.score, err = r.model.Score(p, held.Y); err != nil {
			return err
		}
		all = append(all, r)
	}
	for _, r := range all {
		res := &r.model.Result
		fmt.Printf("| %s | %d | %s | %.1f | %.5f | %.4f | %.1f | %s | %s | %d | %d |\n", set, data.X.Rows, r.method, r.exact,
			r.score.RMSEStd, r.score.NLPDStd, res.CPUSeconds, truth.reach(r.steps, start+0.99*(best-start)),
			truth.reach(r.steps, start+0.999*(best-start)), res.Evaluations, res.Passes)
	}
	return nil
}

// A truth gives exact likelihoods of one set of data.
type truth struct {
	data  *bbgp.Data
	known map[string]float64 // by the parameters as JSON
}

func newTruth(d *bbgp.Data) *truth { return &truth{d, map[string]float64{}} }

// at returns the exact value at p, -1e300 where float64 cannot factor K̂.
func (t *truth) at(p bbgp.Params) float64 {
	key, err := json.Marshal(p)
	if err != nil {
		panic(err) // numbers always have a JSON form
	}
	if v, ok := t.known[string(key)]; ok {
		return v
	}
	v := -1e300
	if r, err := bbgp.LogMarginalLikelihood(context.Background(), t.data, p, bbgp.Options{Method: "exact", NoGradient: true}); err == nil {
		v = r.LML
	}
	t.known[string(key)] = v
	return v
}

// reach returns the CPU seconds of the first step at or above level, by
// bisection: the likelihood rises along the accepted steps.
func (t *truth) reach(steps []bbgp.Step, level float64) string {
	lo, hi := 0, len(steps)-1
	if hi < 0 || t.at(steps[hi].Parameters) < level {
		return "-"
	}
	for lo < hi {
		mid := (lo + hi) / 2
		if t.at(steps[mid].Parameters) >= level {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return fmt.Sprintf("%.1f", steps[lo].CPUSeconds)
}
