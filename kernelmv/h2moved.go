package kernelmv

import (
	"bbgp.dev/asm"
)

// What cubes take from others of their level: z = F'M of all of them, then, group by group and offset
// by offset, C_o z for the boxes of a group, and F for each. Matrices so are fetched once for a
// group. Eight columns go at a time: those of a micro-tile.

// An h2Pair is a box of a group, by its place there, and one that it takes from.
type h2Pair struct{ to, from int32 }

// offsetCodes are the numbers of offsets with their signs.
const offsetCodes = 7 * 7 * 7

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
		for a := range v.rank {
			for k := range asm.GemmRows {
				z[a*asm.GemmRows+k] = T(out[k*high+a])
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
	width := asm.GemmWidth[T]()
	high, wide := padTo(v.rank, width), padTo(f.p, asm.GemmRows)
	s.low = grow(s.low, len(g)*wide*high)
	clear(s.low)
	f.sortPairs(s, g)
	for code := range offsetCodes {
		pairs := s.pairs[s.starts[code]:s.starts[code+1]]
		if len(pairs) == 0 {
			continue
		}
		if f.ctx.Err() != nil {
			return
		}
		at := [h2MaxDim]int{code%7 - 3, code/7%7 - 3, code/49 - 3}
		number, signs := codeOf(at)
		corner := &v.moves[number]
		panels := s.signed(corner, v.sign[signs], signs)
		for j := 0; j < corner.size; j += width {
			panel := panels[j*corner.size:][:corner.size*width] // stays in the first cache
			for _, pair := range pairs {
				z, low := f.z[f.zAt[pair.from]*wide:], s.low[int(pair.to)*wide*high+j:]
				for c := 0; c < wide; c += asm.GemmRows {
					f.kit.Gemm(low[c*high:], high, 1, z[c*v.rank:][:corner.size*asm.GemmRows], panel, corner.size, true)
				}
			}
		}
	}
	for a, id := range g {
		f.moveTarget(s, v, id, s.low[a*wide*high:])
	}
}

// sortPairs sets s.pairs to what the boxes of a group take, by offsets, which begin at s.starts.
func (f *h2Product[T]) sortPairs(s *h2Scratch[T], g []int32) {
	t := f.plan.tree
	code := func(id, e int32) int {
		at, _ := t.offset(id, e)
		return at[0] + 3 + 7*(at[1]+3) + 49*(at[2]+3)
	}
	clear(s.starts[:])
	for _, id := range g {
		for _, e := range f.plan.cubes.of(id) {
			s.starts[code(id, e)+1]++
		}
	}
	for i := range offsetCodes {
		s.starts[i+1] += s.starts[i]
	}
	next := s.starts
	s.pairs = grow(s.pairs, int(s.starts[offsetCodes]))
	for a, id := range g {
		for _, e := range f.plan.cubes.of(id) {
			at := &next[code(id, e)]
			s.pairs[*at] = h2Pair{int32(a), e}
			*at++
		}
	}
}

// signed returns the panels of a corner with the signs of an offset.
func (s *h2Scratch[T]) signed(corner *h2Corner[T], sign []T, signs int) []T {
	if signs == 0 {
		return corner.panels
	}
	width := asm.GemmWidth[T]()
	s.wider = grow(s.wider, len(corner.panels))
	for at := 0; at < len(s.wider); at += width {
		row, panel := at/width%corner.size, at/width/corner.size
		to, from, by, own := s.wider[at:at+width], corner.panels[at:at+width], sign[panel*width:][:width], sign[row]
		for j, x := range from {
			to[j] = own * by[j] * x
		}
	}
	return s.wider
}

// moveTarget adds F of what box id has taken to its L.
func (f *h2Product[T]) moveTarget(s *h2Scratch[T], v *h2Mover[T], id int32, low []float64) {
	side, width := &f.plan.sides[id], asm.GemmWidth[T]()
	high := padTo(v.rank, width)
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
