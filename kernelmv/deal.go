package kernelmv

// A deal gives every pair of superblocks to one rank, of the two that hold the blocks. Ranks hold runs of blocks. Two
// ranks low < high are joined by the rule of a circle, on which each takes the pairs with the next half of the others:
//
//	2 (high - low) < ranks   low takes all pairs of the two
//	               > ranks   high does
//	               = ranks   low takes those of the first blocks of high, so many that both have equal shares
//
// So sums of one side only are sent between most ranks.
type deal struct {
	ranks int
	start []int   // the first block of each rank, and the number of blocks
	owner []int32 // of each block
	half  []int   // of rank low: how many blocks of the rank on the other side of the circle it takes
}

// newDeal deals the pairs of count blocks, in groups of per blocks that are shared out.
func newDeal(count, groups, per, ranks int) *deal {
	d := &deal{ranks: ranks, start: make([]int, ranks+1), owner: make([]int32, count), half: make([]int, ranks/2)}
	for r := range d.start {
		d.start[r] = min(groups*r/ranks*per, count)
	}
	pairs := make([]int, ranks) // that each has so far
	for r := range ranks {
		size := d.size(r)
		for b := d.start[r]; b < d.start[r+1]; b++ {
			d.owner[b] = int32(r)
		}
		pairs[r] = size * (size + 1) / 2
		for k := 1; 2*k < ranks; k++ {
			pairs[r] += size * d.size((r+k)%ranks)
		}
	}
	if ranks%2 == 0 {
		for low := range d.half {
			high := low + ranks/2
			if size := d.size(low); size > 0 {
				half := (pairs[high] - pairs[low] + size*d.size(high) + size) / (2 * size)
				d.half[low] = min(max(half, 0), d.size(high))
			}
		}
	}
	return d
}

func (d *deal) size(rank int) int { return d.start[rank+1] - d.start[rank] }

// cut is the number of the first blocks of rank high whose pairs with blocks of rank low are low's.
func (d *deal) cut(low, high int) int {
	switch k := 2 * (high - low); {
	case k < d.ranks:
		return d.size(high)
	case k > d.ranks:
		return 0
	}
	return d.half[low]
}

// of returns the rank that evaluates the pair of blocks a >= b.
func (d *deal) of(a, b int) int {
	high, low := int(d.owner[a]), int(d.owner[b])
	if high != low && a-d.start[high] < d.cut(low, high) {
		return low
	}
	return high
}

// added returns the blocks first..end-1 of rank to that rank from adds to.
func (d *deal) added(from, to int) (first, end int) {
	first = d.start[to]
	switch {
	case from == to || d.size(from) == 0:
		return first, first
	case from < to:
		return first, first + d.cut(from, to)
	case d.cut(to, from) < d.size(from):
		return first, d.start[to+1]
	}
	return first, first
}
