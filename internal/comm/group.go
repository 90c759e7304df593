package comm

import (
	"fmt"
	"slices"
	"sync"
)

// A group is what the members of a Group share.
type group struct {
	mu      sync.Mutex
	changed *sync.Cond
	calls   []call // of each member, while it waits
	waiting int
	round   int   // collective calls completed
	err     error // why no call will complete any more
}

// A call is one member's part of a collective call.
type call struct {
	name  string
	x     []float64
	b     []byte
	from  []float64
	to    []float64
	off   []int // or counts
	local error // what is wrong with it
}

// member is one rank of a group.
type member struct {
	g    *group
	rank int
}

// Group returns n ranks in one process, each for a goroutine of its own: for tests, also under the race detector.
// Where one closes or aborts while others wait for it, or ranks make different calls, all get errors.
func Group(n int) []Comm {
	g := &group{calls: make([]call, n)}
	g.changed = sync.NewCond(&g.mu)
	members := make([]Comm, n)
	for r := range members {
		members[r] = &member{g: g, rank: r}
	}
	return members
}

func (m *member) Rank() int             { return m.rank }
func (m *member) Size() int             { return len(m.g.calls) }
func (m *member) Alloc(n int) []float64 { return make([]float64, n) }
func (m *member) Free(x []float64)      {}

func (m *member) AllGather(x []float64, off []int) error {
	return m.g.together(m.rank, call{name: "AllGather", x: x, off: off, local: checkOffsets(len(x), off, m.Size())})
}

func (m *member) AllToAll(send, recv []float64, counts []int) error {
	err := checkCounts(len(send), len(recv), counts, m.rank, m.Size())
	return m.g.together(m.rank, call{name: "AllToAll", to: recv, from: send, off: counts, local: err})
}

func (m *member) AllReduce(x []float64) error {
	return m.g.together(m.rank, call{name: "AllReduce", x: x})
}

func (m *member) Bcast(x []float64) error {
	return m.g.together(m.rank, call{name: "Bcast", x: x})
}

func (m *member) BcastBytes(b []byte) error {
	return m.g.together(m.rank, call{name: "BcastBytes", b: b})
}

func (m *member) Abort(status int) {
	m.g.end(fmt.Errorf("comm: rank %d has aborted with status %d", m.rank, status))
}

// Close is no collective call here, so that a member that leaves early is noticed.
func (m *member) Close() error {
	m.g.end(fmt.Errorf("comm: rank %d has closed", m.rank))
	return nil
}

// end lets calls that wait and all later ones fail.
func (g *group) end(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
	g.changed.Broadcast()
}

// together waits until every member has called; the last one moves the numbers.
func (g *group) together(rank int, c call) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return g.err
	}
	g.calls[rank] = c
	if g.waiting++; g.waiting < len(g.calls) {
		for round := g.round; g.round == round && g.err == nil; {
			g.changed.Wait()
			if g.round != round {
				return nil // an end that came behind it is the next call's affair
			}
		}
		return g.err
	}
	if g.err = g.agree(); g.err == nil {
		g.move()
		g.waiting = 0
		g.round++
	}
	g.changed.Broadcast()
	return g.err
}

// agree says in what the members' calls differ.
func (g *group) agree() error {
	a := g.calls[0]
	for r, c := range g.calls {
		switch {
		case c.local != nil:
			return c.local
		case c.name != a.name || len(c.x) != len(a.x) || len(c.b) != len(a.b) || !slices.Equal(c.off, a.off):
			return fmt.Errorf("comm: rank %d calls %s of %d numbers, rank 0 %s of %d",
				r, c.name, len(c.x)+len(c.b), a.name, len(a.x)+len(a.b))
		}
	}
	return nil
}

// move does what the calls ask for, for all members.
func (g *group) move() {
	a := g.calls[0]
	switch a.name {
	case "AllGather":
		for r, c := range g.calls {
			for _, to := range g.calls {
				copy(to.x[a.off[r]:a.off[r+1]], c.x[a.off[r]:])
			}
		}
	case "AllToAll":
		g.exchange()
	case "AllReduce":
		for _, c := range g.calls[1:] {
			for i, v := range c.x {
				a.x[i] += v
			}
		}
		fallthrough
	case "Bcast":
		for _, c := range g.calls[1:] {
			copy(c.x, a.x)
		}
	case "BcastBytes":
		for _, c := range g.calls[1:] {
			copy(c.b, a.b)
		}
	}
}

// exchange moves the numbers of an AllToAll.
func (g *group) exchange() {
	size, counts := len(g.calls), g.calls[0].off
	at := make([]int, size) // in what each gets
	for r, c := range g.calls {
		from := 0
		for q := range size {
			n := counts[r*size+q]
			copy(g.calls[q].to[at[q]:at[q]+n], c.from[from:from+n])
			from += n
			at[q] += n
		}
	}
}
