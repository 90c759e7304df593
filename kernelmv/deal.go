package kernelmv

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

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

// A Dealt is what a rank does of a dense product, and gets from the others.
type Dealt struct {
	Pairs float64 // its part of all pairs of rows
	Rows  int     // of the product that others have made: so many numbers for each column,
	Sums  int     // and of sums for its rows, in two parts where tiles are in float64
}

// NumbersTo is how many numbers of 8 bytes come in of a product of p columns.
func (d Dealt) NumbersTo(p int, prec Precision) int {
	parts := 1
	if prec == F64 {
		parts = 2
	}
	return p * (d.Rows + parts*d.Sums)
}

// DealtTo returns what each of so many ranks does of a dense product of n rows.
func DealtTo(n, ranks int) []Dealt {
	s := schedule{n: n, padded: padTo(n, asm.Pad), block: linalg.BlockRows(n)}
	s.count = (s.padded + s.block - 1) / s.block
	groups, per := s.groups()
	d := newDeal(s.count, groups, per, ranks)
	rows := func(first, end int) int { return min(end*s.block, n) - min(first*s.block, n) }
	out, all := make([]Dealt, ranks), float64(s.count)*float64(s.count+1)/2
	for r := range out {
		o := &out[r]
		o.Pairs += float64(d.size(r)) * float64(d.size(r)+1) / 2 / all
		if ranks > 1 {
			o.Rows = n - rows(d.start[r], d.start[r+1])
		}
		for high := r + 1; high < ranks; high++ {
			cut := d.cut(r, high)
			o.Pairs += float64(d.size(r)) * float64(cut) / all
			out[high].Pairs += float64(d.size(r)) * float64(d.size(high)-cut) / all
		}
		for from := range ranks {
			o.Sums += rows(d.added(from, r))
		}
	}
	return out
}
