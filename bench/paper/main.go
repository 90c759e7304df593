package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are the arguments of the program.
type settings struct {
	sets, methods []string
	splits        []int
	n, steps      int
	cpu           float64
	points        int
	density       bool
	studyRows     int
	biasRows      int
	dir, page     string
	do            []string
	quick         bool
}

func main() {
	do, args := run, os.Args[1:]
	if len(args) > 0 && args[0] == "train" {
		do, args = trainMain, args[1:]
	}
	if err := do(args); err != nil {
		fmt.Fprintln(os.Stderr, "paper:", err)
		os.Exit(1)
	}
}

// setNames are the sets of the paper, in the order of the page.
var setNames = []string{"bike", "elevators", "pol"}

// The defaults, and those with -quick.
var (
	full = settings{methods: []string{"bbgp", "cglb-1000", "sgpr-1000", "adam-e1-s10", "adam-e1-s1", "iterative",
		"exact", "cglb-4000", "sgpr-4000"},
		splits: []int{0, 1, 2, 3, 4}, steps: 400, points: 6, studyRows: 4000,
		biasRows: 2000, dir: "bench/results", page: "docs"}
	quick = settings{methods: []string{"bbgp", "cglb-1000", "sgpr-1000", "adam-e1-s10", "iterative", "exact"},
		splits: []int{0}, n: 2000, steps: 60, points: 3, studyRows: 800, biasRows: 800, dir: "bin/quick/results",
		page: "bin/quick", quick: true}
)

// parse reads the arguments.
func parse(args []string) (*settings, error) {
	s := full
	if slices.Contains(args, "-quick") || slices.Contains(args, "--quick") {
		s = quick
	}
	f := flag.NewFlagSet("paper", flag.ContinueOnError)
	f.BoolVar(&s.quick, "quick", s.quick, "one split, 2000 rows, other caps, and checks")
	sets := f.String("sets", strings.Join(setNames, ","), "sets of data")
	splits := f.String("splits", strings.Trim(strings.ReplaceAll(fmt.Sprint(s.splits), " ", ","), "[]"),
		"numbers of splits")
	methods := f.String("methods", strings.Join(s.methods, ","), "methods, run in this order")
	f.IntVar(&s.n, "n", s.n, "training rows, 0 for all")
	f.IntVar(&s.steps, "steps", s.steps, "evaluations of a run at most")
	f.Float64Var(&s.cpu, "cpu", s.cpu, "CPU seconds of a training at most, 0: no limit")
	f.IntVar(&s.points, "points", s.points, "points of a run at which errors are measured")
	f.BoolVar(&s.density, "nlpd", !s.quick, "measure NLPD at these points too, not at the end alone")
	f.IntVar(&s.studyRows, "study-rows", s.studyRows, "training rows of the studies")
	f.IntVar(&s.biasRows, "bias-rows", s.biasRows, "training rows of the paper's study of eps and probes")
	f.StringVar(&s.dir, "dir", s.dir, "folder of the results")
	f.StringVar(&s.page, "page", s.page, "folder of RESULTS.md; figures go into its results/")
	do := f.String("do", "runs,bias,studies,page", "what to do; train, measure and levels are the parts of runs")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q is not an argument", f.Arg(0))
	}
	s.splits = nil
	s.sets, s.methods, s.do = strings.Split(*sets, ","), strings.Split(*methods, ","), strings.Split(*do, ",")
	for _, t := range strings.Split(*splits, ",") {
		v, err := strconv.Atoi(t)
		if err != nil {
			return nil, fmt.Errorf("split %q is not a number", t)
		}
		s.splits = append(s.splits, v)
	}
	return &s, nil
}

