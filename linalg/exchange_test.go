package linalg

import (
	"errors"
	"fmt"
	"testing"
)

// Every rank gets what each of the others has made for it, of any length, and nothing else.
func TestExchange(t *testing.T) {
	for _, ranks := range []int{1, 2, 5} {
		counts := make([]int, ranks*ranks)
		for k := range counts {
			counts[k] = k * k % 4
		}
		onRanks(t, ranks, func(e *Engine) (err error) {
			got := 0
			e.Exchange(counts, func(rank int, x []float64) {
				for i := range x {
					x[i] = float64(100*e.Rank() + 10*rank + i)
				}
			}, func(rank int, x []float64) {
				got++
				if want := counts[rank*ranks+e.Rank()]; len(x) != want {
					err = errors.Join(err, fmt.Errorf("%d numbers of rank %d, want %d", len(x), rank, want))
				}
				for i, v := range x {
					if v != float64(100*rank+10*e.Rank()+i) {
						err = errors.Join(err, fmt.Errorf("%v at %d of rank %d", v, i, rank))
					}
				}
			})
			want := 0
			for r := range ranks {
				if counts[r*ranks+e.Rank()] > 0 && ranks > 1 {
					want++
				}
			}
			if got != want {
				err = errors.Join(err, fmt.Errorf("numbers of %d ranks, want of %d", got, want))
			}
			return err
		})
	}
	onRanks(t, 2, func(e *Engine) (err error) { // an error is final
		if e.Rank() == 1 {
			return e.Comm.Close()
		}
		defer func() {
			if lost, ok := recover().(*RankError); !ok {
				err = fmt.Errorf("recovered %v", lost)
			}
		}()
		e.Exchange(make([]int, 4), nil, nil)
		return nil
	})
}
