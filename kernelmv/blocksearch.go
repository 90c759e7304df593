package kernelmv

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// A blockSearch finds nearest rows by a walk over all tiles of distances, in
// float32. For each row it keeps a buffer of candidates not beyond a limit;
// whenever the buffer is full, a selection leaves little more than the k best
// and lowers the limit. So a candidate costs a few steps, not a logarithm of k.
//
// Float32 decides only where it can. The coordinates a and b are off by at most
// 2^-24 |a| and 2^-24 |b| and the sum of squares by a factor 1 ± c, so with
// e = 2^-24 (|a| + |b|) the true distance r and that of float32, q, obey
//
//	(r - e)² (1 - c) <= q² <= (r + e)² (1 + c),
//
// and a candidate more than 2e and this factor beyond k others is no neighbour.
// At the end the candidates stand in the order of float32; those whose order is
// in doubt are compared in float64.
//
// The order of positions is random (or else made so, shuffle), the first ones are
// a sample of all, and limits are guessed from them (guess): most candidates that
// a search without a guess keeps for a while are never looked at. A row whose
// guess was too small is searched for again.
type blockSearch struct {
	op          *Op
	left, right rowSet
	dst         []int32
	k           int
	ends        []int32 // positions that each row looks at, all if nil
	names       []int32 // that stand for positions in the result, if not nil
	slack       float64 // 2e for the longest a and b
	factor      float64 // 1 + c
	gain        float64 // beyond(d) <= gain d + offset
	offset      float64
	workers     []blockWorker
}

// A blockWorker is the work area of a worker: crossRows rows.
type blockWorker struct {
	rows  []shortlist
	limit []float32 // of every row
	mask  []uint32
	exact []exactKey // work area of compare
	keys  []uint64   // work area of sortKeys
	again nearest    // work area of again
}

// A shortlist holds the candidates of one row as numbers in the order of
// distance and name: the bits of the distance, which is not negative, above
// those of the name, which is the position unless there are names.
type shortlist struct {
	keys []uint64 // room for some, of which
	size int      // are in use
}

// An exactKey is a key with what it stands for in float64.
type exactKey struct {
	candidate
	key uint64
}

func keyOf(d float32, pos int) uint64 { return uint64(math.Float32bits(d))<<32 | uint64(uint32(pos)) }

func keyDist(key uint64) float32 { return math.Float32frombits(uint32(key >> 32)) }

// searchBlocks is search by a walk over all tiles.
func (o *Op) searchBlocks(ctx context.Context, dst []int32, left, right rowSet, k int, ends []int32) error {
	s := &blockSearch{op: o, left: left, right: right, dst: dst, k: k, ends: ends}
	d := o.pts.dim
	if ends == nil {
		s.shuffle()
	}
	s.factor = 1 + float64(d+4)*0x1p-23
	// The last term covers squares that are too small for float32.
	s.slack = 0x1p-23*(left.longest(d)+right.longest(d)) + 1e-18
	const t = 0x1p-16
	s.gain, s.offset = s.factor*s.factor*(1+t)+0x1p-22, s.factor*(1+1/t)*s.slack*s.slack+0x1p-149
	s.workers = make([]blockWorker, o.engine.Par.Threads())
	w := &walk[float32]{
		op: o, kit: &o.engine.Impl.F32, left: left, right: s.right, cutCols: padTo(right.n, asm.Pad),
		clamp: float32(math.Inf(1)), visit: s.visit, begin: s.begin, end: s.finish,
		backwards: true, // the longest rows first, for an even load
		shared:    true,
	}
	if ends != nil {
		w.lastCol = func(i int) int { return int(ends[i]) }
	}
	err := w.run(ctx)
	linalg.CompleteDealt(o.engine, dst, w.all, crossRows*k, true)
	return err
}

// shuffle brings right, all rows, into a random order for guess.
func (s *blockSearch) shuffle() {
	s.names = make([]int32, s.right.n)
	for i, r := range rand.New(rand.NewPCG(0, uint64(s.right.n))).Perm(s.right.n) {
		s.names[i] = int32(r)
	}
	s.right.index = s.names
}

