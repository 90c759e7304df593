package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
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

var levels = []level{{"99 % to CGLB's end", 0.99, true}, {"CGLB's end less 1 nat", 1, true}, {"99 % to the best", 0.99, false}, {"99.9 % to the best", 0.999, false}}

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
		if goal = start + l.share*(goal-start); l.share == 1 {
			goal -= trainingEps
		}
		for _, r := range runs {
			if r.Head.Method == "iterative" {
				continue // its likelihood does not rise
			}
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
