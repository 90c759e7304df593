//go:build (mpi && linux) || mpicgo

package comm

// OpenMPI joins the ranks whoever started them, and sends in pieces that small numbers fill, if small.
func OpenMPI(small bool) (Comm, error) {
	m, err := openMPI("")
	if err == nil && small {
		m.numbers, m.bytes = 1000, 4000
	}
	return m, err
}

// HandlersSince returns a function that says how many signal handlers have changed; it puts them back.
func HandlersSince() func() int { return readHandlers().restore }
