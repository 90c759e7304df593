package kernelmv

import (
	"context"
	"math"
)

// Maps have so many rows that the nearest earlier ones, with noise, tell of a small
// place only: K̂ and W'W then differ in what is smooth over that, and passes go into it.
// So a quarter of the neighbours are taken from the first rows of the ordering, which lie
// as far apart as a larger place needs. D = 2, ℓ .1, noise 1e-2, passes with nearest rows
// alone and so: n = 1e5, 32 neighbours, 10 and 6; n = 3e5, 48 neighbours, 12 and 9. At
// n = 20000 passes are as many or fewer, but there are few to save.
const (
	spreadRows  = 50000 // from which on
	spreadStep  = 16    // the first n/spreadStep rows of the ordering are the leading ones
	spreadShare = 4     // k/spreadShare neighbours are leading ones beside the nearest
)

// spreads tells whether some of k neighbours of each of n rows are leading ones.
func (o *Op) spreads(n, k int) bool {
	return o.pts.dim >= 1 && o.pts.dim <= h2MaxDim && n >= spreadRows && k <= n/spreadStep
}

// spreadTo is NeighboursTo for k - k/spreadShare nearest earlier rows and the nearest
// of the leading ones besides. The leading rows have k nearest earlier ones.
func (o *Op) spreadTo(ctx context.Context, dst []int32, order []int, k int) error {
	n, m := len(order), len(order)/spreadStep
	at := make([]int32, n)
	for i := range at {
		at[i] = int32(i)
	}
	if err := o.neighboursOf(ctx, dst[:m*k], order, at[:m], k); err != nil {
		return err
	}
	near := k - k/spreadShare
	packed := dst[n*k-(n-m)*near:]
	if err := o.neighboursOf(ctx, packed, order, at[m:], near); err != nil {
		return err
	}
	for q := m; q < n; q++ { // row q ends before row q+1 of packed begins
		copy(dst[q*k:q*k+near], packed[(q-m)*near:(q-m+1)*near])
	}
	return o.leadTo(ctx, dst, order, k, near)
}

// leadTo fills the lists of rows that are not leading from the near-th place on. Of the
// leading rows, those that are among the first near are the nearest: the next are taken.
func (o *Op) leadTo(ctx context.Context, dst []int32, order []int, k, near int) error {
	n, m, d := len(order), len(order)/spreadStep, o.pts.dim
	index := make([]int32, m)
	for i := range index {
		index[i] = int32(order[i])
	}
	t, queue := newTree(o.someRows(index), d), o.following(order, m)
	work, lists := make([]nearest, o.engine.Par.Threads()), make([][]int32, o.engine.Par.Threads())
	tasks := (n - m + crossRows - 1) / crossRows
	o.engine.ForDealt(tasks, func(worker, task int) {
		if ctx.Err() != nil {
			return
		}
		s, guess := &work[worker], math.Inf(1)
		for _, q := range queue[task*crossRows : min(n-m, (task+1)*crossRows)] {
			row, r := dst[int(q)*k:int(q+1)*k], order[q]
			known := 0
			for _, p := range row[:near] {
				known += flag(int(p) < m)
			}
			x, list := o.pts.x[r*d:(r+1)*d], grow(lists[worker], known+k-near)
			t.nearestTo(s, list, x, guess, m)
			lists[worker] = list
			copy(row[near:], list[known:])
			guess = nearBy * s.d[s.size-1]
		}
	})
	o.completeQueue(dst, queue, tasks, k)
	return ctx.Err()
}

// nearestTo sets list to the len(list) nearest to x of the points at positions before end,
// tried first within a squared distance of guess.
func (t *tree) nearestTo(s *nearest, list []int32, x []float64, guess float64, end int) {
	s.reset(len(list))
	s.limit = guess
	t.find(s, 0, x, int32(end))
	if s.size < min(len(list), end) {
		s.reset(len(list))
		t.find(s, 0, x, int32(end))
	}
	s.write(list)
}

// following returns the positions m.. of an ordering in the order of a tree, so that
// searches one after the other find their leaves in the cache.
func (o *Op) following(order []int, m int) []int32 {
	var rows []int32
	for _, plan := range o.h2.plan {
		if plan != nil {
			rows = plan.tree.order
		}
	}
	if rows == nil {
		rows = newTree(o.allRows(), o.pts.dim).pos
	}
	at := make([]int32, len(order))
	for q, r := range order {
		at[r] = int32(q)
	}
	queue := make([]int32, 0, len(order)-m)
	for _, r := range rows {
		if int(at[r]) >= m {
			queue = append(queue, at[r])
		}
	}
	return queue
}
