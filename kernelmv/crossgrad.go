package kernelmv

import (
	"context"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// CrossGradTo sets dst[d] = Σ_uf M_uf ∂K(x_rows[u], x_f)/∂log l_d for a dense
// m (len(rows)×n, of any kind), and returns Σ_uf M_uf K(x_rows[u], x_f), both
// in float64. It returns ctx.Err() if ctx ends first.
func (o *Op) CrossGradTo(ctx context.Context, dst []float64, rows []int32, m linalg.Matrix) (float64, error) {
	checkCall(ctx, m)
	o.checkRows(rows)
	if len(dst) != o.Inputs() || m.Rows != len(rows) || m.Cols != o.Dim() {
		panic("kernelmv: CrossGradTo: bad shapes")
	}
	g := newCrossGrad(o, rows, m)
	if err := g.walk.run(ctx); err != nil {
		return 0, err
	}
	clear(dst)
	f, size := o.kernel.Variance*o.kernel.Family.WeightFactor(), len(o.pts.dims)+1
	var mk float64
	for part := 0; part < len(g.partial); part += size {
		for k, d := range o.pts.dims {
			dst[d] += f * g.partial[part+k]
		}
		mk += g.partial[part+size-1]
	}
	return o.kernel.Variance * mk, nil
}

// A crossGrad adds up the gradient of tiles between rows and all points, with
// the three terms of grad.go. Every task has its own sums.
type crossGrad struct {
	walk    *walk[float64]
	m       linalg.Matrix
	x       []float64 // n×dim, local coordinates
	cols    int       // coordinates and the column of ones, padded
	partial []float64 // [task][input, then M∘K]
	workers []crossGradScratch
}

type crossGradScratch struct {
	cov, xi, yj, rowSum []float64
}

func newCrossGrad(o *Op, rows []int32, m linalg.Matrix) *crossGrad {
	g := &crossGrad{walk: o.newWalk(o.someRows(rows), o.allRows()), m: m, x: o.pts.locals()}
	g.cols = padTo(len(o.pts.dims)+1, asm.ColUnit)
	all, _ := g.walk.tasks()
	g.partial = make([]float64, all*(len(o.pts.dims)+1))
	g.workers = make([]crossGradScratch, o.engine.Par.Threads())
	g.walk.visit = g.visit
	return g
}

func (g *crossGrad) visit(worker, part int, t crossTile[float64]) {
	o, kit, s := g.walk.op, g.walk.kit, &g.workers[worker]
	dims := len(o.pts.dims)
	out := g.partial[part*(dims+1) : (part+1)*(dims+1)]
	s.cov = grow(s.cov, len(t.data))
	s.xi, s.yj = grow(s.xi, asm.RowUnit*g.cols), grow(s.yj, g.cols*t.stride)
	s.rowSum = grow(s.rowSum, asm.RowUnit)
	copy(s.cov, t.data)
	kit.Cov(o.kernel.Family, s.cov)
	kit.Weight(o.kernel.Family, t.data)
	clear(s.xi)
	for a := range asm.RowUnit {
		w, k := t.data[a*t.stride:(a+1)*t.stride], s.cov[a*t.stride:]
		if a >= t.rows {
			clear(w)
			continue
		}
		for b, v := range g.m.Row(t.i + a)[t.j : t.j+t.cols] {
			out[dims] += float64(v * k[b])
			w[b] *= v
		}
		clear(w[t.cols:])
		x := s.xi[a*g.cols:]
		copy(x, g.left(t.i + a)[:dims])
		x[dims] = 1
	}
	clear(s.yj)
	clear(s.rowSum)
	kit.AccJ(s.yj, t.data, s.xi, asm.RowUnit, t.stride, g.cols)
	kit.RowSum(s.rowSum, t.data, asm.RowUnit, t.stride)
	for b := range t.cols {
		x, sum := g.x[(t.j+b)*o.pts.dim:], s.yj[dims*t.stride+b]
		for k := range dims {
			out[k] += x[k] * (x[k]*sum - 2*s.yj[k*t.stride+b])
		}
	}
	for a := range t.rows {
		for k, x := range s.xi[a*g.cols : a*g.cols+dims] {
			out[k] += x * x * s.rowSum[a]
		}
	}
}

// left returns the local coordinates of left row i.
func (g *crossGrad) left(i int) []float64 {
	p := g.walk.op.pts
	r := int(g.walk.left.index[i])
	return g.x[r*p.dim : (r+1)*p.dim]
}
