package kernelmv

import (
	"bbgp.dev/asm"
)

// What cubes take from others of their level: z = F'M of all of them, then, group by group and offset
// by offset, C_o z for the boxes of a group, and F for each. Matrices so are fetched once for a
// group. Eight columns go at a time: those of a micro-tile.

// An h2Pair is a box of a group, by its place there, and one that it takes from, by its mirror image.
type h2Pair struct{ to, image, from int32 }

// offsetCodes are the numbers of offsets, but for signs in the first two inputs.
const offsetCodes = (maxOffset + 1) * (maxOffset + 1) * (2*maxOffset + 1)

// layMoves makes room for z, and lists the boxes whose z is used.
func (f *h2Product[T]) layMoves() {
	p := f.plan
	f.groups = p.groups
	if f.chunks != nil && f.op.engine.Ranks() > 1 {
		f.groups = nil
		for _, g := range p.groups {
			var own []int32
			for _, id := range g {
				if f.owns(id) {
					own = append(own, id)
				}
			}
			if own != nil {
				f.groups = append(f.groups, own)
			}
		}
	}
	used := make([]bool, len(p.sides))
	for i := range used {
		used[i] = f.sums && len(p.cubes.of(int32(i))) > 0
	}
	for _, g := range f.groups {
		for _, id := range g {
			for _, e := range p.cubes.of(id) {
				used[e] = true
			}
		}
	}
	f.zs, f.zAt, f.sources = 0, grow(f.zAt, len(p.sides)), f.sources[:0]
	for i, wanted := range used {
		if wanted {
			f.zAt[i] = f.zs
			f.zs += f.movers[p.tree.boxes[i].cube].rank
			f.sources = append(f.sources, int32(i))
		}
	}
}

// moveSource sets z of a box.
func (f *h2Product[T]) moveSource(worker, i int) {
	if f.ctx.Err() != nil {
		return
	}
	id := f.sources[i]
	s, side, v := &f.scratch[worker], &f.plan.sides[id], f.movers[f.plan.tree.boxes[id].cube]
	wide := padTo(f.p, asm.GemmRows)
	z := f.z[f.zAt[id]*wide:]
	for c := 0; c < wide; c += asm.GemmRows {
		f.columnsTo(s, f.c[side.spot*f.p:], side.rows, v.m, c)
		out, high := multiply(f, s, v.up, v.m, v.rank)
		across, along := asm.GemmRows, 1
		if f.sums {
			across, along = 1, v.rank
		}
		for k := range asm.GemmRows {
			for a, x := range out[k*high:][:v.rank] {
				z[a*across+k*along] = T(x)
			}
		}
		z = z[v.rank*asm.GemmRows:]
	}
}

// columnsTo packs columns c.. of x ([p][rows]) for a micro-tile.
func (f *h2Product[T]) columnsTo(s *h2Scratch[T], x []T, rows, m, c int) {
	s.w = grow(s.w, m*asm.GemmRows)
	for k := range asm.GemmRows {
		if c+k >= f.p {
			for a := range m {
				s.w[a*asm.GemmRows+k] = 0
			}
			continue
		}
		for a, v := range x[(c+k)*rows:][:m] {
			s.w[a*asm.GemmRows+k] = v
		}
	}
}

// multiply returns s.w' (8×m) times panels of so many columns, with rows of high numbers.
func multiply[T asm.Float](f *h2Product[T], s *h2Scratch[T], panels []T, m, cols int) (out []float64, high int) {
	width := asm.GemmWidth[T]()
	high = padTo(cols, width)
	s.acc = grow(s.acc, asm.GemmRows*high)
	for at := 0; at < high; at += width {
		f.kit.Gemm(s.acc[at:], high, 1, s.w[:m*asm.GemmRows], panels[at*m:][:m*width], m, false)
	}
	return s.acc, high
}

// moveGroup adds to L of the boxes of a group what they take.
func (f *h2Product[T]) moveGroup(worker, i int) {
	g, s, t := f.groups[i], &f.scratch[worker], f.plan.tree
	v := f.movers[t.boxes[g[0]].cube]
	high, wide := highOf(v), padTo(f.p, asm.GemmRows)
	s.low, s.nothing = grow(s.low, len(g)*wide*high), grow(s.nothing, v.rank*asm.GemmRows)
	clear(s.low)
	clear(s.nothing)
	f.sortPairs(s, g)
	for code := range offsetCodes {
		if f.ctx.Err() != nil {
			return
		}
		if pairs := s.pairs[s.starts[code]:s.starts[code+1]]; len(pairs) > 0 {
			f.moveOffset(s, v, code, pairs)
		}
	}
	for a, id := range g {
		f.moveTarget(s, v, id, s.low[a*wide*high:])
	}
}

