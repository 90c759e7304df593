package kernelmv

import (
	"math"
	"slices"
)

// Far clusters of an input. A value that stands for "missing", or a second group of rows,
// lies thousands of lengthscales from the others. Coordinates of that size lose in
// float32, and their squares even in float64, what rows near each other differ by. But over
// a distance beyond reach the covariance is nothing, and how far beyond does not matter:
// an empty stretch of more than 2 reach is shortened to 2 reach, so that a place within it
// (of a test row) is still beyond reach of one end or where it was. Every gap between
// rows stays, or stays beyond reach; K changes by less than emptyCov s2 an entry.

// emptyCov is the h that is nothing beside the rounding of float64.
const emptyCov = 1e-25

// A cluster is the values of an input between two such stretches.
type cluster struct {
	lo, hi float64 // its ends, in the units of the input
	base   float64 // has the scaled coordinate at
	at     float64
	middle float64 // origin for squares of coordinates
	rows   int
	sum    float64 // of its values, about lo
}

// clustersOf cuts column d, scaled by factor, at empty stretches; nil where there are none.
func (p *points) clustersOf(d int, factor, reach float64) []cluster {
	wide := 2 * reach / factor
	if !(p.spread[d] > wide) {
		return nil
	}
	parts := p.binned(d, wide)
	// No stretch within a bin is as long; a part begins where the one before ends too far away.
	cut := parts[:1]
	for _, b := range parts[1:] {
		last := &cut[len(cut)-1]
		if b.lo-last.hi > wide {
			cut = append(cut, b)
			continue
		}
		last.sum += b.sum + (b.lo-last.lo)*float64(b.rows)
		last.hi, last.rows = b.hi, last.rows+b.rows
	}
	if len(cut) == 1 {
		return nil
	}
	p.place(cut, d, factor, reach)
	return cut
}

// binned returns the occupied ones of bins of the given width, in order.
func (p *points) binned(d int, wide float64) []cluster {
	least := p.raw.Data[d]
	for i := range p.raw.Rows {
		least = min(least, p.raw.Data[i*p.raw.Stride+d])
	}
	index := map[float64]int{}
	var bins []cluster
	for i := range p.raw.Rows {
		v := p.raw.Data[i*p.raw.Stride+d]
		key := math.Floor((v - least) / wide)
		b, known := index[key]
		if !known {
			b = len(bins)
			index[key] = b
			bins = append(bins, cluster{lo: v, hi: v})
		}
		c := &bins[b]
		if v < c.lo {
			c.sum += (c.lo - v) * float64(c.rows)
			c.lo = v
		}
		c.hi, c.rows, c.sum = max(c.hi, v), c.rows+1, c.sum+(v-c.lo)
	}
	slices.SortFunc(bins, func(a, b cluster) int { return compareFloat(a.lo, b.lo) })
	return bins
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// place gives the clusters their coordinates: the mean of the one that holds the median is
// at 0, the others follow on either side.
func (p *points) place(cut []cluster, d int, factor, reach float64) {
	home := clusterOf(cut, p.centre[d])
	for k := range cut {
		c := &cut[k]
		c.middle = c.lo + (c.hi-c.lo)/2
		if k == home {
			c.base, c.middle = c.lo+c.sum/float64(c.rows), p.centre[d]
		}
	}
	for k := home + 1; k < len(cut); k++ {
		b := &cut[k-1]
		cut[k].base, cut[k].at = cut[k].lo, b.at+(b.hi-b.base)*factor+2*reach
	}
	for k := home - 1; k >= 0; k-- {
		b := &cut[k+1]
		cut[k].base, cut[k].at = cut[k].hi, b.at+(b.lo-b.base)*factor-2*reach
	}
}

// clusterOf returns the last cluster that begins at or below v, the first for smaller v.
func clusterOf(cut []cluster, v float64) int {
	k, found := slices.BinarySearchFunc(cut, v, func(c cluster, v float64) int { return compareFloat(c.lo, v) })
	if !found {
		k--
	}
	return max(k, 0)
}

// coordinate is the scaled coordinate of v, also of a v between two clusters.
func coordinate(cut []cluster, v, factor, reach float64) float64 {
	k := clusterOf(cut, v)
	c := &cut[k]
	x := c.at + (v-c.base)*factor
	if v <= c.hi || k+1 == len(cut) {
		return x
	}
	next := &cut[k+1]
	// Before the middle of the shortened stretch from its left, after it from its right end.
	middle := next.at + (next.lo-next.base)*factor - reach
	return max(min(x, middle), next.at+(v-next.base)*factor)
}
