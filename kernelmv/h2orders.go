package kernelmv

import (
	"bbgp.dev/asm"
	"math"
	"slices"
)

const (
	maxOrder  = 20 // Chebyshev nodes along a side, at most
	notEnough = maxOrder + 1
)

// chebyshev holds the nodes cos(π(2k+1)/2q) of [-1, 1] and the weights of the
// barycentric formula, by the number q of nodes (Berrut and Trefethen 2004, 5.3).
type chebyshev struct {
	x, w  [maxOrder + 1][]float64
	balls map[[h2MaxDim]int]*ball
}

func newChebyshev() *chebyshev {
	c := &chebyshev{balls: map[[h2MaxDim]int]*ball{}}
	for q := 1; q <= maxOrder; q++ {
		for k := range q {
			sin, cos := math.Sincos(math.Pi * float64(2*k+1) / float64(2*q))
			c.x[q] = append(c.x[q], cos)
			c.w[q] = append(c.w[q], sin*float64(1-k%2*2))
		}
	}
	return c
}

// lagrangeTo sets out[k] to the k-th of the len(out) Lagrange polynomials at t.
func (c *chebyshev) lagrangeTo(out []float64, t float64) {
	x, w := c.x[len(out)], c.w[len(out)]
	var s float64
	for k := range out {
		d := t - x[k]
		if d == 0 {
			clear(out)
			out[k] = 1
			return
		}
		out[k] = w[k] / d
		s += out[k]
	}
	s = 1 / s
	for k := range out {
		out[k] *= s
	}
}

// An orderTable says how many nodes a side of length h needs so that k(|x - y|) is
// interpolated to tol for all x on it and all y at least g away from the box: the least
// number for which that holds along the axis, and beside it, at offsets 0, 1/2 and 1 of
// half the side and at distance g. Cells are filled when they are first asked for.
type orderTable struct {
	family asm.Family
	tol    float64
	cheb   *chebyshev
	cell   []uint8                              // 0: not asked for yet
	values [maxOrder + 1][orderProbes][]float64 // polynomials at the probes
	probes [orderProbes]float64
}

// The cells: log2 h from -16 to 12 and log2 g/h from -5 to 4, with one row for g = 0.
const (
	orderLow, orderStep, orderSides = -16.0, 0.25, 113
	orderNear, orderFine, orderGaps = -5.0, 0.125, 73
	orderProbes                     = 23
)

// shortTol is the share of the tolerance that orders are for where most places are within a lengthscale of
// each other: boxes within boxes there take ever fewer nodes, and every level leaves its error, in line with
// that of the others, to 2.2 times tau n in all.
const shortTol = 0.125

// shortTable says whether most of a sample of pairs of points are within a lengthscale.
func (o *Op) shortTable() bool {
	const pairs = 101
	n, near := o.Dim(), 0
	for k := range pairs {
		i, r2 := k*n/pairs, 0.0
		for _, d := range o.pts.dims {
			h := (o.pts.raw.At(i, d) - o.pts.raw.At((i+n/2)%n, d)) / o.kernel.Lengthscales[d]
			r2 += h * h
		}
		if r2 < 1 {
			near++
		}
	}
	return 2*near > pairs
}

// cubeTol is the part of the tolerance that the orders of cubes are for. What the nodes of a ball leave in
// three inputs is that in few entries, and a twentieth in the mean.
func cubeTol(d int) float64 {
	if d == h2MaxDim {
		return 2
	}
	return 1
}

func newOrderTable(f asm.Family, tol float64, cheb *chebyshev) *orderTable {
	t := &orderTable{family: f, tol: tol, cheb: cheb, cell: make([]uint8, orderSides*(orderGaps+1))}
	var out [maxOrder]float64
	for i := range t.probes {
		t.probes[i] = 0.999 * math.Cos(math.Pi*float64(i)/(orderProbes-1))
		for q := 1; q <= maxOrder; q++ {
			cheb.lagrangeTo(out[:q], t.probes[i])
			t.values[q][i] = slices.Clone(out[:q])
		}
	}
	return t
}

// at returns the number of nodes for a side h at a gap g, or notEnough. Sides are
// rounded up and gaps down to those of a cell.
func (t *orderTable) at(h, g float64) int {
	if h == 0 {
		return 1
	}
	u := max(int(math.Ceil((math.Log2(h)-orderLow)/orderStep)), 0)
	if u >= orderSides {
		return notEnough // such boxes are so far apart that the pair is left out, or they are cut
	}
	side, v := math.Exp2(orderLow+orderStep*float64(u)), 0
	if g > 0 {
		v = int(math.Floor((math.Log2(g/side)-orderNear)/orderFine)) + 1
		v = min(max(v, 0), orderGaps)
	}
	cell := &t.cell[u*(orderGaps+1)+v]
	if *cell == 0 {
		gap := 0.0
		if v > 0 {
			gap = side * math.Exp2(orderNear+orderFine*float64(v-1))
		}
		*cell = uint8(t.least(side, gap))
	}
	return int(*cell)
}

// least finds the number of nodes for a side h at a gap g.
func (t *orderTable) least(h, g float64) int {
	k, c := t.family, t.family.Scale()
	cov := func(r float64) float64 { return unitCov(k, r*r/(c*c)) }
	beside := func(offset float64) func(float64) float64 {
		return func(s float64) float64 { return cov(math.Hypot(h/2*(s-offset), g)) }
	}
	along := func(s float64) float64 { return cov(h/2*(s+1) + g) }
	least := 1
	for _, f := range []func(float64) float64{along, beside(0), beside(0.5), beside(1)} {
		var want [orderProbes]float64
		for i, s := range t.probes {
			want[i] = f(s)
		}
		for least < notEnough && !t.enough(f, want[:], least) {
			least++
		}
	}
	return least
}

// enough tells whether q nodes interpolate f to tol at the probes, where it is want.
func (t *orderTable) enough(f func(float64) float64, want []float64, q int) bool {
	var at [maxOrder]float64
	for k, s := range t.cheb.x[q] {
		at[k] = f(s)
	}
	for i, v := range want {
		for k, w := range t.values[q][i] {
			v -= w * at[k]
		}
		if math.Abs(v) > t.tol {
			return false
		}
	}
	return true
}
