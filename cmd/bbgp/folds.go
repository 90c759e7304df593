package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"bbgp.dev/cmd/bbgp/internal/table"
)

// foldFlags say how cross-validation divides the rows.
type foldFlags struct {
	folds, repeats int
	asked          bool // for so many folds; else as many as there can be, up to that
	group          string
	block          []string
}

func (f *foldFlags) add(fl *pflag.FlagSet) {
	fl.IntVar(&f.folds, "folds", 5,
		"folds, drawn at random by the seed; as many as there are rows or groups, if these are fewer")
	fl.IntVar(&f.repeats, "repeats", 1, "times to draw the folds anew")
	fl.StringVar(&f.group, "group", "",
		"column whose rows of one value stay together, such as a patient or a site; it is no input")
	fl.StringSliceVar(&f.block, "block", nil,
		"columns of place or time: each fold is a region of them, not a random draw")
}

// kind is what reports call the folds.
func (f *foldFlags) kind() string {
	switch {
	case f.group != "":
		return "groups"
	case len(f.block) > 0:
		return "blocks"
	}
	return "folds"
}

// check finds flags that exclude each other.
func (f *foldFlags) check(loo bool, changed func(string) bool) error {
	f.asked = changed("folds")
	var given []string
	for _, name := range []string{"group", "block", "repeats", "folds"} {
		if changed(name) {
			given = append(given, "--"+name)
		}
	}
	switch {
	case loo && len(given) > 0:
		return usagef("--loo and %s exclude each other", given[0])
	case f.group != "" && len(f.block) > 0:
		return usagef("--group and --block exclude each other")
	case f.repeats < 1 || f.repeats > 1000:
		return usagef("--repeats %d is not between 1 and 1000", f.repeats)
	case len(f.block) > 0 && f.repeats > 1:
		return usagef("--block and --repeats exclude each other: blocks are not drawn at random")
	}
	return nil
}

// split returns the rows of each fold, as indices of the rows of a fit.
func (f *foldFlags) split(ts *trainingSet, seed uint64) ([][]int, error) {
	n := len(ts.set.Rows)
	if !f.asked {
		f.folds = min(f.folds, max(2, n))
	}
	if f.folds < 2 || f.folds > n {
		return nil, usagef("--folds %d is not between 2 and the number of rows, %d", f.folds, n)
	}
	rng := rand.New(rand.NewPCG(seed, 0x63766376)) // the second word is the stream of this use
	switch {
	case f.group != "":
		return f.byGroup(ts, rng)
	case len(f.block) > 0:
		return f.byBlock(ts)
	}
	var folds [][]int
	for range f.repeats {
		order := rng.Perm(n)
		for k := range f.folds {
			folds = append(folds, order[k*n/f.folds:(k+1)*n/f.folds])
		}
	}
	return folds, nil
}

// column returns a column of the table that every row of the fit has a cell of.
func (ts *trainingSet) column(name string) (*table.Column, error) {
	var names []string
	for _, c := range ts.table.Columns {
		names = append(names, c.Name)
	}
	j, err := table.Find(ts.table.File, names, name)
	if err != nil {
		return nil, err
	}
	c := ts.table.Columns[j]
	if c.Name == ts.plan.Target {
		return nil, &table.Error{File: ts.table.File, Column: c.Name,
			Text: "is the target: new rows are in no fold by it"}
	}
	for _, i := range ts.set.Rows {
		if c.MissingAt(i) {
			return nil, &table.Error{File: ts.table.File, Row: i + 1, Line: ts.table.Line(i), Column: c.Name,
				Text: "the cell is missing; every row needs one to be in a fold"}
		}
	}
	return c, nil
}

// fewer says how many folds there can be.
func fewer(groups int) string {
	if groups < 2 {
		return "name another column"
	}
	return fmt.Sprintf("give --folds %d or less", groups)
}

