package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// A grid is a Markdown table.
type grid struct {
	head []string
	rows [][]string
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) String() string {
	if len(g.rows) == 0 {
		return "Nothing has been run yet."
	}
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(g.head)
	b.WriteString(strings.Repeat("|---", len(g.head)) + "|\n")
	for _, r := range g.rows {
		line(r)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// middle writes the median of the values that are known, and their range if
// there are several.
func middle(v []float64, format string) string {
	v = slices.DeleteFunc(slices.Clone(v), math.IsNaN)
	if len(v) == 0 {
		return "-"
	}
	mid := fmt.Sprintf(format, quantile(v, 0.5))
	if len(v) == 1 || v[0] == v[len(v)-1] {
		return mid
	}
	return fmt.Sprintf("%s ("+format+" to "+format+")", mid, v[0], v[len(v)-1])
}

func each(runs []*record, f func(*record) float64) []float64 {
	v := make([]float64, len(runs))
	for i, r := range runs {
		v[i] = f(r)
	}
	return v
}

// ofLast turns a value of a row into that of the last row of a run.
func ofLast(f func(*row) float64) func(*record) float64 {
	return func(r *record) float64 {
		if w := r.last(); w != nil {
			return f(w)
		}
		return math.NaN()
	}
}

// methodTable compares the methods on one set.
func methodTable(runs []*record) string {
	g := grid{head: []string{"method", "splits", "exact LML at the end", "RMSE", "NLPD", "CPU s", "evaluations",
		"passes an evaluation", "peak MiB", "ended"}}
	names, groups := byMethod(runs)
	for _, name := range names {
		of := groups[name]
		g.add(of[0].Head.Title, splitsOf(of), middle(each(of, ofLast(func(w *row) float64 { return w.LML })), "%.1f"),
			middle(each(of, ofLast(rmseOf)), "%.4g"),
			middle(each(of, ofLast(func(w *row) float64 { return w.NLPD })), "%.3f"),
			middle(each(of, func(r *record) float64 { return r.Head.CPU }), "%.0f"),
			middle(each(of, func(r *record) float64 { return float64(r.Head.Evaluations) }), "%.0f"),
			middle(each(of, func(r *record) float64 {
				return float64(r.Head.Passes) / float64(max(1,
					r.Head.Evaluations))
			}), "%.1f"),
			middle(each(of, func(r *record) float64 { return float64(r.Head.PeakBytes) / (1 << 20) }), "%.0f"),
			endsOf(of))
	}
	return g.String()
}

func splitsOf(runs []*record) string {
	var v []string
	for _, r := range runs {
		v = append(v, fmt.Sprint(r.Head.Split))
	}
	return strings.Join(v, " ")
}

// endsOf tells why runs ended.
func endsOf(runs []*record) string {
	count := map[string]int{}
	var names []string
	for _, r := range runs {
		why := r.Head.Stopped
		switch why {
		case "cpu-cap":
			why = fmt.Sprintf("cap of %g CPU s", r.Head.CPUCap)
		case "max-steps":
			why = fmt.Sprintf("cap of %d evaluations", r.Head.StepCap)
		}
		if count[why] == 0 {
			names = append(names, why)
		}
		count[why]++
	}
	if len(names) == 1 {
		return names[0]
	}
	for i, n := range names {
		names[i] = fmt.Sprintf("%d × %s", count[n], n)
	}
	return strings.Join(names, ", ")
}

// whatTable tells what was run, and by which command.
func whatTable(runs []*record) string {
	g := grid{head: []string{"method", "sets and splits", "command of the first one"}}
	names, groups := byMethod(runs)
	for _, name := range names {
		sets := map[string][]string{}
		for _, r := range groups[name] {
			sets[r.Head.Set] = append(sets[r.Head.Set], fmt.Sprint(r.Head.Split))
		}
		var parts []string
		for _, set := range setNames {
			if sets[set] != nil {
				parts = append(parts, set+" "+strings.Join(sets[set], " "))
			}
		}
		g.add(groups[name][0].Head.Title, strings.Join(parts, "; "), "`"+groups[name][0].Head.Command+"`")
	}
	return g.String()
}

// absent names the methods that were not run at all at this size, on n rows.
func absent(runs []*record, n int) (string, error) {
	seen := map[string]bool{}
	for _, r := range runs {
		seen[r.Head.Title] = true
	}
	var titles []string
	for _, name := range full.methods {
		m, err := parseMethod(name, n)
		if err != nil {
			return "", err
		}
		if !seen[m.title] {
			titles = append(titles, m.title)
		}
		seen[m.title] = true
	}
	return strings.Join(titles, "; "), nil
}

// overTable tells how far objectives were from the exact likelihood.
func overTable(runs []*record) string {
	g := grid{head: append([]string{"method"}, setNames...)}
	names, groups := byMethod(runs)
	for _, name := range names {
		cells := []string{groups[name][0].Head.Title}
		for _, set := range setNames {
			var v []float64
			for _, r := range groups[name] {
				if r.Head.Set == set {
					v = append(v, overestimate(r))
				}
			}
			cells = append(cells, middle(v, "%+.1f"))
		}
		g.add(cells...)
	}
	return g.String()
}

// biasTable is the paper's study of eps and the number of probes.
func biasTable(runs []*record) string {
	g := grid{head: []string{"eps", "s", "splits", "passes an evaluation", "the same, last 10 evaluations", "CPU s",
		"evaluations", "exact LML at the end", "RMSE at the end", "ended"}}
	_, groups := byMethod(runs)
	for _, name := range biasMethods() {
		of := groups[name]
		if len(of) == 0 {
			continue
		}
		eps, s, _ := strings.Cut(strings.TrimPrefix(name, "adam-e"), "-s")
		late := func(r *record) float64 {
			p := r.passes()
			return mean(p.y[max(0, len(p.y)-10):])
		}
		g.add(eps, s, splitsOf(of), middle(each(of, func(r *record) float64 { return mean(r.passes().y) }), "%.1f"),
			middle(each(of, late), "%.1f"),
			middle(each(of, func(r *record) float64 { return r.Head.CPU }), "%.1f"),
			middle(each(of, func(r *record) float64 { return float64(r.Head.Evaluations) }), "%.0f"),
			middle(each(of, ofLast(func(w *row) float64 { return w.LML })), "%.1f"),
			middle(each(of, ofLast(rmseOf)), "%.4g"), endsOf(of))
	}
	return g.String()
}

// studyTables are our own studies.
type studyTables struct{ Block, Storage, Precision, Preconditioner string }

func (s *settings) newStudyTables() (t studyTables, err error) {
	for name, dst := range map[string]*string{"blocksize": &t.Block, "storage": &t.Storage, "precision": &t.Precision,
		"preconditioner": &t.Preconditioner} {
		cells, err := loadCells(filepath.Join(s.studyDir(), name+".csv"))
		if err != nil {
			return t, err
		}
		*dst = cellTable(name, cells)
	}
	return t, nil
}

func cellTable(name string, cells []cell) string {
	heads := map[string][]string{
		"blocksize": {"noise", "columns", "passes", "passes × columns",
			"CPU s", "standard error", "LML less exact"},
		"storage": {"noise", "basis", "passes", "of them made twice", "basis and blocks, MiB", "CPU s",
			"estimate", "bounds, nats"},
		"precision": {"noise", "asked for", "used", "passes", "CPU s",
			"LML less exact", "bounds less exact", "standard error"},
		"preconditioner": {"noise", "asked for", "used", "passes", "CPU s", "LML less exact", "standard error"},
	}
	g := grid{head: heads[name]}
	for i := range cells {
		c := &cells[i]
		noise, cpu := fmt.Sprintf("%g", c.Noise), fmt.Sprintf("%.2f", c.CPU)
		off := fmt.Sprintf("%+.2f", c.LML-c.Exact)
		if c.Failure != "" {
			cpu, off = "-", "failed: "+c.Failure
		}
		switch name {
		case "blocksize":
			g.add(noise, fmt.Sprint(c.Probes+1), fmt.Sprint(c.Passes), fmt.Sprint(c.Passes*(c.Probes+1)), cpu,
				fmt.Sprintf("%.2f", c.StdErr), off)
		case "storage":
			g.add(noise, c.Storage, fmt.Sprint(c.Passes), fmt.Sprint(c.Replayed),
				fmt.Sprintf("%.1f", c.BasisBytes/(1<<20)), cpu, fmt.Sprintf("%.3f", c.LML),
				fmt.Sprintf("[%.3f, %.3f]", c.Lower, c.Upper))
		case "precision":
			g.add(noise, c.Precision, c.Used, fmt.Sprint(c.Passes), cpu, off,
				fmt.Sprintf("[%+.2f, %+.2f]", c.Lower-c.Exact, c.Upper-c.Exact), fmt.Sprintf("%.2f", c.StdErr))
		case "preconditioner":
			g.add(noise, askedFor(c), c.Used, fmt.Sprint(c.Passes), cpu, off, fmt.Sprintf("%.2f", c.StdErr))
		}
	}
	return g.String()
}

// askedFor names the preconditioner of a cell.
func askedFor(c *cell) string {
	switch {
	case c.Rank < 0:
		return "the program's choice"
	case c.Neighbours == 0:
		return fmt.Sprintf("rank %d", c.Rank)
	case c.Rank == 0:
		return fmt.Sprintf("%d neighbours", c.Neighbours)
	}
	return fmt.Sprintf("rank %d, %d neighbours", c.Rank, c.Neighbours)
}
