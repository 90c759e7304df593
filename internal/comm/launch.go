package comm

import (
	"fmt"
	"strconv"
)

// Variables in which launchers of parallel programs announce how many copies of the program they started: Open MPI,
// MPICH and its relatives, MVAPICH, Slurm's srun, PALS, Flux.
var taskCounts = []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS",
	"PALS_NRANKS", "FLUX_JOB_SIZE"}

// Tasks returns how many copies of this program a launcher says it has started, and the variable in which it does: the
// largest of them, for a launcher within the job of another has its own. Without a launcher they are 1 and "".
func Tasks(getenv func(string) string) (n int, from string) {
	n = 1
	for _, name := range taskCounts {
		if k, err := strconv.Atoi(getenv(name)); err == nil && k > n {
			n, from = k, name
		}
	}
	return n, from
}

// An Alone error says that several copies of the program were started that do not know of each other: each would do all
// of the work, and all would write the same files.
type Alone struct {
	Tasks int
	From  string // variable of the launcher
	Why   string // what does not fit
}

func (e *Alone) Error() string {
	return fmt.Sprintf("started as one of %d tasks (%s=%d), but %s", e.Tasks, e.From, e.Tasks, e.Why)
}
