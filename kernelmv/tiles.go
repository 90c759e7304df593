package kernelmv

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// A schedule runs over all unordered pairs of superblocks, each block with itself included. A pair adds to what its
// two blocks own by sums that do not depend on their order (bins, exactSum), under the locks of the blocks. So there
// is nothing to wait for, and over several ranks each runs the pairs that the deal gives it.
//
// A worker takes the pairs of two sectors of blocks at a time, so that what they own stays in its cache. Sectors meet
// in the order of a round-robin tournament (circle method): at the same time different ones do, as a rule.
type schedule struct {
	n, padded    int // points, and with padding
	block, count int // rows of a superblock (the last may have fewer), number of them
	sector       int // blocks of a sector
	mostSector   int // that leave pairs of sectors enough for all workers
	rank         int // this one
	deal         *deal
	locks        []sync.Mutex // of each block's sums

	ctx    context.Context
	par    *linalg.Par
	pair   func(worker, a, b int)
	worker func(worker, i int) // the loop body for linalg.Par, made once
	next   atomic.Int64
	abort  atomic.Bool
}

const (
	// sectorBytes of sums, those of a sector, stay in the second cache beside what else a worker needs.
	sectorBytes = 1 << 19
	// sectorPairs of sectors are for a worker at least, so that none waits for the last one for long.
	sectorPairs = 16
)

func newSchedule(n int, e *linalg.Engine) *schedule {
	s := &schedule{n: n, padded: padTo(n, asm.Pad), block: linalg.BlockRows(n), rank: e.Rank()}
	s.count = (s.padded + s.block - 1) / s.block
	s.locks = make([]sync.Mutex, s.count)
	s.worker = func(worker, _ int) { s.work(worker) }
	sectors := math.Sqrt(2 * sectorPairs * float64(e.Par.Threads()*e.Ranks()))
	s.mostSector = max(int(float64(s.count)/sectors), 1)
	if e.Ranks() > 1 {
		groups, per := s.groups()
		s.deal = newDeal(s.count, groups, per, e.Ranks())
	}
	return s
}

// groups returns the number of groups of superblocks of which a rank has a share, and of blocks in one.
func (s *schedule) groups() (count, blocks int) {
	blocks = linalg.GroupRows(s.n) / s.block
	return (s.count + blocks - 1) / blocks, blocks
}

// span returns the positions of superblock b.
func (s *schedule) span(b int) (from, to int) {
	return b * s.block, min((b+1)*s.block, s.padded)
}

// run calls pair(worker, a, b) for all a >= b of this rank, on the threads of par. A pair adds to sums of so many bytes
// a row of b. It returns ctx.Err() if ctx ended first.
func (s *schedule) run(ctx context.Context, par *linalg.Par, bytes int, pair func(worker, a, b int)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.sector = min(max(sectorBytes/(bytes*s.block), 1), s.mostSector)
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
		s.abort.Store(true)
		return true
	}
	return false
}

func (s *schedule) work(worker int) {
	finished := false
	defer func() {
		if !finished { // a panic: the other workers need not go on
			s.abort.Store(true)
		}
	}()
	for {
		a, b := s.task(int(s.next.Add(1)) - 1)
		if a < 0 || !s.meet(worker, a, b) {
			break
		}
	}
	finished = true
}

// meet runs the pairs of sectors a >= b that are this rank's, and returns false if the run ends early.
func (s *schedule) meet(worker, a, b int) bool {
	for i := a * s.sector; i < min((a+1)*s.sector, s.count); i++ {
		for j := b * s.sector; j < min((b+1)*s.sector, i+1); j++ {
			if s.deal != nil && s.deal.of(i, j) != s.rank {
				continue
			}
			if s.stopped() {
				return false
			}
			s.pair(worker, i, j)
			s.par.Pause(worker)
		}
	}
	return true
}

// task returns pair t of sectors, a >= b, and -1 after the last. For an odd
// number of sectors, one without an opponent meets itself; for an even one
// the last round holds all sectors with themselves.
func (s *schedule) task(t int) (a, b int) {
	count := (s.count + s.sector - 1) / s.sector
	players := count + count%2
	rounds := players - 1
	round := t / (players / 2)
	k := t - round*(players/2)
	if round >= rounds {
		a = t - rounds*(players/2)
		if count%2 == 1 || a >= count {
			return -1, -1
		}
		return a, a
	}
	a, b = rounds, round
	if k > 0 {
		a, b = (round+k)%rounds, (round-k+rounds)%rounds
	}
	if a == count {
		a = b
	}
	return max(a, b), min(a, b)
}
