package kernelmv

import "math"

// What the form costs, by counts.

// movedOf is about what the matrix between two cubes with so many polynomials has of entries.
func movedOf(nodes int) float64 { return moveShare * float64(nodes) * float64(nodes) }

// countMovers counts what the matrices between cubes are made by and take.
func (p *h2Plan) countMovers() {
	d, levels := p.tree.dim, map[int16]bool{}
	offsets := math.Pow(maxOffset+1, float64(d)) - math.Pow(2, float64(d))
	for _, g := range p.groups {
		if level := p.tree.boxes[g[0]].cube; !levels[level] {
			levels[level] = true
			m := float64(p.sides[g[0]].nodes)
			p.made += offsets * makeShare * m * m * m
			p.kept += offsets*moveShare*m*m + 2*m*m
		}
	}
}

// work is what a product costs, in ordered pairs of the dense form, by float32 products
// of 8 columns: two inputs, n = 1e5, tau 1e-5 9100 of them a row with 1870 pairs and 83
// entries of polynomials; three inputs 125000 with 36400 and 1570. What is made once is shared by
// some products.
func (p *h2Plan) work() float64 {
	const product, products = 0.18, 8
	return workOf(p.pairs, p.moved, p.transferred, p.tree.n) + product*p.made/products
}

const (
	// moveWork is what an entry of a matrix between cubes costs, in ordered pairs of the dense form,
	moveWork = 0.45
	// moveShare what such a matrix has of them, as a part of all, and makeShare the products of numbers that
	// it is made by, as a part of the cube of its rows.
	moveShare, makeShare = 0.27, 0.8
	// cubePoints is the number of points to a polynomial below which a leaf has none.
	cubePoints = 0.25
	// ballMost are the polynomials of a cube, at most.
	ballMost = 1000
)

func workOf(pairs, moved, transferred float64, rows int) float64 {
	const pair, transfer, row = 2, 33, 2600
	return pair*pairs + moveWork*moved + transfer*transferred + row*float64(rows)
}
