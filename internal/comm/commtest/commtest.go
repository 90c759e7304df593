// Package commtest has what every comm.Comm must pass, and runs ranks as goroutines.
package commtest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/comm"
)

// Run calls f for n ranks of a comm.Group, each on a goroutine of its own, and returns their errors, joined. A rank
// that fails or panics aborts the group, so that the others do not wait for it.
func Run(n int, f func(c comm.Comm) error) error {
	errs := make(chan error, n)
	for _, c := range comm.Group(n) {
		go func() {
			var err error
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("panic: %v", r)
				}
				if err != nil {
					c.Abort(1)
					err = fmt.Errorf("rank %d: %w", c.Rank(), err)
				}
				errs <- err
			}()
			err = f(c)
		}()
	}
	var all []error
	for range n {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// Check makes the calls of one rank of a comm.Comm and says what is wrong with the answers. All ranks call it.
func Check(c comm.Comm) error {
	if c.Rank() < 0 || c.Rank() >= c.Size() {
		return fmt.Errorf("rank %d of %d", c.Rank(), c.Size())
	}
	for _, n := range []int{0, 1, 7, 1000, 100003} {
		if err := errors.Join(checkGather(c, n), checkExchange(c, n), checkReduce(c, n), checkBcast(c, n)); err != nil {
			return fmt.Errorf("%d numbers: %w", n, err)
		}
	}
	return checkMany(c)
}

// value is the number at i that rank r sends: with low bits, and -0, Inf and a NaN with a payload among them.
func value(r, i int) float64 {
	switch i % 11 {
	case 3:
		return math.Copysign(0, -1)
	case 5:
		return math.Inf(1)
	case 7:
		return math.Float64frombits(0x7ff8_0000_0000_0000 + uint64(i))
	}
	return math.Sqrt(float64(i+2)) * float64(r+1)
}

// offsets cuts n numbers into unequal parts, some of them empty.
func offsets(n, size int) []int {
	off := make([]int, size+1)
	for r := range size {
		off[r] = n * (r * r) / (size * size) // rank 0 has the least
	}
	off[size] = n
	return off
}

func checkGather(c comm.Comm, n int) error {
	even := make([]int, c.Size()+1)
	first := slices.Repeat([]int{n}, c.Size()+1) // all of it is rank 0's
	for r := range even {
		even[r] = n * r / c.Size()
	}
	first[0] = 0
	for _, off := range [][]int{even, first, offsets(n, c.Size())} {
		for _, x := range [][]float64{c.Alloc(n), make([]float64, n), c.Alloc(n)} {
			for i := off[c.Rank()]; i < off[c.Rank()+1]; i++ {
				x[i] = value(c.Rank(), i)
			}
			if err := c.AllGather(x, off); err != nil {
				return err
			}
			for r := range c.Size() {
				for i := off[r]; i < off[r+1]; i++ {
					if !same(x[i], value(r, i)) {
						return fmt.Errorf("AllGather: %v at %d, want %v", x[i], i, value(r, i))
					}
				}
			}
			c.Free(x)
		}
	}
	return nil
}

// checkExchange sends unequal numbers of numbers between ranks, n at most, and none where that rank is a multiple of 3
// further.
func checkExchange(c comm.Comm, n int) error {
	size := c.Size()
	counts := make([]int, size*size)
	sent, got := 0, 0
	for r := range size {
		for q := range size {
			if (q-r+size)%size%3 != 0 || size == 1 {
				counts[r*size+q] = n * (r + 2*q + 1) / (3 * size)
			}
		}
	}
	for r := range size {
		sent += counts[c.Rank()*size+r]
		got += counts[r*size+c.Rank()]
	}
	number := func(from, to, i int) float64 { return value(from*size+to, i) }
	for _, x := range [][]float64{c.Alloc(sent + got), make([]float64, sent+got)} {
		send, recv := x[:sent], x[sent:]
		at := 0
		for to := range size {
			for i := range counts[c.Rank()*size+to] {
				send[at] = number(c.Rank(), to, i)
				at++
			}
		}
		if err := c.AllToAll(send, recv, counts); err != nil {
			return err
		}
		at = 0
		for from := range size {
			for i := range counts[from*size+c.Rank()] {
				if want := number(from, c.Rank(), i); !same(recv[at], want) {
					return fmt.Errorf("AllToAll: %v at %d of rank %d, want %v", recv[at], i, from, want)
				}
				at++
			}
		}
	}
	return nil
}

func checkReduce(c comm.Comm, n int) error {
	x := c.Alloc(n)
	for i := range x {
		x[i] = float64(i * (c.Rank() + 1)) // whole numbers: exact in any order
	}
	if err := c.AllReduce(x); err != nil {
		return err
	}
	for i, v := range x {
		if want := float64(i * (c.Size() * (c.Size() + 1) / 2)); v != want {
			return fmt.Errorf("AllReduce: %v at %d, want %v", v, i, want)
		}
	}
	return nil
}

func checkBcast(c comm.Comm, n int) error {
	x, b := make([]float64, n), make([]byte, n)
	for i := range x {
		x[i], b[i] = value(c.Rank(), i), byte(i*i+c.Rank())
	}
	if err := errors.Join(c.Bcast(x), c.BcastBytes(b)); err != nil {
		return err
	}
	for i := range x {
		if !same(x[i], value(0, i)) || b[i] != byte(i*i) {
			return fmt.Errorf("of Bcast: %v, %d at %d", x[i], b[i], i)
		}
	}
	var mine []byte
	if c.Rank() == 0 {
		mine = b[:n]
	}
	got, err := comm.Share(c, mine)
	if err == nil && !bytes.Equal(got, b) {
		err = errors.New("other bytes of Share")
	}
	return err
}

// checkMany makes many small calls, in which ranks overtake each other if they can.
func checkMany(c comm.Comm) error {
	off := make([]int, c.Size()+1)
	for r := range off {
		off[r] = r
	}
	x := c.Alloc(c.Size())
	for k := range 300 {
		x[c.Rank()] = float64(k*c.Size() + c.Rank())
		if err := c.AllGather(x, off); err != nil {
			return err
		}
		for r, v := range x {
			if v != float64(k*c.Size()+r) {
				return fmt.Errorf("call %d: %v of rank %d", k, v, r)
			}
		}
	}
	return nil
}

func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