func run(args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	parts := map[string]func() error{"train": s.train, "measure": s.measure, "levels": s.lookUp, "runs": s.runs,
		"bias": s.bias, "studies": s.studies, "page": s.writePage}
	for _, name := range s.do {
		if parts[name] == nil {
			return fmt.Errorf("-do %q: there is no such part", name)
		}
	}
	var failed error
	for _, name := range []string{"train", "measure", "runs", "levels", "bias", "studies", "page"} {
		if !slices.Contains(s.do, name) {
			continue
		}
		if err := parts[name](); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	if s.quick {
		failed = errors.Join(failed, s.check())
	}
	return failed
}

// fileOf names the file of a run in the folder of its size.
func fileOf(set string, split int, method string) string {
	return fmt.Sprintf("%s-%d-%s.csv", set, split, method)
}

func (s *settings) path(j *job) string {
	return filepath.Join(s.dir, j.size(), fileOf(j.set, j.split, j.method))
}

// each calls do for every run that is asked for, methods outermost, so that the first of
// them are complete on all sets and splits before the next begin. A run that fails
// is told at the end: the others go on.
func (s *settings) each(do func(*job) error) (failed error) {
	for _, method := range s.methods {
		for _, split := range s.splits {
			for _, set := range s.sets {
				j := &job{set: set, split: split, n: s.n, method: method, steps: s.steps, cpu: capOf(method, s.cpu)}
				if !s.quick || j.quick() {
					failed = errors.Join(failed, do(j))
				}
			}
		}
	}
	return failed
}

func (s *settings) train() error { return s.each(s.trainOne) }

func (s *settings) runs() error {
	return errors.Join(s.each(s.one), s.lookUp())
}

// measure measures the runs that are asked for and were trained.
func (s *settings) measure() error {
	return s.each(func(j *job) error {
		if r, err := load(s.path(j)); r == nil {
			return err
		}
		return s.measureOne(j)
	})
}

// biasSet is what the paper studies eps and the number of probes on.
const biasSet = "bike"

// bias does the runs of the paper's study of eps and s, on one set.
func (s *settings) bias() error {
	for _, method := range biasMethods() {
		for _, split := range s.splits {
			j := &job{set: biasSet, split: split, n: s.biasRows, method: method,
				steps: min(s.steps, biasSteps), cpu: s.cpu}
			if s.quick {
				j.quick()
			}
			if err := s.one(j); err != nil {
				return err
			}
		}
	}
	return nil
}

const biasSteps = 250

// quick lowers the cap on evaluations to what the checks and the page of the quick
// run need, and tells whether they need the run at all.
func (j *job) quick() bool {
	kind, _, _ := strings.Cut(j.method, "-")
	if most := map[string]int{"cglb": 40, "sgpr": 40, "adam": 20, "exact": 15}[kind]; most > 0 {
		j.steps = min(j.steps, most)
	}
	return kind != "iterative" || j.set == "pol"
}

// one trains and measures where that is not done yet.
func (s *settings) one(j *job) error {
	if err := s.trainOne(j); err != nil {
		return err
	}
	return s.measureOne(j)
}

func (s *settings) trainOne(j *job) error {
	path := s.path(j)
	if r, err := load(path); r != nil || err != nil {
		return err
	}
	say("%s: training", path)
	return s.spawn(j, path)
}

func (s *settings) measureOne(j *job) error {
	path := s.path(j)
	r, err := load(path)
	if err != nil || r == nil {
		return errors.Join(err, fmt.Errorf("%s: no result", path))
	}
	if r.Head.Measured {
		return nil
	}
	m, err := newMeter(j.set, j.split, j.n)
	if err != nil {
		return err
	}
	say("%s: %s after %d evaluations, %.1f CPU s; measuring", path, r.Head.Stopped, r.Head.Evaluations, r.Head.CPU)
	others, err := loadRuns(filepath.Dir(path))
	if err != nil {
		return err
	}
	r.borrow(others)
	return m.measure(r, s.points, s.density, path)
}

// say tells what is being done, with the time.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05")+" "+format+"\n", args...)
}

// spawn trains in a process of its own.
func (s *settings) spawn(j *job, path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	cmd := exec.Command(self, append(append([]string{"train"}, j.args()...), "-out", path)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// lookUp writes when the runs of every set and split reached the levels.
func (s *settings) lookUp() error {
	dir := filepath.Join(s.dir, (&job{n: s.n}).size())
	all, err := loadRuns(dir)
	if err != nil {
		return err
	}
	var out []arrival
	groups := map[string][]*record{}
	var names []string
	for _, r := range all {
		if h := &r.Head; h.Measured {
			name := fmt.Sprintf("%s-%d", h.Set, h.Split)
			if groups[name] == nil {
				names = append(names, name)
			}
			groups[name] = append(groups[name], r)
		}
	}
	for _, name := range names {
		h := &groups[name][0].Head
		m, err := newMeter(h.Set, h.Split, s.n)
		if err != nil {
			return err
		}
		a, err := arrivals(m, dir, groups[name])
		if err != nil {
			return err
		}
		out = append(out, a...)
	}
	return saveArrivals(dir, out)
}

// loadRuns reads all runs of a folder, in the order of their names.
func loadRuns(dir string) ([]*record, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*-*-*.csv"))
	if err != nil {
		return nil, err
	}
	var all []*record
	for _, p := range paths {
		r, err := load(p)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}
