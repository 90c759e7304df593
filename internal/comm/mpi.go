//go:build (mpi && linux) || mpicgo

package comm

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// HasMPI says whether the program was built to run over MPI.
const HasMPI = true

const (
	// mostNumbers are gathered by one call: counts and places are C ints.
	mostNumbers = 1<<31 - 1
	// mostBytes are sent by one call of all others, some libraries multiply by the size of a number.
	mostBytes = 1 << 30
	// patience is how long a rank waits for the others at least. All wait while rank 0 reads and writes.
	patience = 10 * time.Minute
	// StatusLost is the exit status of a rank that has waited in vain.
	StatusLost = 75
)

// MPI wants to be called from the thread that initialised it: the main one, which main's goroutine keeps.
func init() { runtime.LockOSThread() }

// mpi is a rank of MPI_COMM_WORLD. What differs between ways of calling the library stands in the type library.
type mpi struct {
	lib        *library
	rank, size int
	numbers    int // mostNumbers, mostBytes: tests set less
	bytes      int
	buffers    []unsafe.Pointer
	fixed      time.Duration // patience that the user asks for, or 0
	longest    time.Duration // between the ends of two calls so far
	last       time.Time     // when the last call ended
}

// Open joins the ranks that a launcher started: Local without one. lib names the library, or is empty: then
// BBGP_MPI_LIB does, or those that are usual under the launcher are tried.
//
// Signal handlers are those of before, errors of MPI are returned, and a rank that waits for the others for more than
// ten minutes and ten times the longest time between calls, or BBGP_MPI_TIMEOUT seconds, ends with StatusLost: no
// launcher notices a process that is stopped.
func Open(lib string) (Comm, error) {
	n, from := Tasks(os.Getenv)
	if n == 1 {
		return Local(), nil
	}
	m, err := openMPI(lib)
	if err != nil {
		return nil, err
	}
	if m.size == 1 {
		return nil, &Alone{n, from, m.String() + " knows of one only: it is not the launcher's MPI. Start it by the " +
			"mpirun of the same MPI (BBGP_MPI_LIB names another library), or by srun --mpi=pmix or --mpi=pmi2"}
	}
	return m, nil
}

// openMPI initialises MPI, whoever started the program.
func openMPI(name string) (*mpi, error) {
	m := &mpi{numbers: mostNumbers, bytes: mostBytes, last: time.Now()}
	if s := os.Getenv("BBGP_MPI_TIMEOUT"); s != "" {
		seconds, err := strconv.ParseFloat(s, 64)
		if !(seconds > 0) || err != nil {
			return nil, fmt.Errorf("BBGP_MPI_TIMEOUT=%q is no number of seconds above 0", s)
		}
		m.fixed = time.Duration(seconds * float64(time.Second))
	}
	handlers := readHandlers()
	var err error
	m.lib, err = load(name)
	handlers.restore()
	if err != nil {
		return nil, err
	}
	m.rank, m.size = m.lib.rank(), m.lib.size()
	return m, nil
}

func (m *mpi) Rank() int { return m.rank }
func (m *mpi) Size() int { return m.size }

// String names the library.
func (m *mpi) String() string { return m.lib.version() }

// shortVersion is what a library says of itself, up to the first comma or end of a line.
func shortVersion(b []byte) string {
	text, _, _ := strings.Cut(strings.TrimRight(string(b), "\x00\n"), "\n")
	text, _, _ = strings.Cut(text, ",")
	return strings.Join(strings.Fields(text), " ")
}

// Alloc asks MPI for the memory: networks keep the pages of what they send, and Go returns pages to the system in a
// way that they do not notice.
func (m *mpi) Alloc(n int) []float64 {
	if n == 0 {
		return []float64{}
	}
	p := m.lib.alloc(8 * n)
	if p == nil {
		return make([]float64, n)
	}
	m.buffers = append(m.buffers, p)
	x := unsafe.Slice((*float64)(p), n)
	clear(x)
	return x
}

func (m *mpi) Free(x []float64) {
	at := slices.Index(m.buffers, unsafe.Pointer(unsafe.SliceData(x)))
	if len(x) == 0 || at < 0 {
		return
	}
	m.lib.free(m.buffers[at])
	m.buffers = slices.Delete(m.buffers, at, at+1)
}

func (m *mpi) AllGather(x []float64, off []int) error {
	if err := checkOffsets(len(x), off, m.size); err != nil {
		return err
	}
	if len(x) > m.numbers { // each rank sends its part to all
		for r := range m.size {
			if err := m.bcast("AllGather", numberBytes(x[off[r]:off[r+1]]), r); err != nil {
				return err
			}
		}
		return nil
	}
	counts, places := make([]int32, m.size), make([]int32, m.size)
	for r := range m.size {
		counts[r], places[r] = int32(off[r+1]-off[r]), int32(off[r])
	}
	at := unsafe.Pointer(unsafe.SliceData(x))
	return m.call("AllGather", func() int { return m.lib.allgatherv(at, counts, places) })
}

