package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"bbgp.dev/bbgp"
	"bbgp.dev/bench"
	"bbgp.dev/bench/uci"
	"bbgp.dev/internal/gp"
)

// A job is one run.
type job struct {
	set    string
	split  int
	n      int // training rows, 0 for all
	method string
	steps  int     // evaluations at most
	cpu    float64 // seconds at most, 0: no limit
}

// size is the folder of the job's results.
func (j *job) size() string {
	if j.n == 0 {
		return "full"
	}
	return fmt.Sprintf("n%d", j.n)
}

// args are the arguments that make the program do the job.
func (j *job) args() []string {
	return []string{"-set", j.set, "-split", fmt.Sprint(j.split), "-n", fmt.Sprint(j.n), "-method", j.method,
		"-steps", fmt.Sprint(j.steps), "-cpu", fmt.Sprint(j.cpu)}
}

// trainMain is `paper train`: one training in a process of its own.
func trainMain(args []string) error {
	var j job
	f := flag.NewFlagSet("train", flag.ContinueOnError)
	f.StringVar(&j.set, "set", "", "set of data")
	f.IntVar(&j.split, "split", 0, "number of the split")
	f.IntVar(&j.n, "n", 0, "training rows, 0 for all")
	f.StringVar(&j.method, "method", "bbgp", "method")
	f.IntVar(&j.steps, "steps", 400, "evaluations at most")
	f.Float64Var(&j.cpu, "cpu", 0, "CPU seconds at most, 0: no limit")
	out := f.String("out", "", "file to write, standard output by default")
	if err := f.Parse(args); err != nil {
		return err
	}
	r, err := j.train()
	if err != nil {
		return err
	}
	b, err := r.encode()
	if err != nil {
		return err
	}
	if *out == "" {
		_, err = os.Stdout.Write(b)
		return err
	}
	return writeFile(*out, b)
}

var errCPU = errors.New("the CPU seconds of the run are used up")

// train runs the job. A training that fails is a record too: it says so.
func (j *job) train() (*record, error) {
	train, _, err := uci.Load(j.set, j.split, j.n)
	if err != nil {
		return nil, err
	}
	data := train.Data()
	m, err := parseMethod(j.method, data.X.Rows)
	if err != nil {
		return nil, err
	}
	r := &record{Head: head{Set: j.set, Split: j.split, N: data.X.Rows, D: data.X.Cols, Method: m.name, Title: m.title,
		Rank:    m.opt.Rank,
		StepCap: j.steps, CPUCap: j.cpu, Threads: runtime.GOMAXPROCS(0), Machine: machine(), Commit: revision,
		Date: time.Now().UTC().Format("2006-01-02 15:04"), Command: "bin/paper train " + strings.Join(j.args(), " ")}}
	opt := m.opt
	opt.ScaleFloor = gp.PaperFloor
	opt.MaxSteps, opt.Seed = j.steps, uint64(j.split)
	opt.Progress = r.add
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if j.cpu > 0 {
		watchCPU(ctx, bench.CPUSeconds()+j.cpu, func() { cancel(errCPU) })
	}
	began, cpu := time.Now(), bench.CPUSeconds()
	model, err := bbgp.Fit(ctx, data, opt)
	h := &r.Head
	h.Wall, h.CPU = time.Since(began).Seconds(), bench.CPUSeconds()-cpu
	if model != nil {
		res := &model.Result
		h.Stopped, h.Remark = string(res.Stopped), strings.Join(res.Warnings, "; ")
		h.Evaluations, h.Passes, h.ISA = res.Evaluations, res.Passes, res.ISA
		h.PeakBytes = res.PeakBytes
	}
	switch {
	case context.Cause(ctx) == errCPU:
		h.Stopped = "cpu-cap"
	case err != nil:
		h.Stopped, h.Remark = "failed", err.Error()
	}
	return r, nil
}

// watchCPU calls f once the process has used so many CPU seconds.
func watchCPU(ctx context.Context, limit float64, f func()) {
	time.AfterFunc(200*time.Millisecond, func() {
		switch {
		case ctx.Err() != nil:
		case bench.CPUSeconds() > limit:
			f()
		default:
			watchCPU(ctx, limit, f)
		}
	})
}

// add appends a step of the training. Those of the pre-fit are of other data.
func (r *record) add(s bbgp.Step) {
	if s.Phase == "prefit" {
		return
	}
	nan := math.NaN()
	w := row{Evaluation: s.Evaluations, Phase: s.Phase, Accepted: s.Accepted, Objective: s.LML, Lower: known(s.Lower),
		Upper:  known(s.Upper),
		StdErr: s.StdErr, Noise: s.Parameters.Noise, Variance: s.Parameters.Variance, Passes: s.Passes,
		CPU: s.CPUSeconds, Wall: s.Seconds, LML: nan, LMLErr: nan, RMSE: nan, NLPD: nan}
	if s.Rejected {
		w.Objective, w.StdErr = nan, nan
	}
	// Adam goes on from every point, a search only from those that it accepts.
	if s.Accepted || strings.HasPrefix(r.Head.Method, "adam") || r.Head.Method == "iterative" {
		w.Params = brief(s.Parameters)
	}
	r.Rows = append(r.Rows, w)
}

// known turns a bound that is not one into NaN.
func known(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// machine names the processor.
func machine() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOOS + "/" + runtime.GOARCH
	}
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOOS + "/" + runtime.GOARCH
}

// revision is the commit that the program was built from, set by the linker.
var revision string
