package precond

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/room"
)

const (
	tileRows = linalg.BlockUnit // rows of a tile
	tileCols = asm.Pad
)

// A tiled is an r×m matrix packed for products with blocks of few columns:
// groups of 96 columns, [group][r padded to RowUnit][96], so that asm's
// accumulation routines run over it without repacking. It takes
// 8·room.RoundUp(r, 24)·room.RoundUp(m, 96) bytes.
//
// A block with q columns comes in two forms, q padded to a multiple of ColUnit:
// tall, [rows padded][q], and flat, [group][q][96]. Where spread, each rank has its own
// rows of the matrix and of tall blocks.
type tiled struct {
	e          *linalg.Engine
	rows, cols int // of the matrix
	rp, cp     int // padded
	spread     bool
	lo, hi     int // rows that this rank holds, hi with the padding: all, unless spread
	data       []float64

	q          int
	tall, flat []float64
	parts      []float64 // [part][group][q][96]
	partRows   int

	sumPart, sumTile, addTile func(worker, i int)
}

// newTiled returns a matrix of zeros.
func newTiled(e *linalg.Engine, rows, cols int, spread bool) *tiled {
	t := &tiled{e: e, rows: rows, cols: cols, rp: room.RoundUp(rows, asm.RowUnit), cp: room.RoundUp(cols, tileCols),
		spread: spread}
	t.hi = t.rp
	if spread {
		lo, hi := e.OwnRows(rows)
		t.lo, t.hi = lo, lo+room.RoundUp(hi-lo, asm.RowUnit)
	}
	t.data = make([]float64, (t.hi-t.lo)*t.cp)
	t.partRows = linalg.GroupRows(rows)
	t.bind()
	return t
}

// bind makes the bodies of loops, once, so that a product allocates nothing.
func (t *tiled) bind() { t.sumPart, t.sumTile, t.addTile = t.transPart, t.addParts, t.mulRows }

// set copies the rows that this rank holds from m, which is these.
func (t *tiled) set(m linalg.Matrix) {
	t.e.Par.ForRows(min(t.hi, t.rows)-t.lo, func(i int) {
		row := m.Row(i)
		for j := 0; j < t.cols; j += tileCols {
			copy(t.tile(j/tileCols, t.lo+i, 1), row[j:min(j+tileCols, t.cols)])
		}
	})
}

// tile is h rows, of this rank, of a group of columns.
func (t *tiled) tile(group, r, h int) []float64 {
	return t.data[(group*(t.hi-t.lo)+r-t.lo)*tileCols:][:h*tileCols]
}

// transMul sets flat = (M' tall)': flat [cp/96][q][96]. The sum over rows
// is taken in the groups of groups.go.
func (t *tiled) transMul(flat, tall []float64, q int) {
	t.q, t.tall, t.flat = q, tall, flat
	parts := (t.rp + t.partRows - 1) / t.partRows
	if parts == 1 && !t.spread {
		t.parts = flat
		t.e.Par.For(t.cp/tileCols, t.sumPart)
		t.parts = nil
	} else {
		buf := t.e.Scratch(parts * q * t.cp)
		t.parts = buf
		groups := t.cp / tileCols
		if t.spread {
			t.e.ForShare(parts, groups, t.sumPart)
			t.e.Complete(buf, parts, q*t.cp)
		} else {
			t.e.Par.For(parts*groups, t.sumPart)
		}
		t.e.Par.For(q, t.sumTile)
		t.parts = nil
	}
	t.tall, t.flat = nil, nil
}

// transPart sums one part of the rows for one group of columns. Inside a part
// the layout is [group][q][96].
func (t *tiled) transPart(_, i int) {
	groups := t.cp / tileCols
	part, group := i/groups, i%groups
	out := t.parts[(part*groups+group)*t.q*tileCols:][:t.q*tileCols]
	clear(out)
	end := min((part+1)*t.partRows, t.rp)
	for r := part * t.partRows; r < end; r += tileRows {
		h := min(tileRows, end-r)
		t.e.Impl.F64.AccJ(out, t.tile(group, r, h), t.tall[(r-t.lo)*t.q:][:h*t.q], h, tileCols, t.q)
	}
}

// addParts adds up column c of the block over the parts, in order.
func (t *tiled) addParts(_, c int) {
	groups := t.cp / tileCols
	for g := range groups {
		out := t.flat[(g*t.q+c)*tileCols:][:tileCols]
		clear(out)
		for k := 0; k*t.partRows < t.rp; k++ {
			t.e.Axpy(1, t.parts[((k*groups+g)*t.q+c)*tileCols:][:tileCols], out)
		}
	}
}

// mulAdd adds tall += M flat', flat as transMul gives it.
func (t *tiled) mulAdd(tall, flat []float64, q int) {
	t.q, t.tall, t.flat = q, tall, flat
	t.e.Par.For((t.hi-t.lo+tileRows-1)/tileRows, t.addTile)
	t.tall, t.flat = nil, nil
}

func (t *tiled) mulRows(_, i int) {
	// From the end: transMul has just been there, and the cache may still hold it.
	r := t.lo + ((t.hi-t.lo+tileRows-1)/tileRows-1-i)*tileRows
	h := min(tileRows, t.hi-r)
	for g := range t.cp / tileCols {
		t.e.Impl.F64.AccI(t.tall[(r-t.lo)*t.q:][:h*t.q], t.tile(g, r, h),
			t.flat[g*t.q*tileCols:][:t.q*tileCols], h, tileCols, t.q)
	}
}

// flatToTall sets tall[j][c] = flat, [cp][q] from [group][q][96].
func flatToTall(tall, flat []float64, cp, q int) {
	for g := range cp / tileCols {
		for c := range q {
			for j, v := range flat[(g*q+c)*tileCols:][:tileCols] {
				tall[(g*tileCols+j)*q+c] = v
			}
		}
	}
}

// tallToFlat is the inverse of flatToTall.
func tallToFlat(flat, tall []float64, cp, q int) {
	for g := range cp / tileCols {
		for c := range q {
			out := flat[(g*q+c)*tileCols:][:tileCols]
			for j := range out {
				out[j] = tall[(g*tileCols+j)*q+c]
			}
		}
	}
}
