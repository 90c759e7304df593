package main

import (
	"strings"
	"testing"

	"bbgp.dev/internal/comm"
)

// One of several tasks that do not know of each other ends before it reads or writes anything.
func TestLauncher(t *testing.T) {
	if comm.HasMPI {
		t.Skip("bbgp-mpi under mpirun is another test")
	}
	t.Setenv("OMPI_COMM_WORLD_SIZE", "4")
	c, errw := play(t, "bbgp", "fit", "no-such-table.csv", "--target", "y")
	c.Wait()
	if c.ProcessState.ExitCode() != exitUsage || strings.Count(errw.String(), "\n") != 1 ||
		!strings.Contains(errw.String(), "OMPI_COMM_WORLD_SIZE=4") {
		t.Errorf("exit %d: %s", c.ProcessState.ExitCode(), errw)
	}
}
