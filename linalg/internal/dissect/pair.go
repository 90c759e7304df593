package dissect

import (
	"context"
	"math"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/internal/room"
)

// A Pair holds two factors over a Tree, in its order of elimination, of which both are lower triangles with the same
// entries. With K the covariance of the points, J the points of a node and A its front,
//
//	G = K_JA K_AA⁻¹,   V = K_JJ - G K_AJ,   L_JJ L_JJ' = V⁻¹,   L_AJ = -G'L_JJ
//
// are the columns J of L_Q: Q⁻¹ is the covariance of a process in which the points of a node depend on those behind by
// its front alone, which surrounds them (Vecchia 1988, in blocks; of all Q with these entries the nearest in the sense
// of Kullback and Leibler). L_S is the Cholesky factor of S = Q + Σ_c M_c.
type Pair struct {
	e      *linalg.Engine
	t      *Tree
	s, sum []packed // of each node: L_S, and L_S + L_Q
	logDet float64
	solver solver
}

// Parts are what a Pair is made of.
type Parts struct {
	// Covariance sets dst to K of the points, both triangles; calls with different workers run at the same time.
	Covariance func(worker int, dst linalg.Matrix, points []int32)
	// Clique returns M_c of clique c, its lower triangle row by row, in the order of its points.
	Clique func(c int) []float64
}

// NewPair makes both factors. It returns ctx.Err() if ctx ends first, and a *linalg.NotPDError if K of a node and its
// front, or what is left of S, is not positive definite to working precision.
func NewPair(ctx context.Context, e *linalg.Engine, t *Tree, parts Parts) (*Pair, error) {
	p := &Pair{e: e, t: t, s: make([]packed, len(t.nodes)), sum: make([]packed, len(t.nodes))}
	b := &builder{p: p, ctx: ctx, parts: parts, updates: make([]linalg.Matrix, len(t.nodes)),
		logs: make([]float64, len(t.nodes)), errs: make([]error, len(t.tasks))}
	for range e.Par.Threads() {
		alone := &linalg.Engine{Impl: e.Impl, Par: linalg.NewPar(1)}
		b.desks = append(b.desks, &desk{e: alone, place: make([]int32, t.m)})
		defer alone.Par.Until(ctx)()
	}
	e.Par.For(len(t.tasks), func(worker, i int) {
		for id := t.tasks[i][0]; id < t.tasks[i][1] && b.errs[i] == nil; id++ {
			b.errs[i] = b.node(b.desks[worker], worker, id)
		}
	})
	defer e.Par.Until(ctx)()
	top := &desk{e: e, place: b.desks[0].place}
	for _, err := range b.errs {
		if err != nil {
			return nil, err
		}
	}
	for _, id := range t.tops {
		if err := b.node(top, 0, id); err != nil {
			return nil, err
		}
	}
	for _, v := range b.logs {
		p.logDet += v
	}
	p.solver.init(p)
	return p, ctx.Err()
}

// On returns the same factors for another engine: numbers are shared, work areas are not.
func (p *Pair) On(e *linalg.Engine) *Pair {
	o := &Pair{e: e, t: p.t, s: p.s, sum: p.sum, logDet: p.logDet}
	o.solver.init(o)
	return o
}

// Tree returns the order of elimination.
func (p *Pair) Tree() *Tree { return p.t }

// LogDet returns log det S - log det Q.
func (p *Pair) LogDet() float64 { return p.logDet }

// Bytes returns the memory of both factors, the tree and the work areas.
func (p *Pair) Bytes() int64 {
	b := int64(4*len(p.t.cliques)+8*p.t.m) + p.solver.bytes()
	for i := range p.s {
		b += int64(8 * (len(p.s[i].data) + len(p.sum[i].data)))
		b += int64(8*len(p.t.nodes[i].front) + 200)
	}
	return b
}

// A packed holds the columns of a node of the inverse of a step of elimination,
//
//	[ L_JJ⁻¹; -L_AJ L_JJ⁻¹ ]
//
// as tiles for the routines of asm: groups of asm.Pad columns, [rows][Pad], without the rows above the first column.
type packed struct {
	rows, groups int // rows with padding
	data         []float64
}

// tile returns the rows r..r+h-1 of a group.
func (k *packed) tile(group, r, h int) []float64 {
	at := asm.Pad * (group*k.rows - asm.Pad*group*(group-1)/2 + r - asm.Pad*group)
	return k.data[at : at+h*asm.Pad]
}

// pack packs a step of elimination from L_JJ, of which it reads the lower triangle, and L_AJ; it overwrites both.
func (k *packed) pack(e *linalg.Engine, l, below linalg.Matrix) {
	e.SolveRight(below, l, false)
	e.InvertLower(l)
	own := l.Rows
	k.groups = (own + asm.Pad - 1) / asm.Pad
	k.rows = room.RoundUp(max(own+below.Rows, k.groups*asm.Pad), asm.RowUnit)
	k.data = make([]float64, asm.Pad*(k.groups*k.rows-asm.Pad*k.groups*(k.groups-1)/2))
	for g := range k.groups {
		from := g * asm.Pad
		for i := from; i < own; i++ {
			copy(k.tile(g, i, 1), l.Row(i)[from:min(i+1, from+asm.Pad)])
		}
		for i := range below.Rows {
			out := k.tile(g, own+i, 1)
			for j, v := range below.Row(i)[from:min(own, from+asm.Pad)] {
				out[j] = -v
			}
		}
	}
}

// logDiag returns Σ log l_ii.
func logDiag(l linalg.Matrix) float64 {
	s := 0.0
	for i := range l.Rows {
		s += math.Log(l.At(i, i))
	}
	return s
}
