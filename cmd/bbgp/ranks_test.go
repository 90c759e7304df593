//go:build mpi && linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bbgp.dev/internal/comm/commtest"
)

// mpirun is the program as n ranks.
func mpirun(t *testing.T, n int, network []string, args ...string) (c *exec.Cmd, out, errw *bytes.Buffer) {
	t.Helper()
	c = commtest.Mpirun(t, n, network, args...)
	c.Env = append(c.Env, "BBGP_TEST_PLAYS=bbgp")
	out, errw = new(bytes.Buffer), new(bytes.Buffer)
	c.Stdout, c.Stderr = out, errw
	return c, out, errw
}

// wantRanks runs n ranks, or the program alone for 0, and returns what is printed.
func wantRanks(t *testing.T, code, n int, network []string, in string, args ...string) (out, errw string) {
	t.Helper()
	c, o, e := mpirun(t, max(n, 1), network, args...)
	if n == 0 {
		c, e = command(t, "bbgp", args...)
		c.Stdout, c.Stderr = o, e
	}
	c.Stdin = strings.NewReader(in)
	c.Run()
	if got := c.ProcessState.ExitCode(); got != code {
		t.Fatalf("%d ranks, %v: exit %d, want %d\n%s", n, args, got, code, e)
	}
	return o.String(), e.String()
}

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// timeless is a report without what time and memory it took.
func timeless(t *testing.T, report string) string {
	t.Helper()
	var lines []string
	skip := false
	for line := range strings.Lines(report) {
		field := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(field, `"seconds_by_phase"`):
			skip = true
		case skip && strings.HasPrefix(field, "}"):
			skip = false
		case skip, strings.Contains(field, `seconds"`), strings.Contains(field, `"peak_bytes"`),
			strings.Contains(field, `.bbgp"`):
		default:
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// Any number of ranks, over any network, writes the files and prints the report of the program alone, once.
func TestRanksSame(t *testing.T) {
	dir := t.TempDir()
	table := sample(t, dir, "train.csv", 900, 3)
	points, config := sample(t, dir, "new.csv", 60, 4), write(t, dir, "c.txt", "target = y\nmax-steps = 4\n")
	type answer struct{ report, held, predicted, drawn, lml, cv string }
	var alone answer
	for _, c := range []struct {
		n       int
		network []string
	}{
		{0, nil}, {1, commtest.SharedMemory}, {2, commtest.SharedMemory}, {4, commtest.SharedMemory},
		{2, commtest.Loopback},
	} {
		model, held := filepath.Join(dir, "m.bbgp"), filepath.Join(dir, "held.csv")
		var a answer
		a.report, _ = wantRanks(t, exitOK, c.n, c.network, "", "fit", table, "--config", config, "--method", "bbgp",
			"--out", model, "--holdout", "10%", "--holdout-out", held, "--json", "--quiet")
		a.report = timeless(t, a.report)
		a.held = contents(t, held)
		a.predicted, _ = wantRanks(t, exitOK, c.n, c.network, contents(t, points), "predict", model, "-", "--bounds",
			"--quiet")
		a.drawn, _ = wantRanks(t, exitOK, c.n, c.network, "", "sample", model, points, "--draws", "2", "--quiet")
		if c.n != 1 {
			a.lml, _ = wantRanks(t, exitOK, c.n, c.network, "", "lml", table, "--target", "y", "--method", "bbgp",
				"--params", write(t, dir, "p.json", a.report), "--json")
			a.lml = timeless(t, a.lml)
		}
		if alone == (answer{}) {
			alone = a
		}
		if c.n == 1 {
			a.lml = alone.lml
		}
		if a != alone {
			t.Errorf("%d ranks over %v: other answers than alone:\n%.3000v\n%.3000v", c.n, c.network, a, alone)
		}
	}
}

// Mistakes are told once, with the exit code of the program alone.
func TestRanksMistakes(t *testing.T) {
	dir := t.TempDir()
	bad := write(t, dir, "bad.csv", "a,y\n1,2\n2,3\n3,x\n")
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitUsage, "--target", []string{"fit", bad}},
		{exitData, "bad.csv", []string{"fit", bad, "--target", "y"}},
		{exitData, "no such file", []string{"fit", filepath.Join(dir, "none.csv"), "--target", "y"}},
		{exitUsage, "cannot be written", []string{"fit", bad, "--target", "y", "--out", filepath.Join(dir, "no", "m")}},
		{exitUsage, "costs measured", []string{"fit", bad, "--target", "y", "--costs", "measured"}},
	} {
		_, errw := wantRanks(t, c.code, 2, commtest.SharedMemory, "", c.args...)
		if n := strings.Count(errw, c.says); n != 1 {
			t.Errorf("%v: %q is said %d times:\n%s", c.args, c.says, n, errw)
		}
	}
	out, _ := wantRanks(t, exitOK, 3, commtest.SharedMemory, "", "info")
	if strings.Count(out, "routines") != 1 || !strings.Contains(out, "ranks     3") {
		t.Errorf("info of three ranks:\n%s", out)
	}
}

