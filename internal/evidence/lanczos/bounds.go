package lanczos

import (
	"errors"
	"math"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
)

// Two-sided bounds of L from a block Lanczos process (Burt, Artemev and van der
// Wilk 2021, Proposition 1 and section 3; Artemev, Burt and van der Wilk 2021
// for the quadratic term). With Q = (y-c)'K̂⁻¹(y-c),
//
//	-2 L = n log 2π + log det P + tr log A + Q
//	Radau <= w'log(A)w <= Gauss
//	q <= Q <= q + r'Nr <= q + r'P⁻¹r/a,   q = 2 r'v + v'K̂v,   a <= the spectrum of A
//
// r'P⁻¹r/a is CGLB's bound. r'Nr is Gauss-Radau again, for 1/x and with the same
// node: N = F⁻ᵀT_t+1 M⁻¹ T_t+1'F⁻¹ (krylov.Quad.ErrorTo), where F⁻¹r = -T_t+1 B_t
// (H⁻¹[R0_y; 0])_t needs no product. It saves a pass or two where y converges last.
//
// The node a is 1 where K̂ >= P, which holds for a low-rank P at the parameters
// that it was built at. Elsewhere a is half the smallest Ritz value, or a little
// more, once that has settled: Ritz values come from above, and A is well
// conditioned there.
// Such bounds are called probable.

// settleRatio is how little the smallest Ritz value may fall from one check to
// the next to count as settled.
const settleRatio = 0.8

// largestShare is the share of the smallest Ritz value that the node takes once
// the value has come to rest; a half while it still falls by a tenth a check.
const largestShare = 0.8

// A smallest Ritz value that still falls, but by no more than to fallRatio a check
// and after fallChecks of them, is taken to fall by twice as much again before it
// comes to rest: bike (noise 1e-6, 64 to 128 neighbours) 1, 0.55, 0.25, 0.18, 0.13,
// 0.09, 0.08, 0.07. Waiting for it would be a third of the passes.
const (
	fallRatio  = 0.6
	fallChecks = 3
)

// A bounds follows the bounds of one evaluation as the process goes on.
type bounds struct {
	nodeOne bool // K̂ >= P is certain

	quad          krylov.Quad
	ldl           krylov.BlockLDL
	gauss, radau  []float64 // of each probe
	coord         []float64 // H⁻¹ of the coordinates of the last start column
	residualCoord []float64 // B_t times the last block of coord
	weighted      []float64 // M⁻¹ residualCoord, a work area

	node, low, high      float64 // Ritz values
	settled              bool
	lastLow              float64
	checks               int
	gaussMean, radauMean float64
	known                float64 // the part of q that a warm start brings
	quadLow              float64 // q
	rpr                  float64 // r'P⁻¹r
	rest                 float64 // the upper bound of Q - q
	fresh                bool    // the logarithms belong to the present H
	shrink               float64 // of the node, after a witness against it
	lastG, lastGap       float64
	square, fourth       float64 // w'log(A)²w and w'log(A)⁴w, means over the probes
	known2               float64 // <= |log A|_F²
}

var errIndefinite = errors.New("the whitened covariance matrix came out indefinite")

// reset begins an evaluation with s probes on the process of h; known is the part
// of q that was known before.
func (b *bounds) reset(h *krylov.BlockTri, s int, known float64, nodeOne bool) {
	*b = bounds{quad: b.quad, ldl: b.ldl, coord: b.coord, residualCoord: b.residualCoord, weighted: b.weighted,
		gauss: append(b.gauss[:0], make([]float64, s)...), radau: append(b.radau[:0], make([]float64, s)...),
		nodeOne: nodeOne, lastLow: math.Inf(1), shrink: largestShare, lastG: math.Inf(1),
		radauMean: math.Inf(-1), node: 1, known: known}
	b.ldl.Reset(h, 0)
}

// quadratic updates q and r'P⁻¹r from H: no product is needed, since
// F⁻¹r = -T_t+1 B_t (H⁻¹ [R0_y; 0])_t.
func (b *bounds) quadratic(h *krylov.BlockTri) error {
	if !b.ldl.Extend() {
		return errIndefinite
	}
	k, y := h.Dim(), h.R0.Cols-1
	if cap(b.coord) < k {
		b.coord = make([]float64, 2*k)
	}
	b.coord = b.coord[:k]
	clear(b.coord)
	for i := range h.R0.Rows {
		b.coord[i] = h.R0.At(i, y)
	}
	b.ldl.SolveTo(linalg.Column(b.coord))
	b.quadLow = b.known
	for i := range h.R0.Rows {
		b.quadLow += b.coord[i] * h.R0.At(i, y)
	}
	c := h.Coupling()
	last := b.coord[k-c.Cols:]
	b.residualCoord = b.residualCoord[:0]
	b.rpr = 0
	for i := range c.Rows {
		s := 0.0
		for j, v := range c.Row(i) {
			s += v * last[j]
		}
		b.residualCoord = append(b.residualCoord, s)
		b.rpr += s * s
	}
	b.rest, b.fresh = b.rpr/b.node, false
	return nil
}

