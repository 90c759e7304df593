package kernelmv

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/linalg"
)

// One input and a Matérn function: the product costs O(n). With the points in
// order, t their positions in units of a = c r/l, and δ the gap to the next,
// the sums over earlier points
//
//	s_m(i) = Σ_{j<=i} (t_i - t_j)^m exp(-(t_i - t_j)) v_j
//
// move on by s_m ← exp(-δ) Σ_q binom(m, q) δ^(m-q) s_q, and h is a combination of
// (t_i - t_j)^m exp(-(t_i - t_j)) (Hartikainen and Särkkä 2010 call this the
// state-space form). The steps only add what is positive for positive V and
// only decay, so nothing grows or cancels: gaps of any size and duplicates
// need no care. Later points are the same from the other end.

// maxState is the number of sums: m up to 2 for K, up to 3 for its derivative.
const maxState = 4

// A line is the O(n) form of an operator. It is always float64.
type line struct {
	op    *Op
	order []int32   // the points by coordinate, ties by row
	gap   []float64 // gap[q] = t of order[q] less t of order[q-1]; gap[0] = 0
	decay []float64 // exp(-gap)
	cov   []float64 // h = Σ_m cov[m] a^m exp(-a)
	deriv []float64 // ∂h/∂log l in the same form

	ctx      context.Context
	dst, src linalg.Matrix
	u        linalg.Matrix
	forms    []float64
	sum      [1]float64 // the result of a gradient
	mulBody  func(worker, c int)
	gradBody func(worker, r int)
}

// lineCov and lineDeriv give h and ∂h/∂log l = -a h'(a) as polynomials of a
// times exp(-a).
var (
	lineCov   = [...][]float64{Matern12: {1}, Matern32: {1, 1}, Matern52: {1, 1, 1.0 / 3}}
	lineDeriv = [...][]float64{Matern12: {0, 1}, Matern32: {0, 0, 1}, Matern52: {0, 0, 1.0 / 3, 1.0 / 3}}
)

// hasLine tells whether o has an O(n) form: one input, and a function that is in lineCov.
func (o *Op) hasLine() bool { return len(o.pts.dims) == 1 && int(o.kernel.Family) < len(lineCov) }

func newLine(o *Op) *line {
	l := &line{op: o}
	l.mulBody, l.gradBody = l.mulCols, l.gradForm
	return l
}

// reset sorts the points for the present parameters.
func (l *line) reset() {
	o, n := l.op, l.op.Dim()
	x := o.pts.x
	if len(l.order) != n {
		l.order = make([]int32, n)
		for i := range l.order {
			l.order[i] = int32(i)
		}
	}
	slices.SortFunc(l.order, func(a, b int32) int { return compare(candidate{x[a], a}, candidate{x[b], b}) })
	l.gap, l.decay = grow(l.gap, n), grow(l.decay, n)
	for q, i := range l.order {
		l.gap[q] = 0
		if q > 0 {
			l.gap[q] = math.Ln2 * (x[i] - x[l.order[q-1]])
		}
		l.decay[q] = math.Exp(-l.gap[q])
	}
	l.cov, l.deriv = lineCov[o.kernel.Family], lineDeriv[o.kernel.Family]
}

const (
	lineCols  = 4       // columns that one task takes
	lineCheck = 1 << 16 // points between two looks at the context
)

// mulTo sets dst = K̂ src.
func (l *line) mulTo(ctx context.Context, dst, src linalg.Matrix) error {
	l.ctx, l.dst, l.src = ctx, dst, src
	l.op.engine.Par.For((src.Cols+lineCols-1)/lineCols, l.mulBody)
	l.ctx, l.dst, l.src = nil, linalg.Matrix{}, linalg.Matrix{}
	return ctx.Err()
}

// sums are s_m for lineCols columns.
type sums [maxState][lineCols]float64

