package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"bbgp.dev/bbgp"
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
// has one line that is rewritten.
func (p *progressFlags) reporter(w io.Writer) (func(bbgp.Step), error) {
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
	live := isTerminal(w)
	every, end := 500*time.Millisecond, "\n"
	if live {
		every, end = 100*time.Millisecond, clearLine+"\r"
	}
	var last time.Time
	phase := ""
	return func(s bbgp.Step) {
		if s.Phase == phase && time.Since(last) < every || s.Rejected {
			return
		}
		if live && phase != "" && s.Phase != phase && phase != "final" {
			fmt.Fprintln(w) // the last line of a phase stays
		}
		last, phase = time.Now(), s.Phase
		if s.Phase == "final" {
			fmt.Fprintln(w, stepLine(s))
			return
		}
		fmt.Fprint(w, stepLine(s)+end)
	}, nil
}

func stepLine(s bbgp.Step) string {
	line := fmt.Sprintf("bbgp: %-7s step %3d  LML %.6g", s.Phase, s.Step, s.LML)
	if s.Lower != s.Upper {
		line += fmt.Sprintf(" in [%.6g, %.6g]", s.Lower, s.Upper)
	}
	if s.StdErr > 0 {
		line += fmt.Sprintf(" ± %.2g", s.StdErr)
	}
	if s.Passes > 0 {
		line += fmt.Sprintf("  passes %d", s.Passes)
	}
	return line + fmt.Sprintf("  %.1f s", s.Seconds)
}
