//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// interrupt sends a signal to a program that is started and returns its exit code.
func interrupt(t *testing.T, c *exec.Cmd, s syscall.Signal) int {
	t.Helper()
	if err := c.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
	defer stuck.Stop()
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

// A command that waits for a pipe ends at each signal with its code and leaves nothing.
func TestSignalsWhileReading(t *testing.T) {
	dir := t.TempDir()
	all := everyCommand(t, dir)
	out := filepath.Join(dir, "out")
	for _, args := range [][]string{{"check", "-"}, {"fit", "-", "--target", "y", "--out", out},
		{"predict", all[1][1], "-", "--out", out}, {"sample", all[1][1], "-"}} {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			if signal.Ignored(s) {
				t.Logf("%v is ignored here, as under nohup: the program ignores it, too", s)
				continue
			}
			c, errw := command(t, "bbgp", args...)
			c.Stderr = errw
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			// It has begun to read once a pipe takes more than it can hold.
			if _, err := in.Write([]byte("a,b,c,y\n" + strings.Repeat("1,2,3,4\n", 1<<14))); err != nil {
				t.Fatal(err)
			}
			if code := interrupt(t, c, s); code != 128+int(s) || errw.String() != "bbgp: interrupted\n" {
				t.Errorf("%q, %v: exit %d: %s", args, s, code, errw)
			}
			in.Close()
		}
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 3 {
		t.Errorf("the folder holds %v, %v", list, err)
	}
}

// A fit whose model nobody reads ends at the first signal, at whatever moment that comes.
func TestSignalAtUnreadFIFO(t *testing.T) {
	dir := t.TempDir()
	fifo, d := filepath.Join(dir, "fifo"), sample(t, dir, "d.csv", 60, 3)
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	for _, more := range [][]string{nil, {"--holdout", "20%"}} {
		for _, after := range []time.Duration{200 * time.Millisecond, time.Second} {
			args := append([]string{"fit", d, "--target", "y", "--out", fifo, "--quiet"}, more...)
			c, errw := command(t, "bbgp", args...)
			c.Stderr = errw
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(after)
			if code := interrupt(t, c, syscall.SIGTERM); code != 143 || errw.String() != "bbgp: interrupted\n" {
				t.Errorf("%q after %v: exit %d: %s", more, after, code, errw)
			}
		}
	}
}

// The time is over while parameters or costs are waited for.
func TestTimeOfParameters(t *testing.T) {
	dir := t.TempDir()
	fifo, d := filepath.Join(dir, "fifo"), sample(t, dir, "d.csv", 60, 3)
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	for _, args := range [][]string{{"fit", "--start"}, {"fit", "--costs"}, {"lml", "--params"}, {"cv", "--start"}} {
		c, errw := command(t, "bbgp", args[0], d, "--target", "y", args[1], fifo, "--time", "0.3")
		c.Stderr = errw
		err := c.Run()
		if c.ProcessState.ExitCode() != exitBudget || !strings.Contains(errw.String(), "tables were read") {
			t.Errorf("%q: %v, %s", args, err, errw)
		}
	}
}

// A FIFO gets one model, with the scores of the rows that were held out.
func TestModelThroughFIFO(t *testing.T) {
	dir := t.TempDir()
	fifo, d := filepath.Join(dir, "fifo"), sample(t, dir, "d.csv", 60, 3)
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	for _, held := range []string{"20%", d} {
		got := make(chan []byte, 1)
		go func() {
			b, _ := os.ReadFile(fifo)
			got <- b
		}()
		want(t, exitOK, "fit", d, "--target", "y", "--holdout", held, "--out", fifo, "--quiet")
		m := filepath.Join(dir, "m")
		if err := os.WriteFile(m, <-got, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := want(t, exitOK, "info", m); !strings.Contains(r.out, "RMSE") {
			t.Errorf("%s", r.out)
		}
	}
}

// In dense factorisations, too, and what a fit has by then is saved.
func TestSignalInDenseFit(t *testing.T) {
	dir := t.TempDir()
	train, model, point := sample(t, dir, "d.csv", 2500, 6), filepath.Join(dir, "m.bbgp"), filepath.Join(dir, "point")
	c, errw := play(t, "bbgp", "fit", train, "--target", "y", "--method", "exact", "--out", model, "--checkpoint",
		point, "--progress", "json")
	for range 1200 { // until an evaluation on all rows is kept
		if sizeOf(point) > 60_000 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if code := interrupt(t, c, syscall.SIGTERM); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit %d: %s", code, errw)
	}
	if strings.Contains(errw.String(), "the best so far") {
		want(t, exitOK, "predict", model, train, "--out", filepath.Join(dir, "p"))
	} else if !strings.Contains(errw.String(), "no step was completed") {
		t.Errorf("%s", errw)
	}
}
