//go:build mpi && linux && !mpicgo

package comm

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// The library of the machine is loaded when the program runs, so that one program fits all of them and needs no C
// compiler. Its functions take integers and pointers only; names of constants have values that depend on the family.

// An abi has the values of MPI's constants. Handles of Open MPI are addresses of variables, found by name.
type abi struct {
	world, double, byteType, sum, errorsReturn, infoNull, typeNull uintptr
	inPlace                                                        uintptr
	serialized                                                     uintptr // a level of threads
}

var (
	mpich = abi{world: 0x44000000, double: 0x4c00080b, byteType: 0x4c00010d, sum: 0x58000003, errorsReturn: 0x54000001,
		infoNull: 0x1c000000, typeNull: 0x0c000000, inPlace: ^uintptr(0), serialized: 2}
	standard = abi{world: 0x101, double: 0x214, byteType: 0x247, sum: 0x21, errorsReturn: 0x143,
		infoNull: 0x130, typeNull: 0x200, inPlace: 1, serialized: 2048}
)

// library is MPI as it was loaded.
type library struct {
	name   string // of the file
	abi    abi
	handle uintptr
	funcs  map[string]uintptr
}

var needed = []string{"MPI_Init_thread", "MPI_Comm_set_errhandler", "MPI_Comm_rank", "MPI_Comm_size",
	"MPI_Get_library_version", "MPI_Error_string", "MPI_Alloc_mem", "MPI_Free_mem", "MPI_Allgatherv", "MPI_Alltoallv",
	"MPI_Allreduce", "MPI_Bcast", "MPI_Abort", "MPI_Finalize"}

// candidates are the names of libraries to try, by the variables of the launcher.
func candidates(getenv func(string) string) []string {
	openMPI := []string{"libmpi.so.40"}
	family := []string{"libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"} // the last is Debian's name
	switch {
	case getenv("OMPI_COMM_WORLD_SIZE") != "":
		return openMPI
	case getenv("PMI_FD") != "" || getenv("PMI_PORT") != "":
		return family
	}
	return append(openMPI, family...)
}

// load opens the library and initialises MPI.
func load(name string) (*library, error) {
	names := candidates(os.Getenv)
	if name = cmp.Or(name, os.Getenv("BBGP_MPI_LIB")); name != "" {
		names = []string{name}
	}
	var failures []error
	for _, name := range names {
		// The plug-ins of Open MPI find its symbols among the global ones only.
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			l := &library{name: name, handle: handle, funcs: map[string]uintptr{}}
			return l, l.init()
		}
		failures = append(failures, err)
	}
	return nil, fmt.Errorf("no MPI library could be loaded (BBGP_MPI_LIB names one): %w", errors.Join(failures...))
}

func (l *library) init() error {
	for _, f := range needed {
		p, err := purego.Dlsym(l.handle, f)
		if err != nil {
			return fmt.Errorf("%s is no MPI library: %w", l.name, err)
		}
		l.funcs[f] = p
	}
	if err := l.chooseABI(); err != nil {
		return err
	}
	// Level funneled, one less, does as well: only the main thread calls.
	var got int32
	code := l.call("MPI_Init_thread", 0, 0, l.abi.serialized, uintptr(unsafe.Pointer(&got)))
	if code == 0 {
		code = l.call("MPI_Comm_set_errhandler", l.abi.world, l.abi.errorsReturn)
	}
	if code != 0 {
		return fmt.Errorf("%s could not be initialised: error %d", l.name, code)
	}
	return nil
}

