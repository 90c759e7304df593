package linalg

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
)

// onRanks runs f on so many ranks, each with an engine of its own.
func onRanks(t *testing.T, ranks int, f func(e *Engine) error) {
	t.Helper()
	err := commtest.Run(ranks, func(c comm.Comm) error {
		e, err := NewEngine(nil, 1)
		if err != nil {
			return err
		}
		e.Comm = c
		return f(e)
	})
	if err != nil {
		t.Errorf("%d ranks: %v", ranks, err)
	}
}

// What ranks have made of their shares is whole on each of them, in the order of one rank alone.
func TestShares(t *testing.T) {
	defer func(was int) { gatherNumbers = was }(gatherNumbers)
	gatherNumbers = 1
	for _, ranks := range []int{1, 2, 5} {
		onRanks(t, ranks, func(e *Engine) error {
			if e.Ranks() != ranks || e.Rank() < 0 || e.Rank() >= ranks {
				return fmt.Errorf("rank %d of %d", e.Rank(), e.Ranks())
			}
			if got := e.FirstBytes([]byte(fmt.Sprint("rank ", e.Rank()))); string(got) != "rank 0" {
				return fmt.Errorf("the bytes of rank 0 are %q", got)
			}
			for _, n := range []int{0, 1, 4, 23} {
				want, x := make([]float64, n), make([]float64, n)
				for i := range want {
					want[i] = float64(i*i) - 0.5
				}
				e.ForShare(n, 1, func(_, i int) { x[i] = want[i] })
				e.Complete(x, n, 1)
				if !slices.Equal(x, want) {
					return fmt.Errorf("shares of %d: %v", n, x)
				}
				for _, backwards := range []bool{false, true} {
					const unit = 3
					count := (n + unit - 1) / unit
					x, whole := make([]int32, n), make([]int32, n)
					for i := range whole {
						whole[i] = int32(7 * i)
					}
					e.ForDealt(count, func(_, i int) {
						if backwards {
							i = count - 1 - i
						}
						copy(x[i*unit:min((i+1)*unit, n)], whole[i*unit:])
					})
					CompleteDealt(e, x, count, unit, backwards)
					if !slices.Equal(x, whole) {
						return fmt.Errorf("pieces of %d dealt, backwards %v: %v", n, backwards, x)
					}
				}
			}
			return nil
		})
	}
}

// The rows of a table are shared in whole groups, none twice and none by nobody.
func TestOwnRows(t *testing.T) {
	for _, n := range []int{1, BlockUnit, 20 * BlockUnit, 300*BlockUnit + 5, 4000000} {
		if g := Groups(n); g > mostGroups || (g-1)*GroupRows(n) >= n || g*GroupRows(n) < n ||
			GroupRows(n)%BlockRows(n) != 0 {
			t.Errorf("%d rows in %d groups of %d", n, g, GroupRows(n))
		}
		onRanks(t, 3, func(e *Engine) error {
			from, to := e.OwnRows(n)
			at := []float64{0, 0, 0}
			at[e.Rank()] = float64(to - from)
			if from%GroupRows(n) != 0 && from != n || to < from {
				return fmt.Errorf("rows %d to %d of %d", from, to, n)
			}
			e.Complete(at, 3, 1)
			if sum := at[0] + at[1] + at[2]; sum != float64(n) {
				return fmt.Errorf("%v rows of %d are owned", sum, n)
			}
			return nil
		})
	}
}

func isNotZero(v float64) bool { return v != 0 }

// What each rank has of the rows is on all in their order, whether all rows are asked for, some, or a sum; thin QR of
// rows that are divided has the bits of one rank.
func TestDividedRows(t *testing.T) {
	defer func(was int) { gatherNumbers = was }(gatherNumbers)
	gatherNumbers = 1 << 16
	const n = 24*BlockUnit + 7
	for _, cols := range []int{3, 70} {
		w := randMatrix(newRand(5), n, cols).Clone()
		alone := testEngine(t, nil, 1)
		q := w.Clone()
		r, _ := alone.ThinQR(q)
		checkQR(t, alone, "alone", w, q, r, cols)
		for _, ranks := range []int{2, 4, 7} {
			onRanks(t, ranks, func(e *Engine) error {
				lo, hi := e.OwnRows(n)
				own := w.Sub(lo, hi, 0, cols).Clone()
				if all := e.AllRows(own, n); !slices.Equal(all.Data, w.Data) {
					return errors.New("AllRows: other rows")
				}
				for _, stride := range []int{cols, cols + 1, 3 * cols} {
					all := e.GatheredRows(own, n, stride)
					for i := range n {
						row := all.Data[i*stride : (i+1)*stride]
						if !slices.Equal(row[:cols], w.Row(i)) || slices.ContainsFunc(row[cols:], isNotZero) {
							return fmt.Errorf("GatheredRows %d numbers apart: row %d is %v", stride, i, row)
						}
					}
				}
				at := []int32{n - 1, 0, 300, 300, 900}
				some := NewMatrix(len(at), cols)
				for t, i := range at {
					if int(i) >= lo && int(i) < hi {
						copy(some.Row(t), w.Row(int(i)))
					}
				}
				e.CompleteOwned(some, at, n)
				for t, i := range at {
					if !slices.Equal(some.Row(t), w.Row(int(i))) {
						return fmt.Errorf("CompleteOwned: another row %d", i)
					}
				}
				order := make([]float64, 1)
				e.InTurn(order, func() { order[0] = 10*order[0] + float64(e.Rank()+1) })
				if want := []float64{12, 1234, 1234567}[ranks/3]; order[0] != want {
					return fmt.Errorf("InTurn: %v, want %v", order[0], want)
				}
				mine, _ := e.ThinQRRows(own, n, 0)
				if !slices.Equal(mine.Data, r.Data) || !slices.Equal(own.Data, q.Sub(lo, hi, 0, cols).Clone().Data) {
					return errors.New("ThinQRRows: other bits than alone")
				}
				twice := NewMatrix(hi-lo, 2) // no new direction: the careful way
				for i := range twice.Rows {
					twice.Set(i, 0, w.At(lo+i, 0))
					twice.Set(i, 1, w.At(lo+i, 0))
				}
				if _, rank := e.ThinQRRows(twice, n, 0); rank != 1 {
					return fmt.Errorf("ThinQRRows: rank %d of two equal columns", rank)
				}
				return nil
			})
		}
	}
}

// A rank that is lost ends the others by a RankError, wherever they wait for it.
func TestLostRank(t *testing.T) {
	lost := errors.New("lost")
	err := commtest.Run(2, func(c comm.Comm) (err error) {
		e, err := NewEngine(nil, 1)
		if err != nil || c.Rank() == 1 {
			return errors.Join(err, lost)
		}
		e.Comm = c
		for _, wait := range []func(){
			func() { e.Complete(make([]float64, 4), 4, 1) },
			func() { e.FirstBytes([]byte("x")) },
		} {
			func() {
				defer func() {
					bad, ok := recover().(*RankError)
					if !ok || bad.Unwrap() == nil || bad.Error() == "" {
						err = errors.Join(err, fmt.Errorf("rank 0 goes on: %v", bad))
					}
				}()
				wait()
			}()
		}
		return err
	})
	if err == nil || err.Error() != "rank 1: lost" {
		t.Error(err)
	}
}
