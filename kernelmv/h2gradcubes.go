package kernelmv

import (
	"slices"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// The gradient's pairs of cubes. With z = F'M, the pairs (A, B) of one size at offsets that are
// mirrored in the first two inputs have, s being the reflection and a, b classes of functions (h2mirror.go),
//
//	Σ_AB Σ_r g_r z_Ar' C_s z_Br = Σ_ab <C_ab, S_ab>,   S_ab = Σ_A Σ_r g_r z_Ar,a (Σ_s χ_a⊕b(s) z_Brs,b)'
//
// for each of the matrices C = P (w (ξ - ξ' - o)_d²) P' of the inputs: S is added up first, and what the
// nodes have of it, P'SP, is multiplied by w and squares once. Of two pairs (A, B) and (B, A) one is taken where
// B is before or behind A along the third input, and both where it is beside.

// An h2Task are the pairs of cubes of one level at one offset and those mirrored.
type h2Task struct {
	level int16
	code  int
	sets  []h2Set
}

// An h2Set are a cube and those at mirrored offsets from it, -1 where there is none.
type h2Set struct {
	to   int32
	from [classes]int32
}

// gradDepth are the columns of S's sums that are taken at once, at least.
const gradDepth = 64

// setTasks lists the pairs of cubes.
func (g *h2Gradient[T]) setTasks(plan *h2Plan) {
	at := map[[2]int]int{}
	g.tasks = g.tasks[:0]
	for i := range plan.sides {
		id := int32(i)
		var sets [maxOffsets]int // of this cube, and one
		for _, e := range plan.cubes.of(id) {
			offset, _ := plan.tree.offset(id, e)
			if offset[2] < 0 {
				continue
			}
			code, image := codeOf(offset)
			level := plan.tree.boxes[id].cube
			k, ok := at[[2]int{int(level), code}]
			if !ok {
				k = len(g.tasks)
				at[[2]int{int(level), code}] = k
				g.tasks = append(g.tasks, h2Task{level: level, code: code})
			}
			task := &g.tasks[k]
			if sets[code] == 0 {
				task.sets = append(task.sets, h2Set{id, [classes]int32{-1, -1, -1, -1}})
				sets[code] = len(task.sets)
			}
			task.sets[sets[code]-1].from[image] = e
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

// An h2Shape says where the parts of S are: of a class of rows, its functions, the columns of its block, both
// as they are and padded, and where it begins.
type h2Shape struct {
	rows, cols, low, high, at [classes]int
	lows, highs, size         int
}

// shapeOf returns the shape of S at an offset.
func shapeOf[T asm.Float](corner *h2Corner[T]) (s h2Shape) {
	for a := range classes {
		s.rows[a], s.cols[a] = corner.size[a], corner.blocks[a].depth
		s.low[a], s.high[a] = padTo(s.rows[a], asm.GemmRows), padTo(s.cols[a], asm.GemmWidth[T]())
		s.at[a] = s.size
		s.lows, s.highs, s.size = s.lows+s.low[a], s.highs+s.high[a], s.size+s.low[a]*s.high[a]
	}
	return s
}

// addUp sets S of a task.
func (g *h2Gradient[T]) addUp(worker, i int) {
	f, s, task := g.f, &g.work[worker], &g.tasks[g.task+i]
	corner, width, r := &f.movers[task.level].moves[task.code], asm.GemmWidth[T](), f.src.Cols
	shape := shapeOf(corner)
	g.products[i] = grow(g.products[i], shape.size)
	clear(g.products[i])
	for sets := range slices.Chunk(task.sets, max(gradDepth/r, 1)) {
		if f.ctx.Err() != nil {
			return
		}
		depth := len(sets) * r
		s.za, s.zb = grow(s.za, depth*shape.lows), grow(s.zb, depth*shape.highs)
		for k, set := range sets {
			g.packSet(s, task, &set, depth, k*r)
		}
		za, zb := s.za, s.zb
		for class := range classes {
			sum, low, high := g.products[i][shape.at[class]:], shape.low[class], shape.high[class]
			for b := 0; b < high; b += width {
				for a := 0; a < low; a += asm.GemmRows {
					f.kit.Gemm(sum[a*high+b:], high, 1, za[a*depth:][:depth*asm.GemmRows], zb[b*depth:][:depth*width],
						depth, true)
				}
			}
			za, zb = za[low*depth:], zb[high*depth:]
		}
	}
}

// packSet packs what a set has for S from a depth on: for each class its functions of the cube with the weights
// of the columns in panels [rows/8][depth][8], and the columns of its block, sums over the other cubes, in panels
// [cols/width][depth][width].
func (g *h2Gradient[T]) packSet(s *h2GradScratch[T], task *h2Task, set *h2Set, depth, at int) {
	f := g.f
	v, wide := f.movers[task.level], padTo(f.p, asm.GemmRows)
	corner := &v.moves[task.code]
	s.nothing = grow(s.nothing, v.rank)
	clear(s.nothing)
	for c := range f.src.Cols {
		var z mirrors[T]
		for k, id := range set.from {
			if id >= 0 {
				z[k] = f.z[f.zAt[id]*wide+c*v.rank:]
			}
		}
		addUp(&s.sums, s.nothing, v, corner, &z, offsetOf(task.code), 1)
		own, w := f.z[f.zAt[set.to]*wide+c*v.rank:], T(g.weight[c])
		za, zb := s.za, s.zb
		for a, sum := range s.sums {
			s.own = append(s.own[:0], own[v.start[a]:][:corner.size[a]]...)
			for k := range s.own {
				s.own[k] *= w
			}
			za = packRun(za, s.own, asm.GemmRows, depth, at+c)
			zb = packRun(zb, sum, asm.GemmWidth[T](), depth, at+c)
		}
	}
}

// packRun packs x at a depth in panels [len(x)/width][depth][width], and returns what is behind these.
func packRun[T asm.Float](to, x []T, width, depth, at int) []T {
	for len(x) > 0 {
		out := to[at*width:][:width]
		n := copy(out, x)
		clear(out[n:])
		x, to = x[n:], to[width*depth:]
	}
	return to
}

// spread adds <C, S> to the sums of the inputs, twice where each pair stands for both orders.
func (g *h2Gradient[T]) spread(i int, sums []float64) {
	f, task, d := g.f, &g.tasks[i], g.f.plan.tree.dim
	e, v := f.op.engine, f.movers[task.level]
	corner := &v.moves[task.code]
	shape, rows := shapeOf(corner), v.rowsTo(nil, task.code)
	size := len(rows)
	s, p := linalg.NewMatrix(size, size), linalg.NewMatrix(size, v.m)
	for a, row := range rows {
		copy(p.Row(a), v.p.Row(row))
	}
	row := 0
	for a := range classes {
		for k := range shape.rows[a] {
			out, sum := s.Row(row), sums[shape.at[a]+k*shape.high[a]:]
			for b, at := range corner.blocks[a].at {
				if at >= 0 {
					copy(out[:corner.size[b]], sum[at:])
				}
				out = out[corner.size[b]:]
			}
			row++
		}
	}
	half, at := linalg.NewMatrix(size, v.m), linalg.NewMatrix(v.m, v.m)
	e.GemmTo(half, 1, s, false, p, false, 0)
	e.GemmTo(at, 1, p, true, half, false, 0)
	offset := offsetOf(task.code)
	other, count := v.shifted(v.nodes, offset, d), 1.0
	if offset[2] > 0 {
		count = 2
	}
	w := v.entries(f.op, other, d, true)
	out := g.parts[(len(f.plan.tree.boxes)+i)*d:]
	for a := range v.m {
		row := w.Row(a)
		for b, q := range at.Row(a) {
			q *= count * row[b]
			for k := range d {
				x := v.nodes[a*d+k] - other[b*d+k]
				out[k] += q * x * x
			}
		}
	}
}
