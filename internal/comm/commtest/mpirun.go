package commtest

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// Networks over which ranks on one machine can talk.
var (
	SharedMemory = []string{"--mca", "btl", "self,vader"}
	Loopback     = []string{"--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"}
)

// Mpirun returns the command that starts this test binary as n ranks under Open MPI's launcher, on this machine alone.
// Without mpirun the test is skipped, or fails where BBGP_REQUIRE_MPI=1 asks for it.
func Mpirun(t *testing.T, n int, network []string, args ...string) *exec.Cmd {
	t.Helper()
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		if os.Getenv("BBGP_REQUIRE_MPI") == "1" {
			t.Fatalf("BBGP_REQUIRE_MPI is set: %v", err)
		}
		t.Skipf("ranks over MPI are not tested: %v", err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(mpirun, append(append(append([]string{"-np", strconv.Itoa(n)}, network...), exe), args...)...)
	c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_hwloc_base_binding_policy=none",
		"OMPI_MCA_oob_tcp_if_include=lo", "OMPI_MCA_plm=isolated", "OMPI_MCA_mpi_yield_when_idle=1", "GOMAXPROCS=1")
	return c
}
