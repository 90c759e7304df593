package kernelmv

import (
	"context"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// The methods of linalg.ColOp: entries of K, in float64 and without noise.

// DiagTo sets dst[i] = K_ii = s2.
func (o *Op) DiagTo(dst []float64) {
	if len(dst) != o.Dim() {
		panic("kernelmv: DiagTo: bad length")
	}
	for i := range dst {
		dst[i] = o.kernel.Variance
	}
}

// Places returns the points, scaled so that K depends on their distance, n×dim, and dim, the inputs that are in the
// distance. They hold until Reset and are not to be changed.
func (o *Op) Places() (x []float64, dim int) { return o.pts.x[:o.Dim()*o.pts.dim], o.pts.dim }

// ColsTo sets dst = K[from:from+dst.Rows, cols].
func (o *Op) ColsTo(ctx context.Context, dst linalg.Matrix, from int, cols []int) error {
	checkCall(ctx, dst)
	if from < 0 || from+dst.Rows > o.Dim() || dst.Cols != len(cols) {
		panic("kernelmv: ColsTo: bad shapes")
	}
	index := make([]int32, len(cols))
	for k, c := range cols {
		if c < 0 || c >= o.Dim() {
			panic("kernelmv: ColsTo: no such column")
		}
		index[k] = int32(c)
	}
	rows := rowSet{n: dst.Rows, x: o.pts.x[from*o.pts.dim:]}
	return o.entriesTo(ctx, dst, rows, o.someRows(index))
}

// RowsTo sets dst = K[rows, :], len(rows)×n.
func (o *Op) RowsTo(ctx context.Context, dst linalg.Matrix, rows []int32) error {
	checkCall(ctx, dst)
	o.checkRows(rows)
	if dst.Rows != len(rows) || dst.Cols != o.Dim() {
		panic("kernelmv: RowsTo: bad shapes")
	}
	return o.entriesTo(ctx, dst, o.someRows(rows), o.allRows())
}

// gathered is the work area of one worker for BlockTo and TrianglesTo.
type gathered struct {
	xi, xj, tile []float64
}

// TrianglesTo sets the lower triangles of asm.CholLanes blocks of K side by
// side, as linalg.ColOp says: no entry is evaluated for padding alone.
func (o *Op) TrianglesTo(worker int, dst []float64, rows []int32) {
	o.checkRows(rows)
	n, d := len(rows)/asm.CholLanes, o.pts.dim
	if len(rows)%asm.CholLanes != 0 || n%4 != 1 || len(dst) != linalg.TriangleRoom(n) {
		panic("kernelmv: TrianglesTo: bad shapes")
	}
	w, im, family := &o.blocks[worker], o.engine.Impl, o.kernel.Family
	w.xi = grow(w.xi, n*d*asm.CholLanes)
	im.GatherLanes(w.xi, o.pts.x, d, rows, n, d)
	im.LaneDist(dst, w.xi, n, d, asm.Clamp[float64](family))
	im.F64.Cov(family, dst)
	if s2 := o.kernel.Variance; s2 != 1 {
		for i, v := range dst {
			dst[i] = s2 * v
		}
	}
}

// BlockTo sets dst = K[rows, rows], both triangles, len(rows)×len(rows). Calls
// with different workers may run at the same time.
func (o *Op) BlockTo(worker int, dst linalg.Matrix, rows []int32) {
	dst.Check()
	o.checkRows(rows)
	n := len(rows)
	if dst.Rows != n || dst.Cols != n {
		panic("kernelmv: BlockTo: bad shapes")
	}
	if n == 0 {
		return
	}
	w, d, kit := &o.blocks[worker], o.pts.dim, &o.engine.Impl.F64
	high, wide := padTo(n, asm.RowUnit), padTo(n, asm.Pad)
	w.xi, w.xj = grow(w.xi, high*d), grow(w.xj, wide*d)
	w.tile = grow(w.tile, asm.RowUnit*wide)
	// The rest of the padding may hold what earlier calls left there.
	interleave(w.xi, o.pts.x, d, asm.Panel, rows, n, 0, padTo(n, 4))
	interleave(w.xj, o.pts.x, d, asm.Block[float64](), rows, n, 0, padTo(n, 4))
	clamp, s2 := asm.Clamp[float64](o.kernel.Family), o.kernel.Variance
	for i := 0; i < n; i += asm.RowUnit {
		// Columns right of the diagonal are copied from below it.
		cols := min(wide, padTo(i+asm.RowUnit, asm.Pad))
		tile := w.tile[:asm.RowUnit*cols]
		kit.Dist(tile, w.xi[i*d:(i+asm.RowUnit)*d], w.xj[:cols*d], d, asm.RowUnit, cols, clamp)
		kit.Cov(o.kernel.Family, tile)
		for a := i; a < min(n, i+asm.RowUnit); a++ {
			out, in := dst.Row(a), tile[(a-i)*cols:]
			for b := range a + 1 {
				v := s2 * in[b]
				out[b] = v
				dst.Data[b*dst.Stride+a] = v
			}
		}
	}
}
