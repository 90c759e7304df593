package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bbgp.dev/linalg"
)

// The end of the time is seen while a command waits for its table, and in every command
// that takes --time; what a fit has by then is a model.
func TestTimeOfAll(t *testing.T) {
	dir := t.TempDir()
	d, p := sample(t, dir, "d.csv", 300, 9), write(t, dir, "p.json",
		`{"mean":0,"variance":1,"noise":0.1,"lengthscales":[1,1,1]}`)
	for _, args := range [][]string{{"fit", "--target", "y"}, {"cv", "--target", "y"},
		{"lml", "--target", "y", "--params", p}} {
		c, errw := command(t, "bbgp", append(args, "-", "--time", "0.2")...)
		c.Stderr = errw
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run() // nobody writes into the pipe
		in.Close()
		if c.ProcessState.ExitCode() != exitBudget || !strings.Contains(errw.String(), "tables were read") {
			t.Errorf("%q: %v, %s", args, err, errw)
		}
		r := want(t, exitBudget, append(args, d, "--time", "1ns", "--quiet")...)
		if strings.Count(r.err, "\n") != 1 || strings.Contains(r.err, "context") {
			t.Errorf("%q: %s", args, r.err)
		}
	}
	m := filepath.Join(dir, "m")
	for _, args := range [][]string{{"--robust"}, {"--holdout", d}, {"--method", "exact"}} {
		fit := []string{"fit", d, "--target", "y", "--out", m, "--quiet", "--time", "0.3"}
		r := bbgpRun(t, "", append(fit, args...)...)
		if r.code == exitOK || r.code == exitBudget && strings.Contains(r.err, "the model is") {
			want(t, exitOK, "predict", m, d, "--quiet", "--out", filepath.Join(dir, "p"))
		} else if r.code != exitBudget {
			t.Errorf("%q: exit %d, %s", args, r.code, r.err)
		}
	}
}

// An allowance without a time has no end, and one that is over leaves nothing.
func TestAllowance(t *testing.T) {
	a := newApp(nil, nil, nil)
	e, err := linalg.NewEngine(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		w        allowance
		left, ok bool
	}{{allowance{}, false, true}, {allowance{time.Now(), time.Hour}, true, true},
		{allowance{time.Now().Add(-time.Hour), time.Minute}, false, false}} {
		left, err := tc.w.left(a)
		if left > 0 != tc.left || (err == nil) != tc.ok {
			t.Errorf("%+v: %v, %v", tc.w, left, err)
		}
		ctx, done := tc.w.within(context.Background(), e)
		if (ctx.Err() == nil) != tc.ok {
			t.Errorf("%+v: %v", tc.w, ctx.Err())
		}
		done()
	}
}
