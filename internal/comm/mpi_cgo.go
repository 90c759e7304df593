//go:build mpicgo

package comm

// The same by cgo, for machines where the library cannot be loaded at run time: CC=mpicc CGO_ENABLED=1 go build -tags
// mpicgo. It fits the one MPI that it was compiled with, and is what the other way is held against.

/*
#include <mpi.h>

static int initialise(int *got) {
	int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, got);
	return code ? code : MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}
static int rank(void) { int n = 0; MPI_Comm_rank(MPI_COMM_WORLD, &n); return n; }
static int size(void) { int n = 0; MPI_Comm_size(MPI_COMM_WORLD, &n); return n; }
static int version(char *text) { int n = 0; MPI_Get_library_version(text, &n); return n; }
static int error_text(int code, char *text) { int n = 0; MPI_Error_string(code, text, &n); return n; }
static void *alloc(MPI_Aint bytes) { void *p = NULL; return MPI_Alloc_mem(bytes, MPI_INFO_NULL, &p) ? NULL : p; }
static int allgatherv(void *x, int *counts, int *places) {
	return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
}
static int alltoallv(void *send, int *counts, int *places, void *recv, int *recv_counts, int *recv_places) {
	return MPI_Alltoallv(send, counts, places, MPI_DOUBLE, recv, recv_counts, recv_places, MPI_DOUBLE, MPI_COMM_WORLD);
}
static int allreduce(void *x, int n) {
	return MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static int bcast(void *b, int n, int root) { return MPI_Bcast(b, n, MPI_BYTE, root, MPI_COMM_WORLD); }
static int abort_all(int status) { return MPI_Abort(MPI_COMM_WORLD, status); }
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// library is MPI as it was linked.
type library struct{}

// load initialises MPI; the library is chosen when the program is compiled.
func load(name string) (*library, error) {
	if name != "" {
		return nil, fmt.Errorf("this program was compiled with its MPI library and cannot load %s", name)
	}
	var got C.int
	if code := C.initialise(&got); code != 0 {
		return nil, fmt.Errorf("MPI could not be initialised: error %d", code)
	}
	return &library{}, nil
}

func (*library) rank() int { return int(C.rank()) }
func (*library) size() int { return int(C.size()) }

func (*library) version() string {
	var text [C.MPI_MAX_LIBRARY_VERSION_STRING]byte
	n := C.version((*C.char)(unsafe.Pointer(&text)))
	return shortVersion(text[:n]) + " (linked)"
}

func (*library) errorText(code int) string {
	var text [C.MPI_MAX_ERROR_STRING]byte
	n := C.error_text(C.int(code), (*C.char)(unsafe.Pointer(&text)))
	return string(text[:n])
}

func (*library) alloc(bytes int) unsafe.Pointer { return C.alloc(C.MPI_Aint(bytes)) }
func (*library) free(p unsafe.Pointer)          { C.MPI_Free_mem(p) }

func (*library) allgatherv(x unsafe.Pointer, counts, places []int32) int {
	return int(C.allgatherv(x, (*C.int)(&counts[0]), (*C.int)(&places[0])))
}

func (*library) alltoallv(send, recv unsafe.Pointer, counts, places, recvCounts, recvPlaces []int32) int {
	return int(C.alltoallv(send, (*C.int)(&counts[0]), (*C.int)(&places[0]),
		recv, (*C.int)(&recvCounts[0]), (*C.int)(&recvPlaces[0])))
}

func (*library) allreduce(x unsafe.Pointer, n int) int { return int(C.allreduce(x, C.int(n))) }

func (*library) bcast(b unsafe.Pointer, n, root int) int {
	return int(C.bcast(b, C.int(n), C.int(root)))
}

func (*library) abort(status int) { C.abort_all(C.int(status)) }

func (*library) finalize() int { return int(C.MPI_Finalize()) }