// named returns the coordinates of what a key names.
func (s *blockSearch) named(name int32) []float64 {
	if s.names != nil {
		d := s.op.pts.dim
		return s.right.x[int(name)*d : int(name+1)*d]
	}
	return s.right.row(int(name), s.op.pts.dim)
}

// end returns the number of positions that row i has to look at.
func (s *blockSearch) end(i int) int {
	if s.ends != nil {
		return int(s.ends[i])
	}
	return s.right.n
}

// row returns the coordinates of a member.
func (s *rowSet) row(i, dim int) []float64 {
	if s.index != nil {
		i = int(s.index[i])
	}
	return s.x[i*dim : (i+1)*dim]
}

// squared returns Σ_c (x_c - y_c)², with the bits of asm.Kit.Dist.
func squared(x, y []float64) (sum float64) {
	for c, v := range y {
		t := x[c] - v
		sum = math.FMA(t, t, sum)
	}
	return sum
}

// longest returns the largest distance of a member from the origin.
func (s *rowSet) longest(dim int) float64 {
	most := 0.0
	for i := range s.n {
		sum := 0.0
		for _, v := range s.row(i, dim) {
			sum += v * v
		}
		most = max(most, sum)
	}
	return math.Sqrt(most)
}

// begin prepares the rows of a task.
func (s *blockSearch) begin(worker, _, _ int) {
	w := &s.workers[worker]
	if w.rows == nil {
		room := max(5*s.k+64, s.op.engine.Impl.F32.TileCols+asm.WithinWord)
		w.keys = make([]uint64, room)
		all := make([]uint64, crossRows*room)
		w.rows, w.limit = make([]shortlist, crossRows), make([]float32, crossRows)
		w.mask = make([]uint32, asm.RowUnit*s.op.engine.Impl.F32.TileCols/asm.WithinWord)
		for i := range w.rows {
			w.rows[i].keys = all[i*room : (i+1)*room]
		}
	}
	for i := range w.rows {
		w.rows[i].size, w.limit[i] = 0, float32(math.Inf(1))
	}
}

// visit adds the candidates of a tile.
func (s *blockSearch) visit(worker, _ int, t crossTile[float32]) {
	w, words := &s.workers[worker], t.stride/asm.WithinWord
	base := t.i % crossRows
	s.op.engine.Impl.Within(w.mask, t.data, w.limit[base:base+asm.RowUnit], asm.RowUnit, t.stride)
	for a := range t.rows {
		cols := min(t.cols, s.end(t.i+a)-t.j)
		row, list := t.data[a*t.stride:][:t.stride], &w.rows[base+a]
		for m, word := range w.mask[a*words : (a+1)*words] {
			if m*asm.WithinWord >= cols {
				break
			}
			if left := cols - m*asm.WithinWord; left < asm.WithinWord {
				word &= 1<<left - 1
			}
			if list.size+asm.WithinWord > len(list.keys) && word != 0 {
				w.limit[base+a] = min(w.limit[base+a], s.shrink(w, list, t.i+a))
			}
			part, free := row[m*asm.WithinWord:][:asm.WithinWord], list.keys[list.size:]
			list.size += bits.OnesCount32(word)
			for to := 0; word != 0 && to < len(free); to++ {
				c := bits.TrailingZeros32(word)
				pos := t.j + m*asm.WithinWord + c
				if s.names != nil {
					pos = int(s.names[pos])
				}
				free[to] = keyOf(part[c], pos)
				word &= word - 1
			}
		}
	}
	if tiles := uint(t.j+t.stride) / uint(s.op.engine.Impl.F32.TileCols); tiles&(tiles-1) == 0 &&
		bits.TrailingZeros(tiles)%2 == 0 { // after 1, 4, 16, .. tiles
		s.guess(w, t)
	}
}

// guess lowers the limits of the rows of a tile. Of the k nearest of i positions
// in random order, k m/i are expected among the first m, with a variance of
// that size at most; a limit that leaves three standard deviations more of those
// has all k below it but for one row in a thousand.
func (s *blockSearch) guess(w *blockWorker, t crossTile[float32]) {
	mean := float64(s.k) * float64(t.j+t.stride) / float64(max(s.end(t.i), 1))
	most := int(mean + 3*math.Sqrt(mean) + 3)
	if most >= s.k {
		return
	}
	for a := range t.rows {
		list, limit := &w.rows[t.i%crossRows+a], &w.limit[t.i%crossRows+a]
		if list.size > most {
			*limit = min(*limit, s.beyond(keyDist(aboveFirst(list.keys[:list.size], most))))
			list.keepUpTo(*limit)
		}
	}
}

