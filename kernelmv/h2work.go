package kernelmv

import "math"

// What the form costs, by counts.

// movedOf is about what a pair of cubes with so many polynomials has of entries: a few columns and the corners of
// micro-tiles that are not full beside the square of the rank.
func movedOf(nodes int) float64 {
	rank := rankOf(nodes)
	return rank*(rank+60) + 2000
}

// rankOf is about the rank of the matrices between cubes with so many polynomials.
func rankOf(nodes int) float64 { return min(float64(nodes), 60+0.3*float64(nodes)) }

// countMovers counts what the matrices between cubes are made by and take.
func (p *h2Plan) countMovers() {
	d, levels := p.tree.dim, map[int16]bool{}
	offsets := math.Pow(maxOffset+1, float64(d)) - math.Pow(2, float64(d))
	for _, g := range p.groups {
		if level := p.tree.boxes[g[0]].cube; !levels[level] {
			levels[level] = true
			m := float64(p.sides[g[0]].nodes)
			p.made += offsets * makeShare * m * m * m
			p.kept += offsets*rankOf(int(m))*rankOf(int(m)) + 2*m*m
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
	// pairWork is what a pair of points costs, in ordered pairs of the dense form.
	pairWork = 2.3
	// moveWork is what an entry of a matrix between cubes costs, in ordered pairs of the dense form: three
	// inputs, n = 125000, four plans of 4600 to 14000 pairs a row.
	moveWork = 0.45
	// makeShare are the products of numbers that such a matrix is made by, as a part of the cube of its rows.
	makeShare = 0.8
	// cubePoints is the number of points to a polynomial below which a leaf has none.
	cubePoints = 0.25
	// ballMost are the polynomials of a cube, at most.
	ballMost = 1300
)

func workOf(pairs, moved, transferred float64, rows int) float64 {
	const transfer, row = 28, 2600
	return pairWork*pairs + moveWork*moved + transfer*transferred + row*float64(rows)
}
