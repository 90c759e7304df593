package comm_test

import (
	"strings"
	"testing"

	"bbgp.dev/internal/comm"
)

// Each launcher's variable is understood; one task, none, and what is no count are let through.
func TestTasks(t *testing.T) {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "PALS_NRANKS"} {
		for value, want := range map[string]int{"": 1, "1": 1, "x": 1, "2": 2, "64": 64} {
			n, from := comm.Tasks(func(v string) string {
				switch v {
				case name:
					return value
				case "FLUX_JOB_SIZE": // the job around
					return "1"
				}
				return ""
			})
			if n != want || (from == name) != (want > 1) {
				t.Errorf("%s=%q: %d tasks by %q", name, value, n, from)
			}
		}
	}
}

// The program without MPI refuses to be one of several tasks.
func TestOpenPlain(t *testing.T) {
	if comm.HasMPI {
		t.Skip("this program has MPI: TestWrongLauncher")
	}
	if c, err := comm.Open(""); err != nil || c.Size() != 1 {
		t.Errorf("without a launcher: %v, %v", c, err)
	}
	t.Setenv("PMI_SIZE", "3")
	_, err := comm.Open("")
	if err == nil || !strings.Contains(err.Error(), "one of 3 tasks (PMI_SIZE=3)") {
		t.Errorf("as one of three tasks: %v", err)
	}
}
