//go:build mpi || mpicgo

package comm

import (
	"bytes"
	"syscall"
	"unsafe"
)

// Some transports (UCX, on every InfiniBand) put their own handlers in the place of Go's when MPI starts: a nil
// dereference then kills the process instead of panicking, and a handler may run on the small stack of a goroutine. So
// the handlers are read before and written back after, as the kernel has them.

const signals = 64

// An action is the kernel's struct sigaction, 32 bytes on the architectures that Go has, with room to spare.
type action [64]byte

// handlers are the actions of all signals.
type handlers [signals + 1]action

func readHandlers() *handlers {
	h := &handlers{}
	for s := 1; s <= signals; s++ {
		sigaction(s, nil, &h[s])
	}
	return h
}

// restore writes back those that have changed since, and returns how many these are.
func (h *handlers) restore() (changed int) {
	for s := 1; s <= signals; s++ {
		var now action
		if sigaction(s, nil, &now) && !bytes.Equal(now[:], h[s][:]) && sigaction(s, &h[s], nil) {
			changed++
		}
	}
	return changed
}

// sigaction is the system call, which knows signals that C libraries hide. SIGKILL and SIGSTOP cannot be set.
func sigaction(signal int, set, get *action) bool {
	const maskBytes = 8
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(set)),
		uintptr(unsafe.Pointer(get)), maskBytes, 0, 0)
	return errno == 0
}
