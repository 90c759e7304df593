package comm_test

import (
	"strings"
	"testing"

	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
)

func TestLocal(t *testing.T) {
	if err := commtest.Check(comm.Local()); err != nil {
		t.Error(err)
	}
	if err := comm.Local().AllGather(make([]float64, 3), []int{0, 2}); err == nil {
		t.Error("offsets that do not fit were taken")
	}
}

func TestGroup(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 7} {
		if err := commtest.Run(n, commtest.Check); err != nil {
			t.Errorf("%d ranks: %v", n, err)
		}
	}
}

// Where ranks do not do the same, every one of them gets an error, and none waits for ever.
func TestGroupErrors(t *testing.T) {
	for _, c := range []struct {
		name, says string
		odd        func(c comm.Comm) error // what rank 1 does
	}{
		{"closes", "rank 1 has closed", func(c comm.Comm) error { return c.Close() }},
		{"aborts", "status 70", func(c comm.Comm) error { c.Abort(70); return nil }},
		{"other call", "rank 1 calls Bcast", func(c comm.Comm) error { return c.Bcast(make([]float64, 4)) }},
		{"other length", "of 5 numbers", func(c comm.Comm) error { return c.AllReduce(make([]float64, 5)) }},
		{"bad offsets", "do not cut", func(c comm.Comm) error { return c.AllGather(make([]float64, 4), []int{0, 4}) }},
	} {
		failed := [3]error{}
		commtest.Run(3, func(m comm.Comm) error {
			if m.Rank() == 1 {
				c.odd(m)
			}
			failed[m.Rank()] = m.AllReduce(make([]float64, 4))
			return nil
		})
		for r, err := range failed {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: rank %d got %v", c.name, r, err)
			}
		}
	}
}

// A rank that leaves after the last common call does not spoil it for those that are slow to wake.
func TestGroupEnd(t *testing.T) {
	for range 200 {
		err := commtest.Run(3, func(c comm.Comm) error {
			err := c.AllReduce(make([]float64, 4))
			c.Close()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
