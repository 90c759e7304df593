package linalg

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// Inner products of divided rows have the bits of one rank: where groups of rows of the ranks are calls of the
// micro-kernel or not, ranks have fewer rows than a call, sums are of several calls, and there is no row for a rank.
func TestGramRows(t *testing.T) {
	rng := newRand(11)
	for _, n := range []int{1, 100, 3*BlockUnit + 5, 16*BlockUnit + 1, 50*BlockUnit + 77, 70001} {
		x, y := randMatrix(rng, n, 5).Clone(), randMatrix(rng, n, 3)
		e := testEngine(t, nil, 2)
		want, square := NewMatrix(5, 3), NewMatrix(5, 5)
		e.GramTo(want, x, y)
		e.GramTo(square, x, x)
		for _, ranks := range []int{1, 2, 3, 4, 7} {
			onRanks(t, ranks, func(e *Engine) error {
				lo, hi := e.OwnRows(n)
				got, again := NewMatrix(5, 3), NewMatrix(5, 5)
				e.GramRowsTo(got, x.Sub(lo, hi, 0, 5), y.Sub(lo, hi, 0, 3), n)
				e.GramRowsTo(again, x.Sub(lo, hi, 0, 5), x.Sub(lo, hi, 0, 5), n)
				if !slices.Equal(got.Data, want.Data) || !slices.Equal(again.Data, square.Data) {
					return fmt.Errorf("%d rows: other bits than alone", n)
				}
				return nil
			})
		}
	}
}

// The same of products whose sums are not kept for groups.
func TestGramRowsWide(t *testing.T) {
	const n, cols = 9*BlockUnit + 1, 65
	x := randMatrix(newRand(12), n, cols)
	e := testEngine(t, nil, 1)
	want := NewMatrix(cols, cols)
	e.GramTo(want, x, x)
	onRanks(t, 3, func(e *Engine) error {
		lo, hi := e.OwnRows(n)
		got := NewMatrix(cols, cols)
		e.GramRowsTo(got, x.Sub(lo, hi, 0, cols), x.Sub(lo, hi, 0, cols), n)
		if !slices.Equal(got.Data, want.Data) {
			return errors.New("other bits than alone")
		}
		return nil
	})
}