// byGroup puts whole groups into folds: in random order, each into the fold that has the
// fewest rows.
func (f *foldFlags) byGroup(ts *trainingSet, rng *rand.Rand) ([][]int, error) {
	c, err := ts.column(f.group)
	if err != nil {
		return nil, err
	}
	index, groups := map[string]int{}, [][]int{}
	for k, i := range ts.set.Rows {
		key := fmt.Sprint(c.Num[i])
		if c.Codes != nil && c.Codes[i] >= 0 {
			key = "=" + c.Levels[c.Codes[i]]
		} else if c.Codes != nil && math.IsNaN(c.Num[i]) {
			return nil, &table.Error{File: ts.table.File, Column: c.Name,
				Text: "has too many different texts for groups"}
		}
		g, ok := index[key]
		if !ok {
			g = len(groups)
			index[key], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], k)
	}
	if !f.asked {
		f.folds = min(f.folds, max(2, len(groups)))
	}
	if len(groups) < f.folds {
		return nil, usagef("--folds %d: column %s has %d different values, and each fold needs one: %s",
			f.folds, c.Name, len(groups), fewer(len(groups)))
	}
	var folds [][]int
	for range f.repeats {
		fresh := make([][]int, f.folds)
		for _, g := range rng.Perm(len(groups)) {
			least := 0
			for k := range fresh {
				if len(fresh[k]) < len(fresh[least]) {
					least = k
				}
			}
			fresh[least] = append(fresh[least], groups[g]...)
		}
		folds = append(folds, fresh...)
	}
	return folds, nil
}

// byBlock cuts the rows into regions: by halves, each time along the column in which they
// spread most, and never between equal values.
func (f *foldFlags) byBlock(ts *trainingSet) ([][]int, error) {
	var columns [][]float64
	for _, name := range f.block {
		c, err := ts.column(name)
		if err != nil {
			return nil, err
		}
		if !c.Numeric() || c.Inf > 0 {
			return nil, &table.Error{File: ts.table.File, Column: c.Name,
				Text: "has cells that are no numbers; --block needs places or times (--group takes texts)"}
		}
		v := make([]float64, len(ts.set.Rows))
		for k, i := range ts.set.Rows {
			v[k] = c.Num[i]
		}
		lo, hi := slices.Min(v), slices.Max(v)
		for k := range v {
			v[k] = (v[k] - lo) / max(hi-lo, math.SmallestNonzeroFloat64)
		}
		columns = append(columns, v)
	}
	rows := make([]int, len(ts.set.Rows))
	for k := range rows {
		rows[k] = k
	}
	folds := regions(columns, rows, f.folds)
	if len(folds) < f.folds {
		return nil, usagef("--folds %d: columns %s have too few different values for more than %d blocks", f.folds,
			strings.Join(f.block, ", "), len(folds))
	}
	return folds, nil
}

// regions divides rows into k regions with about as many rows each; fewer where values
// that are equal leave no cut.
func regions(columns [][]float64, rows []int, k int) [][]int {
	if k < 2 || len(rows) < 2 {
		return [][]int{rows}
	}
	widest, most := columns[0], -1.0
	for _, v := range columns {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, i := range rows {
			lo, hi = min(lo, v[i]), max(hi, v[i])
		}
		if hi-lo > most {
			widest, most = v, hi-lo
		}
	}
	if most == 0 {
		return [][]int{rows}
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(widest[a], widest[b]) })
	left := k / 2
	at := len(rows) * left / k
	up, down := max(at, 1), min(at, len(rows)-1)
	for up < len(rows) && widest[rows[up]] == widest[rows[up-1]] {
		up++
	}
	for down > 0 && (down == len(rows) || widest[rows[down]] == widest[rows[down-1]]) {
		down--
	}
	if down > 0 && at-down <= up-at || up == len(rows) {
		up = down // the nearer cut, or the only one
	}
	at = up
	return append(regions(columns, rows[:at], left), regions(columns, rows[at:], k-left)...)
}
