package main

import (
	"fmt"
	"strconv"
)

// Variables in which launchers of parallel programs announce how many copies of the program they started:
// Open MPI, MPICH and its relatives, Slurm's srun, PALS.
var taskCounts = []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "PALS_NRANKS"}

// checkLauncher refuses to be one of several tasks. This program knows nothing of the other copies: each would
// do all of the work, and all would write the same files.
func checkLauncher(getenv func(string) string) error {
	for _, name := range taskCounts {
		if n, err := strconv.Atoi(getenv(name)); err == nil && n > 1 {
			return usagef("started as one of %d tasks (%s=%s), but bbgp runs on one machine: each task would do "+
				"all of the work and write the same files; start a single task, with all cores "+
				"(for independent runs, remove %s from the environment of each)", n, name, getenv(name), name)
		}
	}
	return nil
}

// refuseTasks ends a run under such a launcher, with one line, before anything is read or written.
func (a *app) refuseTasks(getenv func(string) string) (code int, refused bool) {
	err := checkLauncher(getenv)
	if err == nil {
		return exitOK, false
	}
	a.last(fmt.Sprint(err))
	return exitUsage, true
}
