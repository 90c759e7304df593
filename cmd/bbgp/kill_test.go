package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"bbgp.dev/bbgp"
	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/usage"
)

// The test binary plays the program, so that it can be killed.
func TestMain(m *testing.M) {
	switch mode := os.Getenv("BBGP_TEST_PLAYS"); mode {
	case "bbgp", "keeper": // keeper keeps each pass of an evaluation
		if mode == "keeper" {
			checkpoint.KeepAfter = 0
		}
		os.Args[0] = "bbgp"
		main()
	case "measured": // tells its peak behind all that it says
		code := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
		fmt.Fprintf(os.Stderr, "peak %d\n", usage.PeakBytes())
		os.Exit(code)
	case "saver": // saves a model again and again
		model, err := bbgp.Load(os.Args[1])
		for err == nil {
			err = model.Save(os.Args[2])
		}
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	default:
		os.Exit(m.Run())
	}
}

// command is the test binary as another program.
func command(t *testing.T, mode string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, args...)
	c.Env = append(os.Environ(), "BBGP_TEST_PLAYS="+mode)
	return c, new(bytes.Buffer)
}

// play starts it.
func play(t *testing.T, mode string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("signals of Unix")
	}
	c, errw := command(t, mode, args...)
	c.Stderr = errw
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, errw
}

// kills is how often a test kills: BBGP_KILLS, or a few times.
func kills(t *testing.T, few int) int {
	t.Helper()
	n := few
	if s := os.Getenv("BBGP_KILLS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// A fit that is killed again and again at random moments goes on from its
// checkpoint every time, and its predictions have the bits of an undisturbed one.
func TestKilledFitGoesOn(t *testing.T) {
	dir := t.TempDir()
	train, model, point := sample(t, dir, "train.csv", 350, 3), filepath.Join(dir, "m.bbgp"),
		filepath.Join(dir, "point")
	fit := []string{"fit", train, "--target", "y", "--method", "bbgp", "--eps", "0.1", "--quiet", "--json"}
	began := time.Now()
	plain := object(t, want(t, exitOK, append(fit, "--out", filepath.Join(dir, "plain.bbgp"))...).out)
	whole := time.Since(began)
	fit = append(fit, "--out", model, "--checkpoint", point, "--resume")
	rng := rand.New(rand.NewPCG(3, 1))
	killed := 0
	for range kills(t, 10) {
		c, errw := play(t, "bbgp", fit...)
		time.Sleep(time.Duration(rng.Float64() * float64(whole)))
		_ = c.Process.Kill() // it may have ended
		if err := c.Wait(); err != nil {
			killed++
			if errw.Len() > 0 {
				t.Fatalf("a resumed fit says %s", errw)
			}
		}
		if _, err := bbgp.Load(model); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if killed == 0 {
		t.Error("no fit was killed")
	}
	m := object(t, want(t, exitOK, fit...).out)
	for _, k := range []string{"lml", "lower", "upper", "evaluations", "passes"} {
		if m[k] != plain[k] {
			t.Errorf("%s is %v, without kills %v", k, m[k], plain[k])
		}
	}
	var p [2]string
	for k, name := range []string{"plain.bbgp", "m.bbgp"} {
		p[k] = bbgpRun(t, "a,b,c\n0.1,0.2,0.3\n0.9,0.5,0.1\n", "predict", filepath.Join(dir, name), "-", "--sd").out
	}
	if p[0] != p[1] || p[0] == "" {
		t.Errorf("predictions %s, without kills %s", p[1], p[0])
	}
}

// A program that is killed while it saves leaves the old model or the new one.
func TestKilledSave(t *testing.T) {
	dir := t.TempDir()
	model, target := filepath.Join(dir, "m.bbgp"), filepath.Join(dir, "copy.bbgp")
	want(t, exitOK, "fit", sample(t, dir, "d.csv", 120, 4), "--target", "y", "--out", model, "--quiet")
	rng := rand.New(rand.NewPCG(4, 1))
	for range kills(t, 10) {
		c, errw := play(t, "saver", model, target)
		for sizeOf(target) == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(rng.IntN(30_000_000)))
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err, errw)
		}
		_ = c.Wait() // killed
		if _, err := bbgp.Load(target); err != nil {
			t.Fatal(err)
		}
	}
}

// An interrupt ends a fit with 130; what it has is said and kept.
func TestInterruptSaysTheBest(t *testing.T) {
	dir := t.TempDir()
	train, model, point := sample(t, dir, "train.csv", 3000, 5), filepath.Join(dir, "m.bbgp"),
		filepath.Join(dir, "point")
	c, errw := play(t, "bbgp", "fit", train, "--target", "y", "--eps", "0.001",
		"--out", model, "--checkpoint", point, "--progress", "json")
	for began := time.Now(); sizeOf(point) < 500_000 && time.Since(began) < time.Minute; { // beyond the pre-fit
		time.Sleep(20 * time.Millisecond)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err, errw)
	}
	err := c.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted ||
		!strings.Contains(errw.String(), "the best so far: LML") ||
		!strings.Contains(errw.String(), "--resume goes on from "+point) {
		t.Errorf("%v: %s", err, errw)
	}
	if r := bbgpRun(t, "", "fit", train, "--target", "y", "--checkpoint", t.TempDir()); r.code != exitUsage ||
		!strings.Contains(r.err, "it is a folder") {
		t.Error(r.code, r.err)
	}
	if r := bbgpRun(t, "", "fit", train, "--target", "y", "--checkpoint", point); r.code != exitUsage ||
		!strings.Contains(r.err, "go on from it with --resume") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := bbgpRun(t, "", "fit", train, "--target", "y", "--resume"); r.code != exitUsage {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := bbgpRun(t, "", "fit", train, "--target", "y", "--eps", "0.5", "--checkpoint", point,
		"--resume"); r.code != exitData || !strings.Contains(r.err, "eps was 0.001 and is 0.5") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	other := sample(t, dir, "other.csv", 30, 1)
	if r := bbgpRun(t, "", "fit", train, "--target", "y", "--checkpoint", other, "--resume"); r.code != exitData ||
		!strings.Contains(r.err, "not a checkpoint") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}
