package kernelmv

import (
	"math"
	"slices"

	"bbgp.dev/asm"
)

// prepare packs the points for the given inputs, if that is not done yet, and
// makes room.
func (t *gradient[T]) prepare(inputs []int) {
	if t.fresh && slices.Equal(inputs, t.inputs) {
		return
	}
	o := t.op
	t.grid.pack(o, t.kit)
	t.inputs = append(t.inputs[:0], inputs...)
	cols := len(inputs) + 1
	t.groups = (cols + maxGroup - 1) / maxGroup
	t.width = padTo((cols+t.groups-1)/t.groups, asm.ColUnit)
	size := t.groups * t.width * o.sched.padded
	t.xi = grow(t.xi, size)
	t.makeRoom(1)
	o.engine.Par.For(o.sched.count, t.packPoints)
	t.fresh = true
}

// packPoints fills the rows of xi of a superblock. The origin is the median, a
// value of the column: an input that is the same in most rows is exactly 0
// there, and the squares of its differences cancel nothing. Rows of a far cluster have
// an origin of their own: with others they have no weight.
func (t *gradient[T]) packPoints(_, b int) {
	o, n, w := t.op, t.op.sched.padded, t.width
	c := o.kernel.Family.Scale()
	from, to := o.sched.span(b)
	for q := from; q < to; q++ {
		i := o.row(min(q, o.Dim()-1)) // any point will do for padding: M is 0 there
		raw := o.pts.raw.Row(i)
		for k := range t.groups * w {
			var x float64
			switch {
			case k < len(t.inputs):
				d := t.inputs[k]
				if j := slices.Index(o.pts.dims, d); j >= 0 {
					x = o.pts.local(j, raw[d])
				} else {
					x = (raw[d] - o.pts.centre[d]) * (c / o.gradScale(d))
				}
			case k == len(t.inputs):
				x = 1
			}
			t.xi[(k/w*n+q)*w+k%w] = T(x)
		}
	}
}

// setScale finds a power of two s_r for every column of u and the largest
// |g_r| s_r²: u_r/s_r and g_r s_r u_r/scale are at most about 1, so neither
// they nor M overflow in float32.
func (t *gradient[T]) setScale() {
	t.unit = grow(t.unit, t.rank)
	for r := range t.rank {
		var largest float64
		for i := range t.u.Rows {
			largest = max(largest, math.Abs(t.u.At(i, r)))
		}
		t.unit[r] = 1
		if largest > 1e-140 && largest < 1e140 {
			t.unit[r] = math.Ldexp(1, math.Ilogb(largest))
		}
	}
	t.scale = 0
	for r, g := range t.g {
		t.scale = max(t.scale, math.Abs(g)*t.unit[r]*t.unit[r])
	}
	if !(t.scale > 0) || math.IsInf(t.scale, 0) {
		t.scale = 1
	}
}

// packVectors fills ui and uj for a superblock.
func (t *gradient[T]) packVectors(_, b int) {
	o, r, wide := t.op, t.rank, asm.Block[T]()
	from, to := o.sched.span(b)
	for q := from; q < to; q++ {
		ui, uj := t.ui[q/asm.Panel*asm.Panel*r+q%asm.Panel:], t.uj[q/wide*wide*r+q%wide:]
		live := q < o.Dim()
		for k := range r {
			var v float64
			if live {
				v = t.u.At(o.row(q), k) / t.unit[k]
			}
			uj[k*wide] = T(v)
			ui[k*asm.Panel] = T(v * (t.g[k] * t.unit[k] * t.unit[k] / t.scale))
		}
	}
}
