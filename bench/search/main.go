// Command search compares where the search of Fit ends with the best that many starts
// find, on random designs.
//
//	go run ./bench/search -small 200           dense reference, 100 starts each
//	go run ./bench/search -large 60            the best of 20 restarts of our own
//
// -keep FILE keeps the reference values, to compare again after a change; those of
// references.json took 100 starts (small) and 20 restarts with two seeds (large).
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"

	"bbgp.dev/bbgp"
	"bbgp.dev/linalg"
)

const seed = 16

func main() {
	small := flag.Int("small", 0, "designs of 10 to 120 rows and 1 to 6 inputs")
	large := flag.Int("large", 0, "designs of 1000 to 6000 rows and 1 to 8 inputs")
	starts := flag.Int("starts", 100, "of the dense reference")
	from := flag.Int("from", 0, "first design")
	keep := flag.String("keep", "", "file of reference values")
	verbose := flag.Bool("v", false, "print every design")
	flag.Parse()
	e, err := linalg.NewEngine(nil, 0)
	if err != nil {
		log.Fatal(err)
	}
	r := &runner{ctx: context.Background(), e: e, from: *from, verbose: *verbose, starts: *starts,
		kept: map[string]float64{}, file: *keep}
	if b, err := os.ReadFile(*keep); err == nil {
		if err := json.Unmarshal(b, &r.kept); err != nil {
			log.Fatal(err)
		}
	}
	if *small > 0 {
		r.run(*small, 10, 120, 6, 0.5, r.dense)
	}
	if *large > 0 {
		r.run(*large, 1000, 6000, 8, 1, r.restarts)
	}
}

// A runner compares designs.
type runner struct {
	ctx     context.Context
	e       *linalg.Engine
	from    int
	verbose bool
	starts  int
	kept    map[string]float64
	file    string
	table   table

	constants int // designs that a fit reports as a constant
}

// run compares the designs and prints a table by kernel and kind, with those that end more than allowed nats and the
// standard error below their reference.
func (r *runner) run(count, least, most, widest int, allowed float64, reference func(*design, *bbgp.Model) float64) {
	r.table, r.constants = table{}, 0
	for i := r.from; i < count; i++ {
		g := newDesign(i, least, most, widest, seed)
		m, err := bbgp.Fit(r.ctx, g.data, bbgp.Options{Kernel: g.kernel, Engine: r.e, NoScale: true})
		if err != nil {
			log.Fatalf("%v: %v", g, err)
		}
		best, end, said := reference(g, m), ended(m), ""
		short := best - end
		if m.Result.NoStructure {
			said = ", reported as a constant"
			r.constants++
		}
		if r.verbose || short > 0.5 {
			fmt.Printf("%v: %.3f ± %.2g, reference %.3f, short by %.3f; %.3f CPU s, noise %.3g%s\n", g, end,
				m.Result.StdErr, best, short, m.Result.CPUSeconds, m.Parameters.Noise, said)
		}
		r.table.add(g, short-m.Result.StdErr, allowed, m.Result.CPUSeconds)
		r.save()
	}
	r.table.print(os.Stdout)
	fmt.Printf("%d designs are reported as constants, as the likelihood of few rows proves no structure\n", r.constants)
}

// ended is the likelihood where the search has ended: where few rows prove no structure, what is
// reported is the likelihood of a constant.
func ended(m *bbgp.Model) float64 {
	end := m.Result.LML
	if m.Result.NoStructure {
		for _, c := range m.Result.Starts {
			if c.Dropped == "" {
				end = max(end, float64(c.LML))
			}
		}
	}
	return end
}

// save writes the reference values.
func (r *runner) save() {
	if r.file == "" {
		return
	}
	b, err := json.MarshalIndent(r.kept, "", "\t")
	if err == nil {
		err = os.WriteFile(r.file, b, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// dense is the best dense likelihood from many starts.
func (r *runner) dense(g *design, _ *bbgp.Model) float64 {
	key := fmt.Sprintf("small %d starts %d", g.index, r.starts)
	if v, ok := r.kept[key]; ok {
		return v
	}
	v, _ := bestDense(r.ctx, g, r.starts, r.e)
	r.kept[key] = v
	return v
}

// restarts is the best likelihood of fits with twenty starts and other seeds.
func (r *runner) restarts(g *design, m *bbgp.Model) float64 {
	key := fmt.Sprintf("large %d", g.index)
	if v, ok := r.kept[key]; ok {
		return v
	}
	best := ended(m)
	for _, s := range []uint64{1, 2} {
		q, err := bbgp.Fit(r.ctx, g.data, bbgp.Options{Kernel: g.kernel, Engine: r.e, NoScale: true,
			Restarts: 20, Seed: s})
		if err != nil {
			log.Fatalf("%v: %v", g, err)
		}
		best = max(best, ended(q))
	}
	r.kept[key] = best
	return best
}