// AllToAll takes rounds where there are more numbers than a C int counts, and copies what each sends in one.
func (m *mpi) AllToAll(send, recv []float64, counts []int) error {
	if err := checkCounts(len(send), len(recv), counts, m.rank, m.size); err != nil {
		return err
	}
	most, largest := 0, 0 // numbers of one rank, numbers between two: all ranks must take as many rounds
	for r := range m.size {
		sent, got := 0, 0
		for q := range m.size {
			sent, got = sent+counts[r*m.size+q], got+counts[q*m.size+r]
			largest = max(largest, counts[r*m.size+q])
		}
		most = max(most, sent, got)
	}
	if most <= m.numbers {
		return m.allToAll(send, recv, counts, 0, largest)
	}
	piece := max(1, m.numbers/m.size)
	for from := 0; from < largest; from += piece {
		if err := m.allToAll(send, recv, counts, from, piece); err != nil {
			return err
		}
	}
	return nil
}

// allToAll sends at most piece numbers from each rank to each, those from number from on.
func (m *mpi) allToAll(send, recv []float64, counts []int, from, piece int) error {
	part := func(n int) int { return min(max(n-from, 0), piece) }
	var out, in alltoallPart
	for r := range m.size {
		out.append(counts[m.rank*m.size+r], part(counts[m.rank*m.size+r]))
		in.append(counts[r*m.size+m.rank], part(counts[r*m.size+m.rank]))
	}
	whole := out.total == len(send) && in.total == len(recv)
	to, got := send, recv
	if !whole {
		to, got = make([]float64, out.total), make([]float64, in.total)
		out.each(from, func(at, start, n int) { copy(to[at:at+n], send[start:]) })
	}
	err := m.call("AllToAll", func() int {
		return m.lib.alltoallv(unsafe.Pointer(unsafe.SliceData(to)), unsafe.Pointer(unsafe.SliceData(got)),
			out.counts, out.places, in.counts, in.places)
	})
	if !whole {
		in.each(from, func(at, start, n int) { copy(recv[start:start+n], got[at:]) })
	}
	return err
}

// An alltoallPart is the counts and places of what a rank sends to, or gets from, each rank in one call.
type alltoallPart struct {
	counts, places []int32
	starts         []int // of all that is for that rank
	total, all     int
}

func (p *alltoallPart) append(all, n int) {
	p.counts, p.places = append(p.counts, int32(n)), append(p.places, int32(p.total))
	p.starts = append(p.starts, p.all)
	p.total, p.all = p.total+n, p.all+all
}

// each calls f for the numbers at place at of the call, start of all.
func (p *alltoallPart) each(from int, f func(at, start, n int)) {
	for r, n := range p.counts {
		if n > 0 {
			f(int(p.places[r]), p.starts[r]+from, int(n))
		}
	}
}

func (m *mpi) AllReduce(x []float64) error {
	for len(x) > 0 {
		part := x[:min(len(x), max(1, m.bytes/8))]
		err := m.call("AllReduce", func() int { return m.lib.allreduce(unsafe.Pointer(&part[0]), len(part)) })
		if err != nil {
			return err
		}
		x = x[len(part):]
	}
	return nil
}

func (m *mpi) Bcast(x []float64) error { return m.bcast("Bcast", numberBytes(x), 0) }

func (m *mpi) BcastBytes(b []byte) error { return m.bcast("Bcast", b, 0) }

func numberBytes(x []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 8*len(x))
}

// bcast copies b from rank root to all, in pieces.
func (m *mpi) bcast(name string, b []byte, root int) error {
	for len(b) > 0 {
		part := b[:min(len(b), m.bytes)]
		err := m.call(name, func() int { return m.lib.bcast(unsafe.Pointer(&part[0]), len(part), root) })
		if err != nil {
			return err
		}
		b = b[len(part):]
	}
	return nil
}

// call makes a call that waits for the other ranks, but not for ever.
func (m *mpi) call(name string, f func() (code int)) error {
	wait := m.fixed
	if wait == 0 {
		wait = max(patience, 10*m.longest)
	}
	dog := time.AfterFunc(wait, func() {
		fmt.Fprintf(os.Stderr,
			"bbgp-mpi: rank %d of %d has waited %v in %s for the other ranks: one of them is stopped "+
				"or lost (BBGP_MPI_TIMEOUT=SECONDS sets how long to wait)\n", m.rank, m.size, wait, name)
		os.Exit(StatusLost)
	})
	code := f()
	dog.Stop()
	now := time.Now()
	m.longest = max(m.longest, now.Sub(m.last))
	m.last = now
	if code != 0 {
		return fmt.Errorf("MPI, rank %d of %d: %s: %s", m.rank, m.size, name, m.lib.errorText(code))
	}
	return nil
}

func (m *mpi) Abort(status int) {
	m.lib.abort(status)
	os.Exit(status) // not reached
}

func (m *mpi) Close() error {
	for _, p := range m.buffers {
		m.lib.free(p)
	}
	m.buffers = nil
	return m.call("Close", m.lib.finalize)
}
