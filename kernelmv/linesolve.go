package kernelmv

import (
	"math"

	"bbgp.dev/linalg"
)

// A LineSolver is the exact O(n) factorisation of K̂ for one input and a Matérn
// function: the Kalman filter of the state (f, f', f”) in units of a = c r/l,
// in the order of the points. With the transition A over a gap, its noise Q,
// the predicted covariance P, and F = P_11 + noise, G = A P e_1 / F,
//
//	log det K̂ = Σ log F,
//	forwards   e = b - x_1,  x ← A x + G e,
//	backwards  u = e/F - G'r,  r ← A'r + e_1 u,
//
// u is K̂⁻¹ b (the smoothing errors of Durbin and Koopman 2012, section 4.5).
type LineSolver struct {
	line  *line
	m     int       // states
	trans []float64 // A of the step to the next point, n×m×m
	gain  []float64 // G, n×m
	f     []float64 // F, n
	logF  float64
	state []float64
}

// NewLineSolver factors K̂ in O(n). It returns nil if the operator has no O(n)
// form (one input in the distance, Matérn), and an error of type
// *linalg.NotPDError with the row if K̂ is not positive definite in float64.
// The factorisation keeps its meaning until o.Reset.
func (o *Op) NewLineSolver() (*LineSolver, error) {
	if o.line == nil {
		return nil, nil
	}
	l, n := o.line, o.Dim()
	m := len(l.cov)
	s := &LineSolver{
		line: l, m: m, trans: make([]float64, n*m*m), gain: make([]float64, n*m),
		f: make([]float64, n), state: make([]float64, m),
	}
	p := stationary(m)
	var next [3][3]float64
	for q, i := range l.order {
		f := o.kernel.Variance*p[0][0] + o.noise[i]
		if !(f > 0) {
			return nil, &linalg.NotPDError{Pivot: int(i), Value: f}
		}
		s.f[q] = f
		s.logF += math.Log(f)
		gap := 0.0
		if q+1 < n {
			gap = l.gap[q+1]
		}
		a := s.trans[q*m*m : (q+1)*m*m]
		transition(a, m, gap)
		for r := range m {
			for c := range m {
				s.gain[q*m+r] += a[r*m+c] * p[c][0] * o.kernel.Variance / f
			}
		}
		filterStep(&next, &p, a, m, o.kernel.Variance/f, gap)
		p = next
	}
	return s, nil
}

// LogDet returns log det K̂.
func (s *LineSolver) LogDet() float64 { return s.logF }

// SolveTo sets dst = K̂⁻¹ src, n×p; dst may be src.
func (s *LineSolver) SolveTo(dst, src linalg.Matrix) {
	n, m := len(s.f), s.m
	if dst.Rows != n || src.Rows != n || dst.Cols != src.Cols {
		panic("kernelmv: SolveTo: bad shapes")
	}
	order := s.line.order
	var x, y [3]float64
	for c := range src.Cols {
		x = [3]float64{}
		for q, i := range order {
			e := src.At(int(i), c) - x[0]
			dst.Set(int(i), c, e)
			a, g := s.trans[q*m*m:], s.gain[q*m:]
			for r := range m {
				y[r] = g[r] * e
				for k := range m {
					y[r] += a[r*m+k] * x[k]
				}
			}
			x = y
		}
		x = [3]float64{}
		for q := n - 1; q >= 0; q-- {
			i := int(order[q])
			a, g := s.trans[q*m*m:], s.gain[q*m:]
			u := dst.At(i, c) / s.f[q]
			y = [3]float64{}
			for r := range m {
				u -= g[r] * x[r]
				for k := range m {
					y[k] += a[r*m+k] * x[r]
				}
			}
			dst.Set(i, c, u)
			y[0] += u
			x = y
		}
	}
}

// stationary is the covariance of the state for unit variance and unit decay.
func stationary(m int) (p [3][3]float64) {
	switch m {
	case 1:
		p[0][0] = 1
	case 2:
		p[0][0], p[1][1] = 1, 1
	case 3:
		p = [3][3]float64{{1, 0, -1.0 / 3}, {0, 1.0 / 3, 0}, {-1.0 / 3, 0, 1}}
	}
	return p
}

