package kernelmv

import "bbgp.dev/asm"

// The polynomials of a cube in those of a cube below it. With s the place in the lower cube along a
// side, from -1 to 1, T_a(α s + β) is a polynomial of degree a in s: exactly Σ τ_ba T_b(s), and the
// link is the product of these over the inputs. Degrees that the lower cube leaves out are left out.

// An h2Step is a cube's place in the one above it of twice its side.
type h2Step struct {
	level int16 // of the one above
	part  int
}

// stepOf returns the step from box above to box below, if it is one.
func (t *h2Tree) stepOf(above, below int32) (h2Step, bool) {
	a, b := &t.boxes[above], &t.boxes[below]
	step := h2Step{level: a.cube}
	for k := range t.dim {
		if b.lo[k] > a.lo[k] {
			step.part |= 1 << k
		}
	}
	return step, b.cube == a.cube-1
}

// setTiles makes the links of all steps of the plan.
func (f *h2Product[T]) setTiles() {
	f.tiles = map[h2Step][]T{}
	for i := range f.plan.sides {
		side, id := &f.plan.sides[i], int32(i)
		above := f.plan.tree.boxes[i].parent
		if side.spot < 0 || above < 0 || f.plan.sides[above].spot < 0 {
			continue
		}
		if step, ok := f.plan.tree.stepOf(above, id); ok && f.tiles[step] == nil {
			cols := padTo(f.plan.sides[above].nodes, asm.Pad)
			f.tiles[step] = make([]T, side.rows*cols)
			linkTo(f.plan, f.tiles[step], above, id, cols)
		}
	}
}

// linkTo sets w (rows×cols) to the link of two cubes.
func linkTo[T asm.Float](p *h2Plan, w []T, above, below int32, cols int) {
	a, b := &p.tree.boxes[above], &p.tree.boxes[below]
	var tau [h2MaxDim][maxOrder][maxOrder]float64 // [input][degree above][degree below]
	for k := range tau {
		tau[k][0][0] = 1
		if high := (a.hi[k] - a.lo[k]) / 2; k < p.tree.dim && high > 0 {
			stretch(&tau[k], p.sides[above].q[k], (b.hi[k]-b.lo[k])/2/high, (b.centre(k)-a.centre(k))/high)
		}
	}
	clear(w)
	i := 0
	for _, to := range p.sides[below].ball.runs {
		for x := range to.len {
			out, at := w[i*cols:(i+1)*cols], 0
			for _, from := range p.sides[above].ball.runs {
				if yz := tau[1][from.y][to.y] * tau[2][from.z][to.z]; yz != 0 {
					for j := x; j < from.len; j++ {
						out[at+j] = T(tau[0][j][x] * yz)
					}
				}
				at += from.len
			}
			i++
		}
	}
}

// stretch sets tau[a][b] to the coefficients of T_a(α s + β), a < q, by its recurrence and that of
// s T_b.
func stretch(tau *[maxOrder][maxOrder]float64, q int, alpha, beta float64) {
	if q > 1 {
		tau[1][0], tau[1][1] = beta, alpha
	}
	for a := 2; a < q; a++ {
		last := &tau[a-1]
		for b := range a {
			tau[a][b] += 2 * beta * last[b]
			tau[a][b+1] += alpha * last[b]
			if b > 0 {
				tau[a][b-1] += alpha * last[b]
			} else {
				tau[a][1] += alpha * last[0]
			}
		}
		for b := range a - 1 {
			tau[a][b] -= tau[a-2][b]
		}
	}
}
