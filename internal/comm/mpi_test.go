//go:build (mpi && linux) || mpicgo

package comm_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
)

// ranks are what this test binary does as one rank under mpirun, by the name in BBGP_RANK_PLAYS.
var ranks = map[string]func(c comm.Comm) error{
	"check": func(c comm.Comm) error {
		if err := commtest.Check(c); err != nil {
			return err
		}
		debug.FreeOSMemory()
		return errors.Join(commtest.Check(c), nilPanics())
	},
	"abort": func(c comm.Comm) error {
		if c.Rank() == c.Size()-1 {
			c.Abort(70)
		}
		return c.Bcast(make([]float64, 10))
	},
	"fail": func(c comm.Comm) error { // one rank has found an error, the others wait
		if c.Rank() == c.Size()-1 {
			return errors.New("a table that cannot be read")
		}
		return c.AllReduce(make([]float64, 10))
	},
	"stop": func(c comm.Comm) error {
		if c.Rank() == c.Size()-1 {
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		}
		return c.AllReduce(make([]float64, 10))
	},
	"kill": func(c comm.Comm) error {
		if c.Rank() == c.Size()-1 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return c.AllReduce(make([]float64, 10))
	},
}

func TestMain(m *testing.M) {
	play, ok := ranks[strings.TrimSuffix(os.Getenv("BBGP_RANK_PLAYS"), "-small")]
	if !ok {
		os.Exit(m.Run())
	}
	changed := comm.HandlersSince()
	c, err := comm.OpenMPI(strings.HasSuffix(os.Getenv("BBGP_RANK_PLAYS"), "-small"))
	if err != nil {
		fmt.Println(err)
		os.Exit(71)
	}
	if n := changed(); n != 0 {
		err = fmt.Errorf("%d signal handlers have changed", n)
	}
	if err = errors.Join(err, play(c)); err != nil {
		fmt.Println("rank", c.Rank(), "of", c.Size(), "failed:", err)
		c.Abort(72)
	}
	if err := c.Close(); err != nil {
		fmt.Println(err)
		os.Exit(73)
	}
	fmt.Println("rank", c.Rank(), "of", c.Size(), "passed over", c)
	os.Exit(0)
}

// nilPanics checks that a nil dereference still panics and does not kill.
func nilPanics() (err error) {
	defer func() {
		if recover() == nil {
			err = errors.New("a nil dereference did not panic")
		}
	}()
	var p *[8]int
	p[3]++
	return nil
}

// play runs n ranks and returns what they print and their exit status.
func play(t *testing.T, n int, network []string, what string, env ...string) (string, int) {
	t.Helper()
	c := commtest.Mpirun(t, n, network)
	c.Env = append(append(c.Env, "BBGP_RANK_PLAYS="+what), env...)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

func TestMPI(t *testing.T) {
	for _, c := range []struct {
		n       int
		network []string
		what    string
	}{
		{1, commtest.SharedMemory, "check"},
		{2, commtest.SharedMemory, "check"},
		{4, commtest.SharedMemory, "check-small"},
		{2, commtest.Loopback, "check-small"},
		{4, commtest.Loopback, "check"},
	} {
		out, status := play(t, c.n, c.network, c.what)
		if status != 0 || strings.Count(out, fmt.Sprintf("of %d passed", c.n)) != c.n {
			t.Errorf("%d ranks, %s over %v: status %d\n%s", c.n, c.what, c.network, status, out)
		}
	}
}

// However a rank ends, none of the others waits for it for ever.
func TestMPIFailures(t *testing.T) {
	for what, want := range map[string]int{"abort": 70, "fail": 72, "kill": 137, "stop": comm.StatusLost} {
		out, status := play(t, 2, commtest.SharedMemory, what, "BBGP_MPI_TIMEOUT=1")
		if status != want {
			t.Errorf("%s: status %d, want %d\n%s", what, status, want, out)
		}
		if what == "stop" && !strings.Contains(out, "rank 0 of 2 has waited 1s in AllReduce") {
			t.Errorf("the watchdog says:\n%s", out)
		}
	}
}

// Where the launcher is of another MPI than the library, each rank believes to be alone.
func TestWrongLauncher(t *testing.T) {
	commtest.Mpirun(t, 1, nil) // there must be an MPI
	if os.Getenv("BBGP_RANK_PLAYS") == "open" {
		_, err := comm.Open("")
		fmt.Println(err)
		return
	}
	c := exec.Command(os.Args[0], "-test.run=TestWrongLauncher", "-test.v")
	c.Env = append(os.Environ(), "BBGP_RANK_PLAYS=open", "SLURM_STEP_NUM_TASKS=4")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "started as one of 4 tasks (SLURM_STEP_NUM_TASKS=4)") {
		t.Errorf("%v\n%s", err, out)
	}
}
