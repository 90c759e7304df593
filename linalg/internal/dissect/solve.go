package dissect

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/room"
)

// rowsAtOnce is the number of rows of a node that a call of a routine takes, and that a worker takes of a node at the
// top.
const rowsAtOnce = linalg.BlockUnit

// A solver holds the work areas of solves with few right-hand sides, for blocks of q columns, a multiple of
// asm.ColUnit.
type solver struct {
	p      *Pair
	offset []int // of each node, where what it leaves to the one above begins, in rows
	left   []float64
	desks  []solveDesk // of each worker
	top    solveDesk

	l []packed
	x []float64
	q int

	forward, backward func(worker, task int)
}

// A solveDesk holds the block of a node: [rows][q], and [group][q][Pad].
type solveDesk struct{ tall, flat []float64 }

func (s *solver) init(p *Pair) {
	s.p, s.offset = p, make([]int, len(p.t.nodes)+1)
	for i := range p.t.nodes {
		s.offset[i+1] = s.offset[i] + len(p.t.nodes[i].front)
	}
	s.desks = make([]solveDesk, p.e.Par.Threads())
	s.forward, s.backward = s.forwardTask, s.backwardTask
}

func (s *solver) bytes() int64 {
	b := len(s.left) + len(s.top.tall) + len(s.top.flat)
	for i := range s.desks {
		b += len(s.desks[i].tall) + len(s.desks[i].flat)
	}
	return int64(8 * (b + len(s.offset)))
}

// A Factor names a factor of a Pair.
type Factor int

const (
	S   Factor = iota // L_S
	Sum               // L_S + L_Q
)

func (s *solver) begin(f Factor, x []float64, q int) {
	if q%asm.ColUnit != 0 || len(x) != s.p.t.m*q {
		panic("dissect: Pair: bad block")
	}
	s.l, s.x, s.q = s.p.s, x, q
	if f == Sum {
		s.l = s.p.sum
	}
	s.left = room.Reserve(s.left, s.offset[len(s.offset)-1]*q)
}

// Forward overwrites x (m×q, by positions) with L⁻¹x.
func (p *Pair) Forward(f Factor, x []float64, q int) {
	s := &p.solver
	s.begin(f, x, q)
	p.e.Par.For(len(p.t.tasks), s.forward)
	for _, id := range p.t.tops {
		s.forwardNode(&s.top, id, p.e.Par)
	}
	s.x, s.l = nil, nil
}

// Backward overwrites x with L'⁻¹x.
func (p *Pair) Backward(f Factor, x []float64, q int) {
	s := &p.solver
	s.begin(f, x, q)
	for i := len(p.t.tops) - 1; i >= 0; i-- {
		s.backwardNode(&s.top, p.t.tops[i], p.e.Par)
	}
	p.e.Par.For(len(p.t.tasks), s.backward)
	s.x, s.l = nil, nil
}

func (s *solver) forwardTask(worker, i int) {
	for id := s.p.t.tasks[i][0]; id < s.p.t.tasks[i][1]; id++ {
		s.forwardNode(&s.desks[worker], id, nil)
	}
}

func (s *solver) backwardTask(worker, i int) {
	for id := s.p.t.tasks[i][1] - 1; id >= s.p.t.tasks[i][0]; id-- {
		s.backwardNode(&s.desks[worker], id, nil)
	}
}

// room makes the block of a node: zeros.
func (d *solveDesk) room(k *packed, n *node, q int) {
	d.tall, d.flat = room.Reserve(d.tall, max(k.rows, n.size())*q), room.Reserve(d.flat, k.groups*q*asm.Pad)
	clear(d.tall)
	clear(d.flat)
}

// each runs body for i < count, on the threads of par where there is one.
func each(par *linalg.Par, count int, body func(i int)) {
	if par != nil {
		par.For(count, func(_, i int) { body(i) })
		return
	}
	for i := range count {
		body(i)
	}
}

// forwardNode solves for the points of a node, and leaves to the one above what that takes off its front.
func (s *solver) forwardNode(d *solveDesk, id int, par *linalg.Par) {
	n, k, q := &s.p.t.nodes[id], &s.l[id], s.q
	own := n.own()
	d.room(k, n, q)
	copy(d.tall, s.x[n.from*q:n.to*q])
	for _, kid := range n.kids {
		left := s.left[s.offset[kid]*q:]
		for i, r := range s.p.t.nodes[kid].into {
			out := d.tall[int(r)*q:][:q]
			for c, v := range left[i*q:][:q] {
				out[c] += v
			}
		}
	}
	for i := range own {
		for c, v := range d.tall[i*q:][:q] {
			d.flat[(i/asm.Pad*q+c)*asm.Pad+i%asm.Pad] = v
		}
	}
	clear(d.tall[:own*q])
	each(par, (k.rows+rowsAtOnce-1)/rowsAtOnce, func(i int) {
		end := min((i+1)*rowsAtOnce, k.rows)
		for g := 0; g < k.groups && g*asm.Pad < end; g++ {
			r := max(i*rowsAtOnce, g*asm.Pad)
			s.p.e.Impl.F64.AccI(d.tall[r*q:end*q], k.tile(g, r, end-r), d.flat[g*q*asm.Pad:][:q*asm.Pad],
				end-r, asm.Pad, q)
		}
	})
	copy(s.x[n.from*q:n.to*q], d.tall)
	copy(s.left[s.offset[id]*q:s.offset[id+1]*q], d.tall[own*q:])
}

// backwardNode solves for the points of a node, given those of its front.
func (s *solver) backwardNode(d *solveDesk, id int, par *linalg.Par) {
	n, k, q := &s.p.t.nodes[id], &s.l[id], s.q
	own := n.own()
	d.room(k, n, q)
	copy(d.tall, s.x[n.from*q:n.to*q])
	for i, p := range n.front {
		copy(d.tall[(own+i)*q:][:q], s.x[int(p)*q:])
	}
	each(par, k.groups, func(g int) {
		for r := g * asm.Pad; r < k.rows; r += rowsAtOnce {
			h := min(rowsAtOnce, k.rows-r)
			s.p.e.Impl.F64.AccJ(d.flat[g*q*asm.Pad:][:q*asm.Pad], k.tile(g, r, h), d.tall[r*q:][:h*q], h, asm.Pad, q)
		}
	})
	for i := range own {
		out := s.x[(n.from+i)*q:][:q]
		for c := range out {
			out[c] = d.flat[(i/asm.Pad*q+c)*asm.Pad+i%asm.Pad]
		}
	}
}