// children are the processes that pid has started.
func children(t *testing.T, pid int) (list []int) {
	t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // ended just now
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if parent, _ := strconv.Atoi(f[1]); parent == pid {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			list = append(list, child)
		}
	}
	return list
}

// await waits until path holds at least so many bytes, or the process has ended.
func await(t *testing.T, c *exec.Cmd, path string, bytes int64) {
	t.Helper()
	for range 1000 {
		st, err := os.Stat(path)
		if err == nil && (st.Size() >= bytes || len(children(t, c.Process.Pid)) == 0) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("nothing was written in 20 s")
}

// A rank that is killed ends all of them, and any number of ranks goes on from the checkpoint to the same bits. So does
// a fit that mpirun is told to stop: all ranks stop at the same step, and the best model is kept.
func TestRanksKilled(t *testing.T) {
	dir := t.TempDir()
	train, point := sample(t, dir, "train.csv", 900, 3), sample(t, dir, "new.csv", 20, 4)
	model, check := filepath.Join(dir, "m.bbgp"), filepath.Join(dir, "check")
	fit := []string{"fit", train, "--target", "y", "--method", "bbgp", "--out", model, "--quiet"}
	wantRanks(t, exitOK, 0, nil, "", fit...)
	whole, _ := wantRanks(t, exitOK, 0, nil, "", "predict", model, point, "--sd", "--quiet")
	fit = append(fit, "--checkpoint", check, "--resume")
	sizes := []int{2, 3, 4}
	for k := range kills(t, 2) {
		os.Remove(check)
		os.Remove(model)
		c, _, errw := mpirun(t, sizes[k%3], commtest.SharedMemory, fit...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, c, check, int64(500*(k%7)))
		list := children(t, c.Process.Pid)
		if len(list) > 0 {
			syscall.Kill(list[k%len(list)], syscall.SIGKILL)
		}
		c.Wait()
		wantRanks(t, exitOK, sizes[(k+1)%3], commtest.SharedMemory, "", fit...)
		if got, _ := wantRanks(t, exitOK, 0, nil, "", "predict", model, point, "--sd", "--quiet"); got != whole {
			t.Fatalf("kill %d: other predictions; the killed run said %s", k, errw)
		}
	}
	os.Remove(check)
	os.Remove(model)
	c, _, errw := mpirun(t, 2, commtest.SharedMemory, append(fit, "--method", "bbgp")...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, c, check, 3000)
	c.Process.Signal(userSignal)
	c.Wait()
	code := c.ProcessState.ExitCode()
	if code != 0 && (code != 128+int(userSignal) || !strings.Contains(errw.String(), "interrupted")) {
		t.Errorf("stopped by SIGUSR1: exit %d\n%s", code, errw)
	}
	wantRanks(t, exitOK, 1, commtest.SharedMemory, "", fit...)
	if got, _ := wantRanks(t, exitOK, 0, nil, "", "predict", model, point, "--sd", "--quiet"); got != whole {
		t.Error("stopped by SIGUSR1 and resumed: other predictions")
	}
}
