package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"bbgp.dev/bbgp"
)

// A tally counts what was held against the truth, by what was bounded and by the kind
// of its bounds.
type tally struct {
	lines  map[string]*line
	scores map[string]*score
	covers map[string]*cover
	// evaluations of the likelihood that were held against the truth, and those of more than
	// manyRows rows.
	evaluations, large int

	refused int      // answers that the program did not give, and said why
	failed  []string // what must not happen
	verbose bool     // every miss is printed at once
}

// A line counts one sort of bounds.
type line struct {
	what, kind string
	count      int
	outside    int
	worst      float64 // largest distance of a truth from its bounds, in widths of these
	recipe     string  // of that
	wide       int     // bounds wider than asked
}

// A score sums squares of numbers that are standard normal if all is right.
type score struct {
	count   int
	squares float64
	worst   float64
	recipe  string
	less    bool // what is allowed besides is taken off: the squares may be less
}

// probableRate is the share of probable bounds that may fail, and probableMiss by how
// much of their width.
const (
	probableRate = 1e-4
	probableMiss = 0.01
	scoreLimit   = 6 // of one number that is standard normal
)

func newTally() *tally {
	return &tally{lines: map[string]*line{}, scores: map[string]*score{}, covers: map[string]*cover{}}
}

// ulps is the rounding of the numbers that are compared, which are float64.
const ulps = 0x1p-50

// within holds truth against bounds; wide says that they are wider than asked.
func (t *tally) within(what, kind string, lo, truth, hi float64, wide bool, recipe string) {
	l := t.lines[what+kind]
	if l == nil {
		l = &line{what: what, kind: kind}
		t.lines[what+kind] = l
	}
	l.count++
	if wide {
		l.wide++
	}
	off := max(lo-truth, truth-hi) - ulps*math.Abs(truth)
	if off <= 0 {
		return
	}
	l.outside++
	if t.verbose {
		fmt.Printf("%s: %s, %s: truth %v outside [%v, %v]\n", recipe, what, kind, truth, lo, hi)
	}
	if share := off / max(hi-lo, ulps*math.Abs(truth), math.SmallestNonzeroFloat64); !(share <= l.worst) {
		l.worst = share
		l.recipe = fmt.Sprintf("%s\n    %s: truth %v outside [%v, %v]", recipe, what, truth, lo, hi)
	}
}

// normal adds a number that is standard normal if all is right.
func (t *tally) normal(what string, z float64, recipe string) {
	s := t.scores[what]
	if s == nil {
		s = &score{}
		t.scores[what] = s
	}
	s.count++
	s.squares += z * z
	if !(math.Abs(z) <= s.worst) && !math.IsNaN(s.worst) {
		s.worst, s.recipe = math.Abs(z), recipe
	}
}

// atMost adds a number that is standard normal or less.
func (t *tally) atMost(what string, z float64, recipe string) {
	t.normal(what, z, recipe)
	t.scores[what].less = true
}

// A cover counts how often random intervals hold the truth.
type cover struct {
	least         float64 // share that has to be held
	count, inside int
	widest        float64 // largest distance of a truth from its interval, in widths
	recipe        string
}

// interval adds an interval that is to hold the truth in so many cases.
func (t *tally) interval(what string, least float64, ends bbgp.Interval, truth float64, recipe string) {
	c := t.covers[what]
	if c == nil {
		c = &cover{least: least}
		t.covers[what] = c
	}
	c.count++
	lo, hi := float64(ends[0]), float64(ends[1])
	off := max(lo-truth, truth-hi) / max(hi-lo, ulps*math.Abs(truth))
	if off <= ulps {
		c.inside++
	} else if off > c.widest {
		c.widest, c.recipe = off, fmt.Sprintf("%s\n    %s: truth %v outside [%v, %v]", recipe, what, truth, lo, hi)
	}
}

// missed says whether too few are inside, beyond four standard deviations of chance.
func (c *cover) missed() bool {
	n := float64(c.count)
	return float64(c.inside) < n*c.least-4*math.Sqrt(n*c.least*(1-c.least))
}

// fail notes something that must not happen.
func (t *tally) fail(format string, args ...any) {
	t.failed = append(t.failed, fmt.Sprintf(format, args...))
}

// missed says whether more is outside than the kind of bounds allows.
func (l *line) missed() bool {
	if l.kind == "probable" {
		return l.worst > probableMiss || float64(l.outside) > max(1, probableRate*float64(l.count))
	}
	return l.outside > 0
}

// missed says whether the numbers are not standard normal: their mean square is known
// to (2/count)^1/2.
func (s *score) missed() bool {
	off := s.squares/float64(s.count) - 1
	if s.less {
		off = max(off, 0)
	}
	return !(s.worst <= scoreLimit) || !(math.Abs(off) <= 6*math.Sqrt(2/float64(s.count)))
}

// print writes the tables and what missed, and returns whether anything did.
func (t *tally) print(w io.Writer) (bad bool) {
	fmt.Fprintln(w,
		"| bounds of | kind | count | outside | worst, in widths | wider than asked |\n|---|---|---|---|---|---|")
	var notes []string
	for _, key := range sorted(t.lines) {
		l := t.lines[key]
		fmt.Fprintf(w, "| %s | %s | %d | %d | %.2g | %d |\n", l.what, l.kind, l.count, l.outside, l.worst, l.wide)
		if l.outside > 0 {
			notes = append(notes, fmt.Sprintf("%s, %s, the worst: %s", l.what, l.kind, l.recipe))
		}
		bad = bad || l.missed()
	}
	if len(t.scores) > 0 {
		fmt.Fprintln(w, "\n| standard normal | count | mean square | largest |\n|---|---|---|---|")
	}
	for _, key := range sorted(t.scores) {
		s := t.scores[key]
		fmt.Fprintf(w, "| %s | %d | %.3f | %.2f |\n", key, s.count, s.squares/float64(s.count), s.worst)
		if s.missed() {
			bad = true
			notes = append(notes, fmt.Sprintf("%s, the worst: %s", key, s.recipe))
		}
	}
	if len(t.covers) > 0 {
		fmt.Fprintln(w, "\n| random intervals of | count | hold the truth | at least asked | farthest miss, in "+
			"widths |\n|---|---|---|---|---|")
	}
	for _, key := range sorted(t.covers) {
		c := t.covers[key]
		fmt.Fprintf(w, "| %s | %d | %.4f | %.4f | %.2g |\n", key, c.count,
			float64(c.inside)/float64(c.count), c.least, c.widest)
		if c.inside < c.count {
			notes = append(notes, fmt.Sprintf("%s, the farthest: %s", key, c.recipe))
		}
		bad = bad || c.missed()
	}
	notes = append(notes, t.failed...)
	if len(notes) > 0 {
		fmt.Fprintln(w, "\n"+strings.Join(notes, "\n"))
	}
	return bad || len(t.failed) > 0
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
