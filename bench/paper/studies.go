package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/enum"
	"bbgp.dev/bench/uci"
	"bbgp.dev/internal/gp"
)

// A cell is one evaluation of a study, with its gradient.
type cell struct {
	N          int     `csv:"rows"`
	Noise      float64 `csv:"noise"`
	Rank       int     `csv:"rank"`       // of the preconditioner; -1 chosen by the program
	Neighbours int     `csv:"neighbours"` // the same
	Probes     int     `csv:"probes"`
	Precision  string  `csv:"precision"` // of the products, as asked
	Storage    string  `csv:"storage"`   // of the basis
	Used       string  `csv:"used"`      // what took place: precision, rank, neighbours
	Passes     int     `csv:"passes"`
	Replayed   int     `csv:"replayed"` // of them made twice
	CPU        float64 `csv:"cpu_s"`
	Wall       float64 `csv:"wall_s"`
	BasisBytes float64 `csv:"basis_bytes"`
	LML        float64 `csv:"lml"`
	Lower      float64 `csv:"lower"`
	Upper      float64 `csv:"upper"`
	StdErr     float64 `csv:"stderr"`
	Exact      float64 `csv:"exact"` // by Cholesky
	Failure    string  `csv:"failure"`
}

// The studies are made on rows of bike, at a place like its optimum: two inputs
// matter. Only the noise changes. At 1e-6 this is the paper's hard case.
func studyParams(d int, noise float64) bbgp.Params {
	p := bbgp.DefaultParams("", d)
	for j := range p.Lengthscales {
		p.Lengthscales[j] = math.Inf(1)
	}
	p.Lengthscales[15], p.Lengthscales[16] = 1, 0.34
	p.Variance, p.Noise = 1.4, noise
	return p
}

var (
	allNoise  = []float64{1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}
	someNoise = []float64{1e-2, 1e-4, 1e-6}
)

const (
	usualProbes = 7 // with the target a block of 8, which fills the registers
	studyRank   = 300
)

// A study is a list of cells and how to fill one in.
type study struct {
	name  string
	cells []cell
	fill  func(b *studyBench, c *cell) error
}

func allStudies() []study {
	var block, precision, precond, storage []cell
	for _, v := range someNoise {
		for _, s := range []int{1, 3, 7, 15, 31} {
			block = append(block, cell{Noise: v, Rank: studyRank, Probes: s, Precision: "auto", Storage: "f32"})
		}
		for _, kind := range []string{"f64", "f32", "two-pass"} {
			storage = append(storage, cell{Noise: v, Rank: studyRank,
				Probes: usualProbes, Precision: "f64", Storage: kind})
		}
	}
	for _, v := range allNoise {
		for _, prec := range []string{"f32", "f64", "auto"} {
			precision = append(precision, cell{Noise: v, Rank: 192, Neighbours: 48, Probes: usualProbes,
				Precision: prec, Storage: "f32"})
		}
		for _, c := range [][2]int{{100, 0}, {300, 0}, {1000, 0}, {0, 16},
			{0, 32}, {0, 64}, {0, 128}, {192, 32}, {-1, -1}} {
			precond = append(precond, cell{Noise: v, Rank: c[0], Neighbours: c[1], Probes: usualProbes,
				Precision: "auto", Storage: "f32"})
		}
	}
	return []study{{"blocksize", block, evaluate}, {"storage", storage, store}, {"precision", precision, evaluate},
		{"preconditioner", precond, evaluate}}
}

// A studyBench is the data of the studies and the exact likelihoods found so far.
type studyBench struct {
	data  *bbgp.Data
	exact map[float64]float64 // by noise
}

func (s *settings) studyDir() string {
	return filepath.Join(s.dir, fmt.Sprintf("studies-n%d", s.studyRows))
}

// studies fills in what is missing, in order; a file that was begun is gone on with.
func (s *settings) studies() error {
	train, _, err := uci.Load(biasSet, 0, s.studyRows)
	if err != nil {
		return err
	}
	b := &studyBench{train.Data(), map[float64]float64{}}
	for _, st := range allStudies() {
		path := filepath.Join(s.studyDir(), st.name+".csv")
		done, err := loadCells(path)
		if err != nil {
			return err
		}
		for i := range done { // of an older program: begin again
			if i >= len(st.cells) || !done[i].same(st.cells[i]) {
				done = nil
				break
			}
		}
		if len(done) < len(st.cells) {
			say("%s: %d of %d", path, len(done), len(st.cells))
		}
		for _, c := range st.cells[len(done):] {
			c.N = b.data.X.Rows
			if err := st.fill(b, &c); err != nil {
				return fmt.Errorf("%s at noise %g: %w", st.name, c.Noise, err)
			}
			done = append(done, c)
			var out bytes.Buffer
			if err := table(csv.NewWriter(&out), done); err != nil {
				return err
			}
			if err := writeFile(path, out.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// same tells whether two cells ask for the same.
func (c *cell) same(d cell) bool {
	return c.Noise == d.Noise && c.Rank == d.Rank && c.Neighbours == d.Neighbours && c.Probes == d.Probes &&
		c.Precision == d.Precision && c.Storage == d.Storage
}

func loadCells(path string) (cells []cell, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := readTable(csv.NewReader(f), &cells); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cells, nil
}

// asked turns a part of the preconditioner of a cell into that of Options.
func asked(v int) int {
	switch {
	case v < 0:
		return 0 // the program's choice
	case v == 0:
		return -1 // none
	}
	return v
}

// evaluate is one evaluation with gradient by method bbgp. An evaluation that
// fails is a result: the cell says so.
func evaluate(b *studyBench, c *cell) error {
	ctx := context.Background()
	p := studyParams(b.data.X.Cols, c.Noise)
	nan := math.NaN()
	c.LML, c.Lower, c.Upper, c.StdErr, c.BasisBytes = nan, nan, nan, nan, nan
	var err error
	if c.Exact, err = b.exactly(ctx, p); err != nil {
		return err
	}
	r, err := bbgp.LogMarginalLikelihood(ctx, b.data, p, bbgp.Options{Method: "bbgp", Probes: c.Probes, Seed: 1,
		Rank: asked(min(c.Rank, c.N/4)), Neighbours: asked(c.Neighbours), Precision: enum.Precision(c.Precision),
		ScaleFloor: gp.PaperFloor})
	if err != nil {
		c.Failure = err.Error()
		return nil
	}
	c.Used = fmt.Sprintf("%s, rank %d, %d neighbours", r.Precision, r.Rank, r.Neighbours)
	c.Passes, c.CPU, c.Wall = r.Passes, r.CPUSeconds, r.Seconds
	c.LML, c.Lower, c.Upper, c.StdErr = r.LML, float64(r.Lower), float64(r.Upper), r.StdErr
	return nil
}

// exactly returns the likelihood at p by Cholesky.
func (b *studyBench) exactly(ctx context.Context, p bbgp.Params) (float64, error) {
	if v, ok := b.exact[p.Noise]; ok {
		return v, nil
	}
	r, err := bbgp.LogMarginalLikelihood(ctx, b.data, p,
		bbgp.Options{Method: "exact", NoGradient: true, ScaleFloor: gp.PaperFloor})
	if err != nil {
		return 0, err
	}
	b.exact[p.Noise] = r.LML
	return r.LML, nil
}
