package kernelmv

import (
	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// Cubes at mirrored offsets. With S the signs of functions under a reflection, C of the mirrored offset is
// S C S. So of all reflections s of the first two inputs, by the class a of what is added to,
//
//	L_a = Σ_b C_ab Σ_s χ_a⊕b(s) z_s,b,   χ_e(s) = ±1
//
// with z_s what the cube at that offset has: sums and differences of cubes first, then one product
// instead of four. The third input is left: its classes would be narrower than a micro-tile.

// classes are the parities in the first two inputs.
const classes = 4

// ofClass returns the numbers of the functions of a class.
func ofClass(class int, parities []int) (in []int) {
	for i, p := range parities {
		if p&(classes-1) == class {
			in = append(in, i)
		}
	}
	return in
}

// packCorner packs c at an offset.
func packCorner[T asm.Float](c linalg.Matrix, parities []int, at [h2MaxDim]int) (out h2Corner[T]) {
	var in [classes][]int
	for class := range classes {
		in[class] = ofClass(class, parities[:c.Rows])
		out.size[class] = len(in[class])
	}
	for a := range classes {
		block := &out.blocks[a]
		var columns []int
		for b := range classes {
			block.at[b] = -1
			if e := a ^ b; (e&1 == 0 || at[0] != 0) && (e&2 == 0 || at[1] != 0) {
				block.at[b] = len(columns)
				columns = append(columns, in[b]...)
			}
		}
		block.depth = len(columns)
		rows := in[a]
		block.panels = panelsOf[T](len(columns), len(rows), func(k, i int) float64 { return c.At(rows[i], columns[k]) })
	}
	return out
}

// rowsTo appends the functions that a corner has.
func (v *h2Mover[T]) rowsTo(rows []int, code int) []int {
	for class, size := range v.moves[code].size {
		for k := range size {
			rows = append(rows, v.start[class]+k)
		}
	}
	return rows
}

// signed sets s.wider to the panels of a class with the signs of the reflection of the third input.
func (s *h2Scratch[T]) signed(v *h2Mover[T], corner *h2Corner[T], class int) []T {
	const third = 4
	block, width := &corner.blocks[class], asm.GemmWidth[T]()
	s.wider[class] = grow(s.wider[class], len(block.panels))
	own := v.sign[third][v.start[class]:][:corner.size[class]]
	for b, at := range block.at {
		for k := 0; at >= 0 && k < corner.size[b]; k++ {
			sign := v.sign[third][v.start[b]+k]
			for j := 0; j < len(own); j += width {
				row := j*block.depth + (at+k)*width
				to, from := s.wider[class][row:row+width], block.panels[row:row+width]
				clear(to)
				for i, x := range own[j:min(j+width, len(own))] {
					to[i] = sign * x * from[i]
				}
			}
		}
	}
	return s.wider[class]
}

// mirrors are the cubes at an offset and those mirrored in the first two inputs: their z, nil where there is none.
type mirrors[T asm.Float] [classes][]T

// addUp sets sums to the columns of the blocks of a corner, n numbers of each function; nothing are zeros.
func addUp[T asm.Float](sums *[classes][]T, nothing []T, v *h2Mover[T], corner *h2Corner[T], z *mirrors[T],
	at [h2MaxDim]int, n int) {
	for a := range classes {
		sums[a] = grow(sums[a], corner.blocks[a].depth*n)
	}
	to := func(e, b int) []T {
		a := e ^ b
		return sums[a][corner.blocks[a].at[b]*n:][:corner.size[b]*n]
	}
	for b := range classes {
		var from mirrors[T]
		for k := range z {
			from[k] = nothing[:corner.size[b]*n]
			if z[k] != nil {
				from[k] = z[k][v.start[b]*n:][:corner.size[b]*n]
			}
		}
		switch {
		case at[0] == 0 && at[1] == 0:
			copy(to(0, b), from[0])
		case at[1] == 0:
			both(to(0, b), to(1, b), from[0], from[1])
		case at[0] == 0:
			both(to(0, b), to(2, b), from[0], from[2])
		default:
			all4(to(0, b), to(1, b), to(2, b), to(3, b), &from)
		}
	}
}

// both sets sum = x + y and diff = x - y.
func both[T asm.Float](sum, diff, x, y []T) {
	sum, diff, y = sum[:len(x)], diff[:len(x)], y[:len(x)]
	for i, v := range x {
		w := y[i]
		sum[i], diff[i] = v+w, v-w
	}
}

// all4 sets the sums of four with the signs of the four classes.
func all4[T asm.Float](none, first, second, two []T, z *mirrors[T]) {
	n := len(z[0])
	a, b, c, d := z[0], z[1][:n], z[2][:n], z[3][:n]
	none, first, second, two = none[:n], first[:n], second[:n], two[:n]
	for i, v := range a {
		p, q, r, t := v+b[i], v-b[i], c[i]+d[i], c[i]-d[i]
		none[i], first[i], second[i], two[i] = p+r, q+t, p-r, q-t
	}
}
