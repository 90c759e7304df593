package dissect

import (
	"context"
	"errors"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/room"
)

// A builder makes the factors of a Pair, node after node.
type builder struct {
	p       *Pair
	ctx     context.Context
	parts   Parts
	updates []linalg.Matrix // of each node, what it leaves to the one above
	logs    []float64       // of each node, its part of log det S - log det Q
	errs    []error         // of each task
	desks   []*desk
}

// A desk is where one worker makes a node.
type desk struct {
	e                   *linalg.Engine
	place               []int32 // of a position, where it is among those of the node and its front
	points              []int32
	cov, latent, system []float64
}

func square(buf *[]float64, n int) linalg.Matrix {
	*buf = room.Reserve(*buf, n*n)
	return linalg.Matrix{Rows: n, Cols: n, Stride: n, Data: *buf}
}

// node makes the columns of a node of both factors.
func (b *builder) node(d *desk, worker, id int) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	n, e := &b.p.t.nodes[id], d.e
	own, size := n.own(), n.size()
	q, err := b.inverse(d, worker, n)
	if err != nil {
		return err
	}
	f := square(&d.system, size)
	e.SyrkTo(f, 1, q, false, 0)
	b.assemble(d, n, f)
	top, below, rest := f.Sub(0, own, 0, own), f.Sub(own, size, 0, own), f.Sub(own, size, own, size)
	if _, err := e.NewCholesky(top); err != nil {
		return b.failure(err, n.from, false)
	}
	e.SolveRight(below, top, true)
	e.SyrkTo(rest, -1, below, false, 1)
	b.updates[id] = rest.Clone()
	upper := q.Sub(0, own, 0, own)
	b.logs[id] = 2 * (logDiag(top) - logDiag(upper))
	for i := range size {
		row := q.Row(i)
		for j, v := range f.Row(i)[:min(i+1, own)] {
			row[j] += v
		}
	}
	b.p.s[id].pack(e, top, below)
	b.p.sum[id].pack(e, upper, q.Sub(own, size, 0, own))
	return nil
}

// failure names the point at whose position a factor failed, counted from another, or back from it.
func (b *builder) failure(err error, from int, back bool) error {
	var e *linalg.NotPDError
	if b.ctx.Err() != nil {
		return b.ctx.Err()
	}
	if !errors.As(err, &e) {
		return err
	}
	at := from + e.Pivot
	if back {
		at = from - e.Pivot
	}
	return &linalg.NotPDError{Pivot: int(b.p.t.order[at]), Value: e.Value}
}

// inverse returns the columns of a node of L_Q, [L_JJ; L_AJ], with zeros above the diagonal. The points are taken in
// the reverse order, A first: with C the Cholesky factor of K of these, L_JJ is the transpose of C_JJ⁻¹ in that order,
// and L_AJ that of -C_JJ⁻¹ C_JA C_AA⁻¹.
func (b *builder) inverse(d *desk, worker int, n *node) (linalg.Matrix, error) {
	own, size, e, order := n.own(), n.size(), d.e, b.p.t.order
	above := size - own
	d.points = d.points[:0]
	for _, q := range n.front {
		d.points = append(d.points, order[q])
	}
	for q := n.to - 1; q >= n.from; q-- {
		d.points = append(d.points, order[q])
	}
	c := square(&d.cov, size)
	b.parts.Covariance(worker, c, d.points)
	if _, err := e.NewCholesky(c); err != nil {
		var at *linalg.NotPDError
		if errors.As(err, &at) && at.Pivot < above {
			return c, b.failure(&linalg.NotPDError{Pivot: 0, Value: at.Value}, int(n.front[at.Pivot]), false)
		}
		return c, b.failure(err, n.to-1+above, true)
	}
	last, cross := c.Sub(above, size, above, size), c.Sub(above, size, 0, above)
	e.SolveRight(cross, c.Sub(0, above, 0, above), false)
	e.SolveLeft(last, false, cross)
	e.InvertLower(last)
	d.latent = room.Reserve(d.latent, size*own)
	q := linalg.Matrix{Rows: size, Cols: own, Stride: own, Data: d.latent}
	for i := range own {
		row := q.Row(i)
		clear(row[i+1:])
		for j := range i + 1 {
			row[j] = last.At(own-1-j, own-1-i)
		}
	}
	for i := range above {
		row := q.Row(own + i)
		for j := range row {
			row[j] = -cross.At(own-1-j, i)
		}
	}
	return q, nil
}

// assemble adds to the lower triangle of f, over the points of a node and its front, the cliques that begin there and
// what the nodes below have left.
func (b *builder) assemble(d *desk, n *node, f linalg.Matrix) {
	t := b.p.t
	n.places(d.place)
	for _, c := range n.cliques {
		m, at := b.parts.Clique(int(c)), t.Clique(int(c))
		for i, p := range at {
			r := d.place[p]
			for j, v := range m[i*(i+1)/2:][:i+1] {
				s := d.place[at[j]]
				f.Data[int(max(r, s))*f.Stride+int(min(r, s))] += v
			}
		}
	}
	for _, kid := range n.kids {
		u, into := b.updates[kid], t.nodes[kid].into
		for i, r := range into { // ascending
			out := f.Row(int(r))
			for j, v := range u.Row(i)[:i+1] {
				out[into[j]] += v
			}
		}
		b.updates[kid] = linalg.Matrix{}
	}
}