// chooseABI finds the values of the constants. A library of the standard ABI is known by its name alone: those of
// MPICH have the standard's functions, too.
func (l *library) chooseABI() error {
	if _, err := purego.Dlsym(l.handle, "ompi_mpi_comm_world"); err != nil {
		l.abi = mpich
		if strings.Contains(l.name, "mpi_abi") {
			l.abi = standard
		}
		return nil
	}
	l.abi = abi{inPlace: 1, serialized: 2}
	for name, to := range map[string]*uintptr{
		"ompi_mpi_comm_world": &l.abi.world, "ompi_mpi_double": &l.abi.double, "ompi_mpi_byte": &l.abi.byteType,
		"ompi_mpi_op_sum": &l.abi.sum, "ompi_mpi_errors_return": &l.abi.errorsReturn,
		"ompi_mpi_info_null": &l.abi.infoNull, "ompi_mpi_datatype_null": &l.abi.typeNull,
	} {
		p, err := purego.Dlsym(l.handle, name)
		if err != nil {
			return fmt.Errorf("%s is an Open MPI of an unknown kind: %w", l.name, err)
		}
		*to = p
	}
	return nil
}

// call returns the code that an MPI function returns, an int. Pointers among the arguments stay where they are.
//
//go:uintptrescapes
func (l *library) call(name string, args ...uintptr) int {
	r, _, _ := purego.SyscallN(l.funcs[name], args...)
	return int(int32(r))
}

func (l *library) rank() int { return l.number("MPI_Comm_rank") }
func (l *library) size() int { return l.number("MPI_Comm_size") }

func (l *library) number(name string) int {
	var n int32
	l.call(name, l.abi.world, uintptr(unsafe.Pointer(&n)))
	return int(n)
}

// version is the name of the library and its file.
func (l *library) version() string {
	var text [8192]byte // MPI_MAX_LIBRARY_VERSION_STRING of MPICH, the longest
	var n int32
	l.call("MPI_Get_library_version", uintptr(unsafe.Pointer(&text)), uintptr(unsafe.Pointer(&n)))
	return shortVersion(text[:n]) + " (" + l.name + ")"
}

func (l *library) errorText(code int) string {
	var text [1024]byte
	var n int32
	l.call("MPI_Error_string", uintptr(code), uintptr(unsafe.Pointer(&text)), uintptr(unsafe.Pointer(&n)))
	return string(text[:n])
}

// alloc returns nil where MPI has no memory.
func (l *library) alloc(bytes int) unsafe.Pointer {
	var p unsafe.Pointer
	if l.call("MPI_Alloc_mem", uintptr(bytes), l.abi.infoNull, uintptr(unsafe.Pointer(&p))) != 0 {
		return nil
	}
	return p
}

func (l *library) free(p unsafe.Pointer) { l.call("MPI_Free_mem", uintptr(p)) }

func (l *library) allgatherv(x unsafe.Pointer, counts, places []int32) int {
	code := l.call("MPI_Allgatherv", l.abi.inPlace, 0, l.abi.typeNull, uintptr(x),
		uintptr(unsafe.Pointer(&counts[0])), uintptr(unsafe.Pointer(&places[0])), l.abi.double, l.abi.world)
	runtime.KeepAlive(x)
	return code
}

func (l *library) alltoallv(send, recv unsafe.Pointer, counts, places, recvCounts, recvPlaces []int32) int {
	code := l.call("MPI_Alltoallv",
		uintptr(send), uintptr(unsafe.Pointer(&counts[0])), uintptr(unsafe.Pointer(&places[0])), l.abi.double,
		uintptr(recv), uintptr(unsafe.Pointer(&recvCounts[0])), uintptr(unsafe.Pointer(&recvPlaces[0])), l.abi.double,
		l.abi.world)
	runtime.KeepAlive(send)
	runtime.KeepAlive(recv)
	return code
}

func (l *library) allreduce(x unsafe.Pointer, n int) int {
	code := l.call("MPI_Allreduce", l.abi.inPlace, uintptr(x), uintptr(n), l.abi.double, l.abi.sum, l.abi.world)
	runtime.KeepAlive(x)
	return code
}

func (l *library) bcast(b unsafe.Pointer, n, root int) int {
	code := l.call("MPI_Bcast", uintptr(b), uintptr(n), l.abi.byteType, uintptr(root), l.abi.world)
	runtime.KeepAlive(b)
	return code
}

func (l *library) abort(status int) { l.call("MPI_Abort", l.abi.world, uintptr(status)) }

func (l *library) finalize() int { return l.call("MPI_Finalize") }
