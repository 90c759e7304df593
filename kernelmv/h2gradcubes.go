package kernelmv

import (
	"slices"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// The gradient's pairs of cubes. With z = F'M, the pairs (A, B) of one size at offsets that are
// equal but for signs have
//
//	Σ_AB Σ_r g_r z_Ar' C z_Br = <C, S>,   S = Σ_AB Σ_r g_r z_Ar z_Br'
//
// for each of the matrices C = P (w (ξ - ξ' - o)_d²) P' of the inputs: S is added up first, and what the
// nodes have of it, P'SP, is multiplied by w and squares once.

// An h2Task are the pairs of cubes of one level and offset, each once.
type h2Task struct {
	level int16
	code  int
	pairs []h2GradPair
}

type h2GradPair struct {
	a, b  int32
	signs int
}

// gradDepth are the columns of S's sums that are taken at once, at least.
const gradDepth = 64

// setTasks lists the pairs of cubes.
func (g *h2Gradient[T]) setTasks(plan *h2Plan) {
	at := map[[2]int]int{}
	g.tasks = g.tasks[:0]
	for i := range plan.sides {
		id := int32(i)
		for _, e := range plan.cubes.of(id) {
			if e < id {
				continue
			}
			offset, _ := plan.tree.offset(id, e)
			code, signs := codeOf(offset)
			level := plan.tree.boxes[id].cube
			k, ok := at[[2]int{int(level), code}]
			if !ok {
				k = len(g.tasks)
				at[[2]int{int(level), code}] = k
				g.tasks = append(g.tasks, h2Task{level: level, code: code})
			}
			g.tasks[k].pairs = append(g.tasks[k].pairs, h2GradPair{id, e, signs})
		}
	}
}

// runTasks adds up the pairs of the tasks of this rank, a few tasks at a time.
func (g *h2Gradient[T]) runTasks() {
	f := g.f
	par, rank := f.op.engine.Par, f.op.engine.Rank()
	g.products = slices.Grow(g.products, tasksAtOnce)[:tasksAtOnce]
	for g.task = g.taskRuns[rank]; g.task < g.taskRuns[rank+1] && f.ctx.Err() == nil; g.task += tasksAtOnce {
		count := min(tasksAtOnce, g.taskRuns[rank+1]-g.task)
		par.For(count, g.taskBody)
		for k := range count {
			if f.ctx.Err() == nil {
				g.spread(g.task+k, g.products[k])
			}
		}
	}
}

// tasksAtOnce is how many S there are at a time.
const tasksAtOnce = 16

// addUp sets S of a task.
func (g *h2Gradient[T]) addUp(worker, i int) {
	f, s, task := g.f, &g.work[worker], &g.tasks[g.task+i]
	v := f.movers[task.level]
	s.rows = v.rowsTo(s.rows[:0], task.code)
	size, width := len(s.rows), asm.GemmWidth[T]()
	wide, r := padTo(f.p, asm.GemmRows), f.src.Cols
	high, low := padTo(size, width), padTo(size, asm.GemmRows)
	g.products[i] = grow(g.products[i], low*high)
	sum := g.products[i]
	clear(sum)
	for pairs := range slices.Chunk(task.pairs, max(gradDepth/r, 1)) {
		if f.ctx.Err() != nil {
			return
		}
		depth := len(pairs) * r
		s.za, s.zb = grow(s.za, depth*low), grow(s.zb, depth*high)
		for k, pair := range pairs {
			sign := v.sign[pair.signs]
			g.packCube(s.za, asm.GemmRows, depth, k*r, s.rows, f.z[f.zAt[pair.a]*wide:], sign, true)
			g.packCube(s.zb, width, depth, k*r, s.rows, f.z[f.zAt[pair.b]*wide:], sign, false)
		}
		for b := 0; b < high; b += width {
			for a := 0; a < low; a += asm.GemmRows {
				f.kit.Gemm(sum[a*high+b:], high, 1, s.za[a*depth:][:depth*asm.GemmRows], s.zb[b*depth:][:depth*width],
					depth, true)
			}
		}
	}
}

// packCube packs those functions of z of a cube from a depth on in panels [rows/width][depth][width], with
// signs and, if so asked, weights.
func (g *h2Gradient[T]) packCube(to []T, width, depth, at int, rows []int, z, sign []T, weigh bool) {
	for k := range g.f.src.Cols {
		column := z[k/asm.GemmRows*len(sign)*asm.GemmRows+k%asm.GemmRows:]
		w := T(1)
		if weigh {
			w = T(g.weight[k])
		}
		for a := range padTo(len(rows), width) {
			x := T(0)
			if a < len(rows) {
				x = w * sign[rows[a]] * column[rows[a]*asm.GemmRows]
			}
			to[a/width*width*depth+(at+k)*width+a%width] = x
		}
	}
}

// spread adds 2 <C, S> to the sums of the inputs.
func (g *h2Gradient[T]) spread(i int, sum []float64) {
	f, task, d := g.f, &g.tasks[i], g.f.plan.tree.dim
	e, v := f.op.engine, f.movers[task.level]
	rows := v.rowsTo(nil, task.code)
	size := len(rows)
	s := linalg.Matrix{Rows: size, Cols: size, Stride: padTo(size, asm.GemmWidth[T]()), Data: sum}
	p := linalg.NewMatrix(size, v.m)
	for a, row := range rows {
		copy(p.Row(a), v.p.Row(row))
	}
	half, at := linalg.NewMatrix(size, v.m), linalg.NewMatrix(v.m, v.m)
	e.GemmTo(half, 1, s, false, p, false, 0)
	e.GemmTo(at, 1, p, true, half, false, 0)
	other := v.shifted(v.nodes, offsetOf(task.code), d)
	w := v.entries(f.op, other, d, true)
	out := g.parts[(len(f.plan.tree.boxes)+i)*d:]
	for a := range v.m {
		row := w.Row(a)
		for b, q := range at.Row(a) {
			q *= 2 * row[b]
			for k := range d {
				x := v.nodes[a*d+k] - other[b*d+k]
				out[k] += q * x * x
			}
		}
	}
}