// logarithms updates the two quadratures and the node.
func (b *bounds) logarithms(h *krylov.BlockTri) error {
	if err := b.quad.GaussTo(b.gauss, h); err != nil {
		return errIndefinite
	}
	b.low, b.high = b.quad.Low, b.quad.High
	b.square, b.fourth, b.known2 = b.quad.Square, b.quad.Fourth, b.quad.Frobenius
	b.gaussMean = mean(b.gauss)
	// The witness: Gauss has fallen by more than the bounds allowed.
	if drop := b.lastG - b.gaussMean; !b.nodeOne && b.settled && drop > b.lastGap*(1+1e-6)+1e-9*math.Abs(b.gaussMean) {
		b.shrink = min(b.shrink, 0.5) / 2
	}
	exact := h.Coupling().Rows == 0
	switch {
	case exact:
		b.node, b.settled = b.low, true
	case b.nodeOne:
		b.node, b.settled = krylov.NodeOne(b.high), true
		// Rounding in float32 can push a Ritz value below 1; the bound must exist.
		b.node = min(b.node, b.low*(1-1e-9))
	default:
		ratio := b.low / b.lastLow
		b.settled = ratio >= settleRatio
		b.node = min(b.shrink, max(0.5, 5*ratio-4)) * b.low
		if b.checks++; !b.settled && b.checks >= fallChecks && ratio >= fallRatio {
			b.node, b.settled = min(b.shrink, 0.5)*ratio*ratio*b.low, true
		}
	}
	b.lastLow, b.lastG = b.low, b.gaussMean
	b.radauMean = math.Inf(-1)
	if b.settled {
		if err := b.quad.RadauTo(b.radau, h, b.node); err != nil {
			b.settled = false
		} else {
			b.radauMean = mean(b.radau)
			// After few passes Gauss has too little of the squares.
			b.square, b.fourth = max(b.square, b.quad.Square), max(b.fourth, b.quad.Fourth)
		}
	}
	b.fresh = true
	b.remainder()
	b.lastGap = b.gaussMean - b.radauMean
	return nil
}

// remainder sets the bound of Q - q.
func (b *bounds) remainder() {
	b.rest = b.rpr / b.node
	b.weighted = append(b.weighted[:0], b.residualCoord...)
	if len(b.residualCoord) > 0 && b.settled && b.quad.ErrorTo(b.weighted, b.residualCoord, &b.ldl) {
		b.rest = 0
		for i, v := range b.weighted {
			b.rest += v * b.residualCoord[i]
		}
	}
}

// stepAhead is β, for which v + β P⁻¹r is nearer to K̂⁻¹(y-c) than v: 1/β is the geometric mean of
// the largest Ritz value, below whose inverse every step is an improvement, and of the mean of A
// along the last block of the solution, which stands for that along F⁻¹r, the next one.
// For either alone derivatives were farther off, the mean's by up to 1e4 nats after few passes.
func (b *bounds) stepAhead(h *krylov.BlockTri) float64 {
	a := h.Diag(h.Blocks() - 1)
	last := b.coord[len(b.coord)-a.Rows:]
	form, square := 0.0, 0.0
	for i, x := range last {
		square += x * x
		for j, y := range last {
			form += x * a.At(i, j) * y
		}
	}
	if !(form > 0) {
		return 1 / b.high
	}
	return math.Sqrt(square / (form * b.high))
}

// gap is the width of [lower, upper] of L; +Inf while the node has not settled.
func (b *bounds) gap() float64 {
	if !b.settled {
		return math.Inf(1)
	}
	return 0.5 * (b.gaussMean - b.radauMean + b.rest)
}

func mean(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s / float64(len(x))
}

// scatter returns the standard error of L over the probes, from their spread unless there
// are too few of them, and the law for intervals.
func (b *bounds) scatter() (stdErr float64, law evidence.Scatter) {
	s := float64(len(b.gauss))
	law = evidence.Scatter{Scale: 0.5 * math.Sqrt(2*max(b.square, b.known2)/s), Degrees: s, Probes: len(b.gauss)}
	if b.fourth > 0 {
		law.Degrees = s * max(1, b.square*b.square/b.fourth)
	}
	v := 0.0
	for _, g := range b.gauss {
		v += (g - b.gaussMean) * (g - b.gaussMean)
	}
	if s > 1 {
		stdErr = 0.5 * math.Sqrt(v/(s-1)/s)
	}
	if s < evidence.FewSpread {
		stdErr = max(stdErr, 0.5*math.Sqrt(2*b.square/s))
	}
	law.Scale = max(law.Scale, stdErr)
	return stdErr, law
}