// step moves the first m sums over a gap.
func (s *sums) step(m int, gap, decay float64) {
	for c := range lineCols {
		switch m {
		case 4:
			s[3][c] = decay * (s[3][c] + gap*(3*s[2][c]+gap*(3*s[1][c]+gap*s[0][c])))
			fallthrough
		case 3:
			s[2][c] = decay * (s[2][c] + gap*(2*s[1][c]+gap*s[0][c]))
			fallthrough
		case 2:
			s[1][c] = decay * (s[1][c] + gap*s[0][c])
		}
		s[0][c] *= decay
	}
}

// form returns Σ_m coef[m] s_m of column c.
func (s *sums) form(coef []float64, c int) (y float64) {
	for m, a := range coef {
		y += a * s[m][c]
	}
	return y
}

// mulCols computes lineCols columns of dst: points up to q forwards, those
// after q backwards.
func (l *line) mulCols(_, task int) {
	o, m, n := l.op, len(l.cov), len(l.order)
	c0 := task * lineCols
	cols := min(lineCols, l.src.Cols-c0)
	var s sums
	for q, i := range l.order {
		if q%lineCheck == 0 && l.ctx.Err() != nil {
			return
		}
		s.step(m, l.gap[q], l.decay[q])
		dst, src := l.dst.Row(int(i))[c0:c0+cols], l.src.Row(int(i))[c0:c0+cols]
		for c, v := range src {
			s[0][c] += v
			dst[c] = s.form(l.cov, c)
		}
	}
	s = sums{}
	for q := n - 1; q >= 0; q-- {
		i := int(l.order[q])
		dst, src := l.dst.Row(i)[c0:c0+cols], l.src.Row(i)[c0:c0+cols]
		for c, v := range src {
			dst[c] = o.kernel.Variance*(dst[c]+s.form(l.cov, c)) + o.noise[i]*v
			s[0][c] += v
		}
		s.step(m, l.gap[q], l.decay[q])
	}
}

// grad returns Σ_r g_r u_r' (∂H/∂log l) u_r, H of unit variance.
func (l *line) grad(ctx context.Context, u linalg.Matrix, g []float64) (float64, error) {
	l.u, l.forms = u, grow(l.forms, u.Cols)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	l.op.engine.Par.For((u.Cols+lineCols-1)/lineCols, l.gradBody)
	l.u = linalg.Matrix{}
	var sum float64
	for r, v := range l.forms {
		sum += g[r] * v
	}
	return sum, nil
}

// gradForm computes lineCols of the forms: twice the sum over earlier points,
// for the derivative is 0 on the diagonal.
func (l *line) gradForm(_, task int) {
	c0, m := task*lineCols, len(l.deriv)
	cols := min(lineCols, l.u.Cols-c0)
	var s sums
	var forms [lineCols]float64
	for q, i := range l.order {
		s.step(m, l.gap[q], l.decay[q])
		for c, v := range l.u.Row(int(i))[c0 : c0+cols] {
			forms[c] += 2 * v * s.form(l.deriv, c)
			s[0][c] += v
		}
	}
	copy(l.forms[c0:c0+cols], forms[:])
}

// LineHalves returns (Σ_i f_i² b_i²)^1/2, where f_i is what earlier points have of (H x)_i, its own included, b_i what
// later ones have, H of unit variance; 0 where products are not those of a line. The sum that a step rounds, f_i, goes
// on to all later points, where x has b_i for it: x'Hx is off by about 2⁻⁵² times this, twice, as the signs are random.
func (o *Op) LineHalves(x []float64) float64 {
	l := o.line
	if l == nil {
		return 0
	}
	m, f, square := len(l.cov), make([]float64, len(l.order)), 0.0
	var s sums
	for q, i := range l.order {
		s.step(m, l.gap[q], l.decay[q])
		s[0][0] += x[i]
		f[q] = s.form(l.cov, 0)
	}
	s = sums{}
	for q := len(l.order) - 1; q >= 0; q-- {
		both := f[q] * s.form(l.cov, 0)
		square += both * both
		s[0][0] += x[l.order[q]]
		s.step(m, l.gap[q], l.decay[q])
	}
	return math.Sqrt(square)
}
