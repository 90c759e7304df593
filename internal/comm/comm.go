package comm

import (
	"encoding/binary"
	"fmt"
)

// A Comm is what one rank knows of the others. An error of any method is final: what the other ranks have is unknown.
type Comm interface {
	// Rank is the number of this rank, 0 to Size-1.
	Rank() int
	Size() int

	// Alloc returns n zeros that may be passed to the other methods. They live until Free or Close. Networks that read
	// and write memory by themselves want it; ordinary memory works, too, where it is passed now and then.
	Alloc(n int) []float64

	// Free gives back what Alloc has returned; of other memory it does nothing.
	Free(x []float64)

	// AllGather completes x on every rank; rank r has filled x[off[r]:off[r+1]]. off has Size+1 numbers that do not
	// fall, from 0 to len(x), the same on all ranks.
	AllGather(x []float64, off []int) error

	// AllToAll sends counts[r*Size+q] numbers from rank r to rank q: send has those of this rank for all ranks one
	// after the other, recv gets those of all ranks for it. counts is the same on all ranks.
	AllToAll(send, recv []float64, counts []int) error

	// AllReduce replaces x, equally long on all ranks, by its sum over ranks. Its last bits depend on Size.
	AllReduce(x []float64) error

	// Bcast copies x from rank 0 to all; it is equally long on all ranks.
	Bcast(x []float64) error

	// BcastBytes copies b from rank 0 to all; it is equally long on all ranks. See Share.
	BcastBytes(b []byte) error

	// Abort ends every rank with this exit status. It does not return, but of a Group, where it ends the calls of all.
	Abort(status int)

	// Close ends the part of this rank. Over MPI it waits for the others.
	Close() error
}

// Share returns the bytes of rank 0 on every rank, however many there are; the other ranks' b is not looked at.
func Share(c Comm, b []byte) ([]byte, error) {
	if c.Size() == 1 {
		return b, nil
	}
	var size [8]byte
	if c.Rank() == 0 {
		binary.LittleEndian.PutUint64(size[:], uint64(len(b)))
	}
	if err := c.BcastBytes(size[:]); err != nil {
		return nil, err
	}
	if c.Rank() != 0 {
		b = make([]byte, binary.LittleEndian.Uint64(size[:]))
	}
	return b, c.BcastBytes(b)
}

// checkOffsets says what is wrong with the offsets of an AllGather of n numbers over size ranks.
func checkOffsets(n int, off []int, size int) error {
	if len(off) != size+1 || off[0] != 0 || off[size] != n {
		return fmt.Errorf("comm: AllGather: offsets do not cut %d numbers into the parts of %d ranks", n, size)
	}
	for r := range size {
		if off[r] > off[r+1] {
			return fmt.Errorf("comm: AllGather: offsets of rank %d fall", r)
		}
	}
	return nil
}

// checkCounts says what is wrong with the counts of an AllToAll as rank own of size ranks sees it.
func checkCounts(sent, got int, counts []int, own, size int) error {
	if len(counts) != size*size {
		return fmt.Errorf("comm: AllToAll: %d counts for %d ranks", len(counts), size)
	}
	for r := range size {
		if counts[own*size+r] < 0 {
			return fmt.Errorf("comm: AllToAll: a count of rank %d is negative", own)
		}
		sent -= counts[own*size+r]
		got -= counts[r*size+own]
	}
	if sent != 0 || got != 0 {
		return fmt.Errorf("comm: AllToAll: counts do not fit the numbers of rank %d", own)
	}
	return nil
}
