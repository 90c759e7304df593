// Budget compares the memory that fits take with what was promised: for each size of
// table the least budget that is accepted, 1.3 and 2 times it, and none.
//
//	go build -o bin/bbgp ./cmd/bbgp
//	go run ./bench/budget -bbgp bin/bbgp -sizes 2000x1,5000x3,5000x100
//
// Arguments are flags of the fits: -- --start FILE leaves out the search before them, and
// -- --time 150 ends a fit when it has had its peak.
// The peak is that of the process, reading included. A line that exceeds 1.1 times
// the budget or 1.25 times the prediction ends the program with status 1, as does
// one without an evaluation of all rows, which has not had its peak.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"bbgp.dev/bbgp"
)

var (
	program = flag.String("bbgp", "bin/bbgp", "the program")
	sizes   = flag.String("sizes", "2000x1,2000x8,2000x100,2000x500,5000x3,5000x100,20000x3,20000x8",
		"tables, rows x inputs")
	times = flag.String("times", "1,1.3,2,0", "budgets in least budgets, 0 for none")
	steps = flag.String("max-steps", "4", "evaluations of a fit; memory does not grow after the first few")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "budget")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("| rows x inputs | budget, MB | predicted | peak | of budget | of prediction | evaluations | passes |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	missed := 0
	for _, size := range strings.Split(*sizes, ",") {
		var n, d int
		if _, err := fmt.Sscanf(size, "%dx%d", &n, &d); err != nil {
			return fmt.Errorf("-sizes %q: %w", size, err)
		}
		data, err := draw(n, d)
		if err != nil {
			return err
		}
		var short *bbgp.MemoryError
		if _, err := bbgp.Fit(context.Background(), data, bbgp.Options{Memory: 1}); !errors.As(err, &short) {
			return fmt.Errorf("%s: a budget of one byte: %v", size, err)
		}
		path := filepath.Join(dir, size+".csv")
		if err := write(path, data); err != nil {
			return err
		}
		for _, word := range strings.Split(*times, ",") {
			times, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return fmt.Errorf("-times: %w", err)
			}
			ok, err := measure(size, path, int64(math.Ceil(times*float64(short.Needed))))
			if err != nil {
				return err
			}
			if !ok {
				missed++
			}
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d lines exceed what was promised", missed)
	}
	return nil
}

// draw returns a table of n rows of d inputs, of which two matter.
func draw(n, d int) (*bbgp.Data, error) {
	r := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	x, y := make([][]float64, n), make([]float64, n)
	for i := range x {
		x[i] = make([]float64, d)
		for j := range x[i] {
			x[i][j] = r.NormFloat64()
		}
		y[i] = math.Sin(2*x[i][0]) + 0.3*x[i][d/2]*x[i][d/2] + 0.2*r.NormFloat64()
	}
	return bbgp.NewData(x, y, nil)
}

func write(path string, d *bbgp.Data) error {
	var b strings.Builder
	for j := range d.X.Cols {
		fmt.Fprintf(&b, "x%d,", j+1)
	}
	b.WriteString("y\n")
	for i, y := range d.Y {
		for _, v := range d.X.Row(i) {
			fmt.Fprintf(&b, "%.6g,", v)
		}
		fmt.Fprintf(&b, "%.6g\n", y)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// measure fits within a budget, 0 for none, and prints a line.
func measure(size, path string, budget int64) (ok bool, err error) {
	args := append([]string{"fit", path, "--target", "y", "--quiet", "--json", "--max-steps", *steps}, flag.Args()...)
	if budget > 0 {
		args = append(args, "--memory", fmt.Sprint(budget))
	}
	out, err := exec.Command(*program, args...).Output()
	if err != nil && len(out) == 0 {
		return false, fmt.Errorf("%s %v: %w", *program, args, err)
	}
	var r struct {
		Peak      float64 `json:"peak_bytes"`
		Predicted float64 `json:"predicted_bytes"`
		Done      int     `json:"evaluations"`
		Passes    int     `json:"passes"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return false, err
	}
	within, asked := "", "none"
	if budget > 0 {
		within, asked = fmt.Sprintf("%.2f", r.Peak/float64(budget)), fmt.Sprintf("%.0f", float64(budget)/1e6)
	}
	fmt.Printf("| %s | %s | %.0f | %.0f | %s | %.2f | %d | %d |\n", size, asked,
		r.Predicted/1e6, r.Peak/1e6, within, r.Peak/r.Predicted, r.Done, r.Passes)
	return r.Done > 0 && (budget == 0 || r.Peak <= 1.1*float64(budget)) && r.Peak <= 1.25*r.Predicted, nil
}