// highOf returns the numbers of a row of s.low: a micro-tile may reach beyond the last class.
func highOf[T asm.Float](v *h2Mover[T]) int { return v.rank + asm.GemmWidth[T]() }

// moveOffset takes the pairs at one offset and those mirrored in the first two inputs.
func (f *h2Product[T]) moveOffset(s *h2Scratch[T], v *h2Mover[T], code int, pairs []h2Pair) {
	at := [h2MaxDim]int{code & maxOffset, code >> 2 & maxOffset, code>>4 - maxOffset}
	number, signs := codeOf(at)
	corner, width := &v.moves[number], asm.GemmWidth[T]()
	high, wide := highOf(v), padTo(f.p, asm.GemmRows)
	panels := [classes][]T{}
	for a := range panels {
		panels[a] = corner.blocks[a].panels
		if signs != 0 {
			panels[a] = s.signed(v, corner, a)
		}
	}
	for len(pairs) > 0 {
		to := pairs[0].to
		var boxes [classes]int32
		for boxes = [classes]int32{-1, -1, -1, -1}; len(pairs) > 0 && pairs[0].to == to; pairs = pairs[1:] {
			boxes[pairs[0].image] = pairs[0].from
		}
		for c := 0; c < wide; c += asm.GemmRows {
			var z mirrors[T]
			for k, id := range boxes {
				if id >= 0 {
					z[k] = f.z[f.zAt[id]*wide+c*v.rank:]
				}
			}
			addUp(&s.sums, s.nothing, v, corner, &z, at, asm.GemmRows)
			low := s.low[(int(to)*wide+c)*high:]
			for a, sum := range s.sums {
				depth := corner.blocks[a].depth
				for j := 0; j < corner.size[a]; j += width {
					f.kit.Gemm(low[v.start[a]+j:], high, 1, sum, panels[a][j*depth:][:depth*width], depth, true)
				}
			}
		}
	}
}

// sortPairs sets s.pairs to what the boxes of a group take, by offsets, which begin at s.starts, and boxes.
func (f *h2Product[T]) sortPairs(s *h2Scratch[T], g []int32) {
	t := f.plan.tree
	place := func(id, e int32) (code, image int) {
		at, _ := t.offset(id, e)
		for k := range 2 {
			if at[k] < 0 {
				at[k] = -at[k]
				image |= 1 << k
			}
		}
		return at[0] | at[1]<<2 | (at[2]+maxOffset)<<4, image
	}
	clear(s.starts[:])
	for _, id := range g {
		for _, e := range f.plan.cubes.of(id) {
			code, _ := place(id, e)
			s.starts[code+1]++
		}
	}
	for i := range offsetCodes {
		s.starts[i+1] += s.starts[i]
	}
	next := s.starts
	s.pairs = grow(s.pairs, int(s.starts[offsetCodes]))
	for a, id := range g {
		for _, e := range f.plan.cubes.of(id) {
			code, image := place(id, e)
			s.pairs[next[code]] = h2Pair{int32(a), int32(image), e}
			next[code]++
		}
	}
}

// moveTarget adds F of what box id has taken to its L.
func (f *h2Product[T]) moveTarget(s *h2Scratch[T], v *h2Mover[T], id int32, low []float64) {
	side, high := &f.plan.sides[id], highOf(v)
	s.w = grow(s.w, v.rank*asm.GemmRows)
	for c := 0; c < f.p; c += asm.GemmRows {
		for k := range asm.GemmRows {
			for a, x := range low[(c+k)*high:][:v.rank] {
				s.w[a*asm.GemmRows+k] = T(x)
			}
		}
		out, wide := multiply(f, s, v.down, v.rank, v.m)
		for k := range min(asm.GemmRows, f.p-c) {
			l := f.lc[side.spot*f.p+(c+k)*side.rows:]
			for a, x := range out[k*wide:][:v.m] {
				l[a] += x
			}
		}
	}
}
