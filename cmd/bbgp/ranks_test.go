//go:build mpi && linux

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/comm/commtest"
)

// mpirun is the program as n ranks.
func mpirun(t *testing.T, n int, network []string, args ...string) (c *exec.Cmd, out, errw *bytes.Buffer) {
	t.Helper()
	c = commtest.Mpirun(t, n, network, args...)
	c.Env = append(c.Env, "BBGP_TEST_PLAYS=keeper")
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

// A rankAnswer is what the commands that ranks share print and write.
type rankAnswer struct{ report, held, predicted, drawn, lml, cv, page string }

// answersOf runs on n ranks fit, predict and, where so much is asked for, the other commands.
func answersOf(t *testing.T, dir string, n int, network []string, all bool) (a rankAnswer) {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	table, points, model, out, alone := at("train.csv"), at("new.csv"), at("m.bbgp"), at("out"), at("alone.bbgp")
	if n == 0 {
		model = alone
	}
	run := func(in string, args ...string) string {
		printed, _ := wantRanks(t, exitOK, n, network, in, args...)
		return printed
	}
	a.report = timeless(t, run("", "fit", table, "--config", at("c.txt"), "--method", "bbgp", "--out", model,
		"--holdout", "10%", "--holdout-out", out, "--json", "--quiet"))
	a.held = contents(t, out)
	a.predicted = run(contents(t, points), "predict", model, "-", "--bounds", "--quiet")
	if !all {
		return a
	}
	a.drawn = run("", "sample", model, points, "--draws", "2", "--quiet")
	a.lml = timeless(t, run("", "lml", table, "--target", "y", "--method", "bbgp", "--params",
		write(t, dir, "p.json", a.report), "--json"))
	a.cv = timeless(t, run("", "cv", table, "--target", "y", "--method", "bbgp", "--folds", "2", "--max-steps", "1",
		"--out", out, "--json", "--quiet"))
	a.cv += contents(t, out)
	run("", "report", alone, "--data", points, "--effects", "1", "--out", out) // it draws how long the training took
	a.page = contents(t, out)
	return a
}

// firstDifference tells the first lines of two texts that differ.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is %.200q, alone %.200q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, alone %d", len(a), len(b))
}

