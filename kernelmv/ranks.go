package kernelmv

import "bbgp.dev/linalg"

// completeRows gathers the rows of m that the ranks have made for the positions of their superblocks.
func (o *Op) completeRows(m linalg.Matrix) {
	if o.engine.Ranks() == 1 {
		return
	}
	groups, _ := o.sched.groups()
	rows := linalg.GroupRows(o.Dim())
	if o.order == nil {
		o.engine.CompleteRows(m, groups, rows)
		return
	}
	sorted := linalg.NewMatrix(m.Rows, m.Cols)
	for q := range m.Rows {
		copy(sorted.Row(q), m.Row(o.row(q)))
	}
	o.engine.CompleteRows(sorted, groups, rows)
	for q := range m.Rows {
		copy(m.Row(o.row(q)), sorted.Row(q))
	}
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
