package kernelmv

import (
	"math/bits"
	"slices"
)

// Selecting from and sorting short lists of numbers in random order by counts in
// bins of equal width. Branches that depend on such numbers cannot be predicted,
// and cost more than all of this.

const (
	keyBins   = 64
	mostSort  = 512 // keys that are sorted by bins
	mostInBin = 16  // keys of a bin that are sorted by insertion
)

// rangeOf returns the smallest and the largest key.
func rangeOf(keys []uint64) (lo, hi uint64) {
	lo, hi = keys[0], keys[0]
	for _, key := range keys {
		lo, hi = min(lo, key), max(hi, key)
	}
	return lo, hi
}

// binShift is the shift that brings numbers up to span below keyBins.
func binShift(span uint64) int { return max(0, bits.Len64(span)-bits.Len(keyBins-1)) }

// aboveFirst returns a number that at least k of the keys do not exceed, and
// unless many keys are equal, at most 2 k; there are at least k keys.
func aboveFirst(keys []uint64, k int) uint64 {
	lo, hi := rangeOf(keys)
	most, below := hi, 0 // keys below lo
	for {
		shift := binShift(hi - lo)
		var count [keyBins + 1]int32 // the last one of all others
		for _, key := range keys {
			count[min((key-lo)>>shift, keyBins)]++
		}
		bin, upTo := 0, below+int(count[0])
		for upTo < k {
			bin++
			upTo += int(count[bin])
		}
		lo += uint64(bin) << shift
		hi = lo + 1<<shift - 1
		if upTo <= 2*k || shift == 0 {
			return min(hi, most)
		}
		below = upTo - int(count[bin])
	}
}

// sortKeys sorts keys; work has room for as many.
func sortKeys(keys, work []uint64) {
	if len(keys) < 2 {
		return
	}
	lo, hi := rangeOf(keys)
	shift := binShift(hi - lo)
	var at [keyBins + 1]int32 // where a bin begins
	for _, key := range keys {
		at[(key-lo)>>shift%keyBins+1]++
	}
	if len(keys) > mostSort || slices.Max(at[:]) > mostInBin {
		slices.Sort(keys)
		return
	}
	for b := range keyBins {
		at[b+1] += at[b]
	}
	for _, key := range keys {
		b := (key - lo) >> shift % keyBins
		work[at[b]] = key
		at[b]++
	}
	for i, key := range work[:len(keys)] {
		j := i
		for ; j > 0 && keys[j-1] > key; j-- {
			keys[j] = keys[j-1]
		}
		keys[j] = key
	}
}