// beyond returns the largest float32 distance that a row may have which is as
// near as one of distance d in float32.
func (s *blockSearch) beyond(d float32) float32 {
	r := math.Sqrt(float64(d)*s.factor) + s.slack
	return math.Nextafter32(float32(r*r*s.factor), float32(math.Inf(1)))
}

// shrink drops what is beyond k others from the candidates of row i, and
// returns the limit from now on.
func (s *blockSearch) shrink(w *blockWorker, list *shortlist, i int) float32 {
	if list.size <= s.k {
		return float32(math.Inf(1))
	}
	limit := s.beyond(keyDist(aboveFirst(list.keys[:list.size], s.k)))
	list.keepUpTo(limit)
	if list.size > 2*s.k+asm.WithinWord/2 { // many that float32 cannot tell apart
		s.settle(w, list, i)
		list.size = s.k
		limit = s.beyond(keyDist(slices.Max(list.keys[:s.k])))
	}
	return limit
}

// keepUpTo drops the candidates beyond the limit.
func (l *shortlist) keepUpTo(limit float32) {
	most, to := keyOf(limit, math.MaxUint32), 0
	for _, key := range l.keys[:l.size] {
		l.keys[to] = key
		to += flag(key <= most)
	}
	l.size = to
}

// settle puts the candidates of row i into their true order. It takes those for
// doubtful that do not differ by more than a bound of beyond without a root:
// (r + a)² <= (1 + t) r² + (1 + 1/t) a² for every t > 0.
func (s *blockSearch) settle(w *blockWorker, list *shortlist, i int) {
	keys := list.keys[:list.size]
	sortKeys(keys, w.keys)
	for from := 0; from < len(keys); {
		to := from + 1
		for to < len(keys) && float64(keyDist(keys[to])) <= s.gain*float64(keyDist(keys[to-1]))+s.offset {
			to++
		}
		if to > from+1 {
			s.compare(w, keys[from:to], i)
		}
		from = to
	}
}

// compare sorts keys by the distances in float64.
func (s *blockSearch) compare(w *blockWorker, keys []uint64, i int) {
	d := s.op.pts.dim
	x := s.left.row(i, d)
	w.exact = w.exact[:0]
	for _, key := range keys {
		name := int32(uint32(key))
		w.exact = append(w.exact, exactKey{candidate{squared(x, s.named(name)), name}, key})
	}
	slices.SortFunc(w.exact, func(a, b exactKey) int { return compare(a.candidate, b.candidate) })
	for k, c := range w.exact {
		keys[k] = c.key
	}
}

// finish writes the neighbours of the rows of a task.
func (s *blockSearch) finish(worker, i0, rows int) {
	w := &s.workers[worker]
	for i := i0; i < i0+rows; i++ {
		list, dst := &w.rows[i%crossRows], s.dst[i*s.k:(i+1)*s.k]
		if list.size > s.k {
			s.shrink(w, list, i)
		}
		s.settle(w, list, i)
		if limit := w.limit[i%crossRows]; !math.IsInf(float64(limit), 1) &&
			(list.size < s.k || s.beyond(keyDist(slices.Max(list.keys[:s.k]))) > limit) {
			s.again(w, dst, i)
			continue
		}
		for c := range dst {
			dst[c] = -1
			if c < list.size {
				dst[c] = int32(uint32(list.keys[c]))
			}
		}
	}
}

// again finds the neighbours of row i without a guess.
func (s *blockSearch) again(w *blockWorker, dst []int32, i int) {
	d, n := s.op.pts.dim, &w.again
	x := s.left.row(i, d)
	n.reset(s.k)
	for pos := range s.end(i) {
		name := int32(pos)
		if s.names != nil {
			name = s.names[pos]
		}
		if d2 := squared(x, s.right.row(pos, d)); d2 <= n.limit {
			n.add(d2, name)
		}
	}
	n.write(dst)
}
