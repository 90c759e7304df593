package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An arrival says when a run reached a level of the exact likelihood.
type arrival struct {
	Set    string  `csv:"set"`
	Split  int     `csv:"split"`
	Method string  `csv:"method"`
	Level  string  `csv:"level"`
	LML    float64 `csv:"lml"`
	CPU    float64 `csv:"cpu_s"` // empty: never
}

// The levels that arrivals are looked up for: parts of the way from the start, all
// ones, to where CGLB with 1000 inducing rows ended, and to the best end of all. What is
// gained below trainingEps no method looks for.
const rival = "cglb-1000"

type level struct {
	name  string
	share float64
	rival bool // of the way to rival's end, else to the best
}

var levels = []level{{"99 % to CGLB's end", 0.99, true}, {"CGLB's end less 1 nat", 1, true},
	{"99 % to the best", 0.99, false}, {"99.9 % to the best", 0.999, false}}

// arrivals looks all levels up for the runs of one set and split, whose files
// keep what is measured on the way.
func arrivals(m *meter, dir string, runs []*record) ([]arrival, error) {
	start, best, end := math.NaN(), math.Inf(-1), math.NaN()
	for _, r := range runs {
		w := r.last()
		if w == nil {
			continue
		}
		best = max(best, w.LML)
		if r.Head.Method == rival {
			first := &r.Rows[r.way()[0]]
			if err := m.likelihood(first, false); err != nil {
				return nil, err
			}
			start, end = first.LML, w.LML
		}
	}
	if math.IsNaN(start) || math.IsNaN(end) {
		return nil, nil
	}
	var out []arrival
	for _, l := range levels {
		goal := best
		if l.rival {
			goal = end
		}
		goal = start + l.share*(goal-start)
		if l.share == 1 {
			goal -= trainingEps
		}
		for _, r := range runs {
			cpu, err := m.reach(r, goal)
			if err != nil {
				return nil, err
			}
			out = append(out, arrival{m.set, m.split, r.Head.Method, l.name, goal, cpu})
		}
	}
	for _, r := range runs {
		if err := r.save(filepath.Join(dir, fileOf(r.Head.Set, r.Head.Split, r.Head.Method))); err != nil {
			return nil, err
		}
	}
	return out, nil
}

const arrivalsFile = "arrivals.csv"

func saveArrivals(dir string, all []arrival) error {
	var b bytes.Buffer
	if err := table(csv.NewWriter(&b), all); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, arrivalsFile), b.Bytes())
}

func loadArrivals(dir string) (all []arrival, err error) {
	f, err := os.Open(filepath.Join(dir, arrivalsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return all, readTable(csv.NewReader(f), &all)
}

// arrivalTable tells when methods reached levels of the exact likelihood.
func arrivalTable(all []arrival, titles map[string]string) string {
	g := grid{head: []string{"set", "method", "splits"}}
	for _, l := range levels {
		g.head = append(g.head, l.name)
	}
	for _, set := range setNames {
		for _, m := range order {
			cells := []string{set, titles[m]}
			for _, l := range levels {
				t := times(all, set, l.name, m)
				if len(t) == 0 {
					continue
				}
				if len(cells) == 2 {
					cells = append(cells, strings.Trim(fmt.Sprint(splitsIn(t)), "[]"))
				}
				cells = append(cells, timesText(t))
			}
			if len(cells) > 2 {
				g.add(cells...)
			}
		}
	}
	return g.String()
}

// timesText writes the median of times and their range, and how many were never reached.
func timesText(t map[int]float64) string {
	var known []float64
	for _, v := range t {
		if !math.IsInf(v, 1) {
			known = append(known, v)
		}
	}
	switch {
	case len(known) == 0:
		return "never"
	case len(known) < len(t):
		return fmt.Sprintf("%s, %d of %d never", middle(known, "%.1f"), len(t)-len(known), len(t))
	}
	return middle(known, "%.1f")
}

// times returns by split the CPU seconds to a level, +Inf where it was not reached.
func times(all []arrival, set, level, method string) map[int]float64 {
	t := map[int]float64{}
	for _, a := range all {
		if a.Set == set && a.Level == level && a.Method == method {
			t[a.Split] = a.CPU
			if math.IsNaN(a.CPU) {
				t[a.Split] = math.Inf(1)
			}
		}
	}
	return t
}

func splitsIn(t map[int]float64) []int { return slices.Sorted(maps.Keys(t)) }

// duel returns the median CPU seconds of two methods over the splits of both, NaN if there are none.
func duel(all []arrival, set, level, one, other string) (a, b float64) {
	t, u := times(all, set, level, one), times(all, set, level, other)
	var v, w []float64
	for split := range t {
		if _, both := u[split]; both {
			v, w = append(v, t[split]), append(w, u[split])
		}
	}
	return quantile(v, 0.5), quantile(w, 0.5)
}

// verdict says how much sooner than CGLB our method comes to where CGLB ends, and which
// methods reach a level before it.
func verdict(all []arrival, titles map[string]string) string {
	var parts, before []string
	for _, set := range setNames {
		if part := beside(all, set, levels[1].name); part != "" {
			parts = append(parts, part)
		}
		for _, l := range levels {
			for _, m := range order[1:] {
				if a, b := duel(all, set, l.name, order[0], m); b < a {
					before = append(before, fmt.Sprintf("%s, %s: %s after %.1f CPU s, BBGP %s",
						set, l.name, titles[m], b, afterText(a)))
				}
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	last := "No method reached any of these levels before BBGP with our defaults"
	if len(before) > 0 {
		last = "BBGP with our defaults was not the first there:\n  - " + strings.Join(before, "\n  - ")
	}
	return "- " + strings.Join(append(parts, last), "\n- ")
}

func afterText(cpu float64) string {
	if math.IsInf(cpu, 1) {
		return "never"
	}
	return fmt.Sprintf("after %.1f", cpu)
}

// beside compares BBGP with CGLB on a set at a level that CGLB reached.
func beside(all []arrival, set, level string) string {
	a, b := duel(all, set, level, order[0], rival)
	switch {
	case math.IsNaN(a), math.IsInf(b, 1):
		return ""
	case math.IsInf(a, 1):
		return fmt.Sprintf("%s: BBGP did not reach %s, CGLB did after %.1f CPU s", set, level, b)
	}
	ratio := fmt.Sprintf("%.1f times sooner", b/a)
	if a > b {
		ratio = fmt.Sprintf("%.1f times later", a/b)
	}
	return fmt.Sprintf("%s: BBGP reached %s %s than CGLB (%.1f and %.1f CPU s, medians)", set, level, ratio, a, b)
}
