package kernelmv

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// A schedule runs over all unordered pairs of superblocks in the order of a
// round-robin tournament (circle method), each block with itself included.
// A pair adds to what its two blocks own, so it must wait until both have done
// all their earlier pairs: then every block receives its terms in tournament
// order, whichever threads there are. Nothing waits for the end of a round.
//
// Over several ranks, each runs the pairs that have a block of its own, in the same order: so that block receives the
// same terms. What a pair adds to a block of another rank is nothing: it is not waited for.
type schedule struct {
	n, padded    int     // points, and with padding
	block, count int     // rows of a superblock (the last may have fewer), number of them
	from, to     int     // the blocks of this rank
	tasks        []int32 // its pairs; nil: all

	ctx    context.Context
	par    *linalg.Par
	pair   func(worker, a, b int)
	worker func(worker, i int) // the loop body for linalg.Par, made once
	next   atomic.Int64
	done   []atomic.Int32 // pairs that each block has finished
	abort  atomic.Bool

	asleep atomic.Int32 // workers in wake.Wait
	mu     sync.Mutex
	wake   *sync.Cond
}

func newSchedule(n int, e *linalg.Engine) *schedule {
	s := &schedule{n: n, padded: padTo(n, asm.Pad), block: linalg.BlockRows(n)}
	s.count = (s.padded + s.block - 1) / s.block
	s.done = make([]atomic.Int32, s.count)
	s.wake = sync.NewCond(&s.mu)
	s.worker = func(worker, _ int) { s.work(worker) }
	s.to = s.count
	if e.Ranks() > 1 {
		groups, per := s.groups()
		s.from, s.to = e.Share(groups)
		s.from, s.to = s.from*per, min(s.to*per, s.count)
		s.ownTasks()
	}
	return s
}

// groups returns the number of groups of superblocks of which a rank has a share, and of blocks in one.
func (s *schedule) groups() (count, blocks int) {
	blocks = linalg.GroupRows(s.n) / s.block
	return (s.count + blocks - 1) / blocks, blocks
}

// ownTasks lists the pairs that have a block of this rank.
func (s *schedule) ownTasks() {
	s.tasks = []int32{}
	for t := 0; ; t++ {
		a, b, round := s.task(t)
		if round < 0 {
			return
		}
		if s.owns(a) || s.owns(b) {
			s.tasks = append(s.tasks, int32(t))
		}
	}
}

// owns tells whether block b is of this rank.
func (s *schedule) owns(b int) bool { return s.from <= b && b < s.to }

// span returns the positions of superblock b.
func (s *schedule) span(b int) (from, to int) {
	return b * s.block, min((b+1)*s.block, s.padded)
}

// run calls pair(worker, a, b) for all a >= b, on the threads of par. It
// returns ctx.Err() if ctx ended first.
func (s *schedule) run(ctx context.Context, par *linalg.Par, pair func(worker, a, b int)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range s.done {
		s.done[i].Store(0)
	}
	s.ctx, s.par, s.pair = ctx, par, pair
	s.next.Store(0)
	s.abort.Store(false)
	par.For(par.Threads(), s.worker)
	s.ctx, s.par, s.pair = nil, nil, nil
	if s.abort.Load() {
		return ctx.Err()
	}
	return nil
}

// stopped tells whether the run ends early. Callers ask once per tile column.
func (s *schedule) stopped() bool {
	if s.abort.Load() {
		return true
	}
	if s.ctx.Err() != nil {
		s.stop()
		return true
	}
	return false
}

func (s *schedule) stop() {
	s.abort.Store(true)
	s.wakeAll()
}

func (s *schedule) work(worker int) {
	finished := false
	defer func() {
		if !finished { // a panic: the other workers must not wait for this one
			s.stop()
		}
	}()
	for {
		t := int(s.next.Add(1)) - 1
		if s.tasks != nil {
			if t >= len(s.tasks) {
				break
			}
			t = int(s.tasks[t])
		}
		a, b, round := s.task(t)
		// Tasks are taken in order, so the earliest unfinished one never waits.
		if round < 0 || s.stopped() || !s.await(a, b, int32(round)) {
			break
		}
		s.pair(worker, a, b)
		s.done[a].Add(1) // of another rank's block, too: nobody looks
		if a != b {
			s.done[b].Add(1)
		}
		s.wakeAll()
		s.par.Pause(worker)
	}
	finished = true
}

// spins is how often a worker looks again before it sleeps. Waits are short
// unless the system has taken another worker off its core.
const spins = 16

// await returns when blocks a and b have done their pairs before the round; it
// returns false if the run ends early.
func (s *schedule) await(a, b int, round int32) bool {
	ready := func() bool {
		return s.abort.Load() || (!s.owns(a) || s.done[a].Load() == round) && (!s.owns(b) || s.done[b].Load() == round)
	}
	for range spins {
		if ready() {
			return !s.abort.Load()
		}
		runtime.Gosched()
	}
	s.mu.Lock()
	s.asleep.Add(1) // before the look at done, as wakeAll looks after its change
	for !ready() {
		s.wake.Wait()
	}
	s.asleep.Add(-1)
	s.mu.Unlock()
	return !s.abort.Load()
}

// wakeAll wakes the sleeping workers after a change of done or abort.
func (s *schedule) wakeAll() {
	if s.asleep.Load() > 0 {
		s.mu.Lock()
		s.wake.Broadcast()
		s.mu.Unlock()
	}
}

// task returns pair t, a >= b, and its round, -1 after the last. For an odd
// number of blocks, a block without an opponent meets itself; for an even one
// the last round holds all blocks with themselves.
func (s *schedule) task(t int) (a, b, round int) {
	players := s.count + s.count%2
	rounds := players - 1
	round = t / (players / 2)
	k := t - round*(players/2)
	if round >= rounds {
		a = t - rounds*(players/2)
		if s.count%2 == 1 || a >= s.count {
			return 0, 0, -1
		}
		return a, a, rounds
	}
	a, b = rounds, round
	if k > 0 {
		a, b = (round+k)%rounds, (round-k+rounds)%rounds
	}
	if a == s.count {
		a = b
	}
	return max(a, b), min(a, b), round
}