// transition sets a (m×m) to exp(B t) with B the companion matrix of (s + 1)^m.
func transition(a []float64, m int, t float64) {
	e := math.Exp(-t)
	if e == 0 {
		t = 0 // the polynomials below do not matter
	}
	switch m {
	case 1:
		a[0] = e
	case 2:
		copy(a, []float64{e * (1 + t), e * t, -e * t, e * (1 - t)})
	case 3:
		h := t * t / 2
		copy(a, []float64{
			e * (1 + t + h), e * (t + t*t), e * h,
			-e * h, e * (1 + t - t*t), e * (t - h),
			e * (h - t), e * (t*t - 3*t), e * (1 - 2*t + h),
		})
	}
}

// filterStep sets next = A (P - P e_1 e_1' P w) A' + Q, the covariance that is
// predicted for the next point, in units of s2; w = s2/F.
func filterStep(next, p *[3][3]float64, a []float64, m int, w, gap float64) {
	var c, ac [3][3]float64
	for i := range m {
		for j := range m {
			c[i][j] = p[i][j] - p[i][0]*p[0][j]*w
		}
	}
	for i := range m {
		for j := range m {
			for k := range m {
				ac[i][j] += a[i*m+k] * c[k][j]
			}
		}
	}
	stateNoise(next, m, gap)
	for i := range m {
		for j := range i + 1 {
			for k := range m {
				next[i][j] += ac[i][k] * a[j*m+k]
			}
			next[j][i] = next[i][j]
		}
	}
}

// stateNoise sets q = ∫_0^t exp(Bs) e_m e_m' exp(B's) ds times the spectral
// density that makes the stationary covariance that of stationary. It is
// integrated term by term, exp(-2s) times polynomials, and not taken as the
// difference of covariances, of which nothing is left for a small gap.
func stateNoise(q *[3][3]float64, m int, t float64) {
	var k [5]float64 // ∫ s^i exp(-2s)
	for i := range 2*m - 1 {
		k[i] = gammaPart(i, 2*t) * math.Gamma(float64(i+1)) / math.Ldexp(1, i+1)
	}
	*q = [3][3]float64{}
	switch m {
	case 1:
		q[0][0] = 2 * k[0]
	case 2: // the last column of exp(Bs) is (s, 1 - s) exp(-s)
		q[0][0] = 4 * k[2]
		q[1][0] = 4 * (k[1] - k[2])
		q[1][1] = 4 * (k[0] - 2*k[1] + k[2])
	case 3: // (s²/2, s - s²/2, 1 - 2s + s²/2) exp(-s)
		const f = 16.0 / 3
		q[0][0] = f * k[4] / 4
		q[1][0] = f * (k[3]/2 - k[4]/4)
		q[1][1] = f * (k[2] - k[3] + k[4]/4)
		q[2][0] = f * (k[2]/2 - k[3] + k[4]/4)
		q[2][1] = f * (k[1] - 2.5*k[2] + 1.5*k[3] - k[4]/4)
		q[2][2] = f * (k[0] - 4*k[1] + 5*k[2] - 2*k[3] + k[4]/4)
	}
	for i := range m {
		for j := range i {
			q[j][i] = q[i][j]
		}
	}
}

// gammaPart is exp(-x) Σ_{j>i} x^j/j!, the regularised lower incomplete gamma
// function at i+1.
func gammaPart(i int, x float64) float64 {
	term := math.Exp(-x)
	if x > 2*float64(i+1)+1 { // no cancellation: at least half is left
		var head float64
		for j := range i + 1 {
			head += term
			term *= x / float64(j+1)
		}
		if term != term { // x so large that 0·∞ arose
			return 1
		}
		return 1 - head
	}
	for j := 1; j <= i; j++ {
		term *= x / float64(j)
	}
	var sum float64
	for j := i + 1; term > 0; j++ {
		term *= x / float64(j)
		if sum+term == sum {
			break
		}
		sum += term
	}
	return sum
}
