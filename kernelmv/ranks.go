package kernelmv

import (
	"context"

	"bbgp.dev/linalg"
)

// ByRows says whether MulRowsTo may be called: where more than three inputs are in the distance, or every tile is
// evaluated. Otherwise points have an order of their own, in which ranks have other rows.
func (o *Op) ByRows() bool { return o.line == nil && !o.unsorted && o.order == nil }

// MulRowsTo sets dst to this rank's rows of K̂ src (Engine.OwnRows) for any number of columns; src has these rows, too.
func (o *Op) MulRowsTo(ctx context.Context, dst, src linalg.Matrix) error {
	return o.mulRowsTo(ctx, o.precision, dst, src)
}

func (v *view) ByRows() bool { return v.op.ByRows() }

func (v *view) MulRowsTo(ctx context.Context, dst, src linalg.Matrix) error {
	return v.op.mulRowsTo(ctx, v.precision, dst, src)
}

func (o *Op) mulRowsTo(ctx context.Context, prec Precision, dst, src linalg.Matrix) error {
	checkCall(ctx, dst, src)
	lo, hi := o.engine.OwnRows(o.Dim())
	if dst.Rows != hi-lo || src.Rows != hi-lo || dst.Cols != src.Cols || !o.ByRows() {
		panic("kernelmv: MulRowsTo: bad shapes or order")
	}
	return o.tilesTo(ctx, prec, dst, src, true)
}

// completeRows gathers the rows of m that the ranks have made for the positions of their superblocks.
func (o *Op) completeRows(m linalg.Matrix) {
	if o.engine.Ranks() == 1 {
		return
	}
	first := make([]int, o.engine.Ranks()+1)
	for r := range first {
		first[r] = o.engine.FirstRow(r, o.Dim())
	}
	o.engine.CompleteRuns(m, o.order, first)
}

// completeQueue gathers the k numbers in dst of each member of a queue, in tasks of crossRows members that were dealt.
func (o *Op) completeQueue(dst, queue []int32, tasks, k int) {
	if o.engine.Ranks() == 1 {
		return
	}
	found := make([]int32, len(queue)*k)
	for i, member := range queue {
		copy(found[i*k:(i+1)*k], dst[int(member)*k:])
	}
	linalg.CompleteDealt(o.engine, found, tasks, crossRows*k, false)
	for i, member := range queue {
		copy(dst[int(member)*k:int(member+1)*k], found[i*k:])
	}
}

// exchangeSums brings what this rank has added to rows of others to them, and what they have added to its own.
func (t *product[T]) exchangeSums() {
	o, d := t.op, t.op.sched.deal
	if d == nil {
		return
	}
	rows := func(from, to int) (first, end int) {
		first, end = d.added(from, to)
		return min(first*o.sched.block, o.Dim()), min(end*o.sched.block, o.Dim())
	}
	t.counts = grow(t.counts, d.ranks*d.ranks)
	for from := range d.ranks {
		for to := range d.ranks {
			first, end := rows(from, to)
			t.counts[from*d.ranks+to] = (end - first) * t.src.Cols * t.parts
		}
	}
	me, size := o.engine.Rank(), t.src.Cols*t.parts
	o.engine.Exchange(t.counts, func(to int, x []float64) {
		first, end := rows(me, to)
		o.engine.Par.For(end-first, func(_, i int) { t.sendRow(first+i, x[i*size:(i+1)*size]) })
	}, func(from int, x []float64) {
		first, end := rows(from, me)
		o.engine.Par.For(end-first, func(_, i int) { t.takeRow(first+i, x[i*size:(i+1)*size]) })
	})
}

// sendRow writes the sums of position q to x.
func (t *product[T]) sendRow(q int, x []float64) {
	n, w, p := t.op.sched.padded, t.width, t.src.Cols
	j0, cols := t.grid.tileOf(q)
	for k := range p {
		g, c := k/w, k%w
		yi, yj := (g*n+q)*w+c, (g*n+j0)*w+c*cols+q-j0
		x[k] = t.yi.high[yi] + t.yj.high[yj] // exact
		if t.parts == 2 {
			x[p+k] = t.yi.low[yi] + t.yj.low[yj]
		}
	}
}

// takeRow adds sums of another rank to those of position q, without rounding.
func (t *product[T]) takeRow(q int, x []float64) {
	n, w, p := t.op.sched.padded, t.width, t.src.Cols
	for k := range p {
		yi := (k/w*n+q)*w + k%w
		t.yi.high[yi] += x[k]
		if t.parts == 2 {
			t.yi.low[yi] += x[p+k]
		}
	}
}

// mergeRanks adds up the sums of all ranks.
func (o *Op) mergeRanks(total []exactSum) {
	ranks := o.engine.Ranks()
	if ranks == 1 {
		return
	}
	const each = limbs + 1
	size := len(total) * each
	x := make([]float64, ranks*size)
	for k := range total {
		total[k].carry()
		at := x[o.engine.Rank()*size+k*each:]
		for i, v := range total[k].limb {
			at[i] = float64(v)
		}
		at[limbs] = total[k].infinite
	}
	o.engine.Complete(x, ranks, size)
	clear(total)
	for r := range ranks {
		for k := range total {
			from := exactSum{infinite: x[r*size+k*each+limbs]}
			for i := range from.limb {
				from.limb[i] = int64(x[r*size+k*each+i])
			}
			total[k].merge(&from)
		}
	}
}
