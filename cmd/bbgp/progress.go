package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"bbgp.dev/bbgp"
	"bbgp.dev/internal/cost"
)

// progressFlags say what is told while a command works.
type progressFlags struct {
	quiet  bool
	format string
}

func (p *progressFlags) add(f *pflag.FlagSet) {
	f.BoolVarP(&p.quiet, "quiet", "q", false, "no progress and no remarks; errors only")
	f.StringVar(&p.format, "progress", "plain", "progress on standard error: plain, json (a line per step) or none")
}

// clearLine is what makes a terminal forget the rest of a line.
const clearLine = "\x1b[K"

// reporter returns the function that tells each step, nil for silence. Plain
// lines come at most twice a second, but for the first of a phase; a terminal
// has one line that is rewritten. budget is the time of the run, 0 for none.
func (p *progressFlags) reporter(w io.Writer, budget time.Duration) (func(bbgp.Step), error) {
	switch {
	case p.format != "plain" && p.format != "json" && p.format != "none":
		return nil, usagef("--progress %q is not plain, json or none", p.format)
	case p.quiet || p.format == "none":
		return nil, nil
	case p.format == "json":
		enc := json.NewEncoder(w)
		return func(s bbgp.Step) {
			// A step that was rejected early has no likelihood: it goes out as it
			// is, and a failed write is no reason to stop a fit.
			_ = enc.Encode(s)
		}, nil
	}
	t := &teller{w: w, live: isTerminal(w) && os.Getenv("TERM") != "dumb",
		every: 500 * time.Millisecond, budget: budget}
	if t.live {
		t.every, t.width = 100*time.Millisecond, widthOf(w)
	}
	return t.tell, nil
}

// widthOf returns the columns of a terminal, 0 where they are not known.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// cut shortens a line that is to be rewritten: one that wraps leaves its beginning behind.
func cut(line string, width int) string {
	if r := []rune(line); width > 1 && len(r) >= width {
		return string(r[:width-2]) + "…"
	}
	return line
}

// A counter rewrites a line on a terminal while a command works, and is silent elsewhere.
type counter struct {
	w     io.Writer // nil for silence
	start time.Time
	last  time.Time
}

func newCounter(w io.Writer, quiet bool) *counter {
	if quiet || !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		w = nil
	}
	return &counter{w: w, start: time.Now()}
}

// tell says how far the work is, at most ten times a second, and not in the first half.
func (c *counter) tell(format string, args ...any) {
	if now := time.Now(); c.w != nil && now.Sub(c.start) > 500*time.Millisecond &&
		now.Sub(c.last) > 100*time.Millisecond {
		c.last = now
		line := fmt.Sprintf("bbgp: "+format, args...) + fmt.Sprintf("  %.1f s", now.Sub(c.start).Seconds())
		fmt.Fprint(c.w, cut(line, widthOf(c.w))+clearLine+"\r")
	}
}

// say says at once what is being done.
func (c *counter) say(text string) {
	if c.w != nil {
		fmt.Fprint(c.w, cut("bbgp: "+text, widthOf(c.w))+clearLine+"\r")
	}
}

// end forgets the line.
func (c *counter) end() {
	if c.w != nil {
		fmt.Fprint(c.w, clearLine)
	}
}

// A teller writes lines of progress.
type teller struct {
	w      io.Writer
	live   bool
	every  time.Duration
	budget time.Duration
	last   time.Time
	phase  string
	width  int // of the terminal; 0: not known
	// Of the evaluations on all rows: when the first one ended.
	began float64
	first int
}

func (t *teller) tell(s bbgp.Step) {
	if s.Phase == "train" && t.began == 0 {
		t.began, t.first = s.Seconds, s.Evaluations
	}
	if s.Phase == t.phase && time.Since(t.last) < t.every || s.Rejected {
		return
	}
	if t.live && t.phase != "" && s.Phase != t.phase && t.phase != "final" {
		fmt.Fprintln(t.w) // the last line of a phase stays
	}
	t.last, t.phase = time.Now(), s.Phase
	line := stepLine(s) + t.left(s)
	switch {
	case !t.live || s.Phase == "final":
		fmt.Fprintln(t.w, line)
	default:
		fmt.Fprint(t.w, cut(bar(s)+line, t.width)+clearLine+"\r")
	}
}

const barCells = 10

// done is the share of the usual evaluations that is behind, below 1.
func done(s bbgp.Step) float64 {
	return 1 - math.Exp(-1.5*float64(s.Evaluations)/cost.UsualEvaluations)
}

// bar draws done.
func bar(s bbgp.Step) string {
	if s.Phase != "train" {
		return ""
	}
	n := int(barCells*done(s) + 0.5)
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", barCells-n) + "] "
}

// left tells the time left: what the budget leaves, or what the usual number of
// evaluations would take.
func (t *teller) left(s bbgp.Step) string {
	if s.Phase != "train" || s.Evaluations <= t.first {
		return ""
	}
	each := (s.Seconds - t.began) / float64(s.Evaluations-t.first)
	left := each * float64(max(cost.UsualEvaluations-s.Evaluations, 3))
	if t.budget > 0 {
		left = min(left, max(t.budget.Seconds()-s.Seconds, 0))
	}
	return fmt.Sprintf(", about %s left", time.Duration(left*float64(time.Second)).Round(time.Second))
}

func stepLine(s bbgp.Step) string {
	line := fmt.Sprintf("bbgp: %-7s step %3d  LML %.6g", s.Phase, s.Step, s.LML)
	if lo, hi := fmt.Sprintf("%.6g", s.Lower), fmt.Sprintf("%.6g", s.Upper); lo != hi {
		line += fmt.Sprintf(" in [%s, %s]", lo, hi)
	}
	if s.StdErr > 0 {
		line += fmt.Sprintf(" ± %.2g", s.StdErr)
	}
	if s.Passes > 0 {
		line += fmt.Sprintf("  passes %d", s.Passes)
	}
	return line + fmt.Sprintf("  %.1f s", s.Seconds)
}
