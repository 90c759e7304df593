//go:build !(mpi && linux) && !mpicgo

package comm

import "os"

// HasMPI says whether the program was built to run over MPI.
const HasMPI = false

// Open joins the ranks that a launcher started: the only one here, for this program was built without MPI.
func Open(string) (Comm, error) {
	if n, from := Tasks(os.Getenv); n > 1 {
		return nil, &Alone{n, from, "bbgp runs on one machine: each task would do all of the work and write the same " +
			"files; start bbgp-mpi instead (docs/CLUSTER.md), or a single task with all cores (for independent runs, " +
			"remove " + from + " from the environment of each)"}
	}
	return Local(), nil
}