// Any number of ranks, over any network, writes the files and prints the report of the program alone, once.
func TestRanksSame(t *testing.T) {
	dir := t.TempDir()
	sample(t, dir, "train.csv", 400, 3)
	sample(t, dir, "new.csv", 60, 4)
	write(t, dir, "c.txt", "target = y\nmax-steps = 3\n")
	alone := answersOf(t, dir, 0, nil, true)
	for _, c := range []struct {
		n       int
		network []string
		all     bool
	}{
		{1, commtest.SharedMemory, false}, {2, commtest.SharedMemory, true}, {4, commtest.SharedMemory, false},
		{2, commtest.Loopback, true},
	} {
		got, want := answersOf(t, dir, c.n, c.network, c.all), alone
		if !c.all {
			want = rankAnswer{report: alone.report, held: alone.held, predicted: alone.predicted}
		}
		if got != want {
			a, b := reflect.ValueOf(got), reflect.ValueOf(want)
			for i := range a.NumField() {
				if a.Field(i).String() != b.Field(i).String() {
					t.Errorf("%d ranks over %v, %s: %s", c.n, c.network, a.Type().Field(i).Name,
						firstDifference(a.Field(i).String(), b.Field(i).String()))
				}
			}
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
	for range 6000 {
		if sizeOf(path) >= bytes || len(children(t, c.Process.Pid)) == 0 && sizeOf(path) > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nothing was written in a minute")
}

// entries counts the evaluations in a checkpoint.
func entries(path string) (count int) {
	b, _ := os.ReadFile(path)
	for at := int(checkpoint.JournalStart); at+checkpoint.RecordHead <= len(b); count++ {
		size, sum := int(binary.LittleEndian.Uint32(b[at:])), binary.LittleEndian.Uint32(b[at+4:])
		at += checkpoint.RecordHead
		if at+size > len(b) || crc32.Checksum(b[at:at+size], checkpoint.Castagnoli) != sum {
			return count
		}
		if bytes.HasPrefix(b[at:], []byte("part")) {
			return count
		}
		at += size
	}
	return count
}

// rankFit is a short fit, and what its model predicts.
func rankFit(t *testing.T, dir string) (args []string, predict func() string) {
	t.Helper()
	train, point := sample(t, dir, "train.csv", 400, 3), sample(t, dir, "new.csv", 20, 4)
	model := filepath.Join(dir, "m.bbgp")
	args = []string{"fit", train, "--target", "y", "--method", "bbgp", "--max-steps", "2", "--neighbours", "4",
		"--rank", "0", "--out", model, "--quiet"}
	return args, func() string {
		t.Helper()
		return want(t, exitOK, "predict", model, point, "--sd", "--quiet").out
	}
}

// A rank that is killed ends all of them, and another number of ranks goes on from the checkpoint, in which nothing is
// lost, until it is killed; the end has the bits of an undisturbed fit.
func TestRanksKilled(t *testing.T) {
	dir := t.TempDir()
	fit, predict := rankFit(t, dir)
	check := filepath.Join(dir, "check")
	began := time.Now()
	wantRanks(t, exitOK, 2, commtest.SharedMemory, "", append(fit, "--checkpoint", check)...)
	took := time.Since(began)
	whole := predict()
	fit = append(fit, "--checkpoint", check, "--resume")
	rng := rand.New(rand.NewPCG(5, 1))
	killed, runs, kept := 0, 0, 0
	for most := kills(t, 20); killed < most; runs++ {
		if kept == 0 {
			os.Remove(check)
		}
		network := commtest.SharedMemory
		if runs%4 == 3 {
			network = commtest.Loopback
		}
		c, _, errw := mpirun(t, 2+runs%3, network, fit...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(took/4 + time.Duration(rng.Float64()*float64(took)/2))
		if list := children(t, c.Process.Pid); len(list) > 0 {
			syscall.Kill(list[rng.IntN(len(list))], syscall.SIGKILL)
		}
		if c.Wait() == nil { // the fit was faster
			if got := predict(); got != whole {
				t.Fatalf("after %d kills: other predictions: %s", killed, errw)
			}
			kept = 0
			continue
		}
		killed++
		if now := entries(check); now < kept {
			t.Fatalf("after %d kills: of %d evaluations %d are left", killed, kept, now)
		} else {
			kept = now
		}
	}
	t.Logf("%d runs, %d of them killed", runs, killed)
	wantRanks(t, exitOK, 3, commtest.Loopback, "", fit...)
	if got := predict(); got != whole {
		t.Fatalf("after %d kills: other predictions", killed)
	}
}

// A fit ends at the same step on all ranks where mpirun is told to stop, or one of them, and the best model is kept.
func TestRanksStopped(t *testing.T) {
	dir := t.TempDir()
	fit, predict := rankFit(t, dir)
	wantRanks(t, exitOK, 0, nil, "", fit...)
	whole, check := predict(), filepath.Join(dir, "check")
	fit = append(fit, "--checkpoint", check, "--resume")
	for _, sig := range []syscall.Signal{userSignal, syscall.SIGTERM} {
		os.Remove(check)
		c, _, errw := mpirun(t, 2, commtest.Loopback, fit...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, c, check, 3000)
		if ranks := children(t, c.Process.Pid); sig == syscall.SIGTERM && len(ranks) > 0 {
			syscall.Kill(ranks[len(ranks)-1], sig)
		} else {
			c.Process.Signal(sig)
		}
		c.Wait()
		code := c.ProcessState.ExitCode()
		if code != 0 && (code != 128+int(sig) || !strings.Contains(errw.String(), "interrupted")) {
			t.Errorf("stopped by %v: exit %d\n%s", sig, code, errw)
		}
		wantRanks(t, exitOK, 1, commtest.SharedMemory, "", fit...)
		if got := predict(); got != whole {
			t.Errorf("stopped by %v and resumed: other predictions", sig)
		}
	}
}
