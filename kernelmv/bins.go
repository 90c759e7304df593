package kernelmv

import (
	"math"

	"bbgp.dev/asm"
)

// Sums that do not depend on the order of their terms, nor on who adds up which of them. With Σ|x| < 2^e over at most
// 2^m terms, a term is cut at fixed places, by adding a number and taking it away again:
//
//	x = high + low + rest,   high a multiple of 2^(e-51), low one of 2^(e-103+m),   |rest| <= 2^(e-104+m)
//
// Sums of the parts of one kind are exact in float64. For terms of float32 high alone is kept: what is lost of each is
// below 2^(e-52), nothing beside their rounding.

// A cutter cuts terms.
type cutter struct {
	impl      *asm.Impl
	high, low float64 // the numbers that are added; low 0: high alone is kept
}

// newCutter returns a cutter for products of n rows whose entries are at most 1 and 2, added up in so many terms.
func newCutter(impl *asm.Impl, n, terms, parts int) cutter {
	e := math.Ilogb(2.1*float64(n)) + 1
	c := cutter{impl: impl, high: math.Ldexp(1.5, e+1)}
	if parts == 2 {
		c.low = math.Ldexp(1.5, e-50+math.Ilogb(float64(terms)))
	}
	return c
}

// bins are sums in two parts.
type bins struct{ high, low []float64 }

// makeRoom makes room for size sums.
func (b *bins) makeRoom(size, parts int) {
	b.high = grow(b.high, size)
	if parts == 2 {
		b.low = grow(b.low, size)
	}
}

func (b *bins) clear(from, to int) {
	clear(b.high[from:to])
	if b.low != nil {
		clear(b.low[from:to])
	}
}

// add adds the terms x to the sums from number at on.
func (b *bins) add(c *cutter, at int, x []float64) {
	if b.low == nil {
		c.impl.Cut(b.high[at:at+len(x)], x, c.high)
		return
	}
	c.impl.CutTwo(b.high[at:at+len(x)], b.low[at:at+len(x)], x, c.high, c.low)
}
