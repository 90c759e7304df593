package kernelmv

import (
	"math"

	"bbgp.dev/asm"
)

// The gradient by the squares of differences, where M is so large (a small noise) that the
// three terms of grad.go lose too much even in float64: Σ_ab w_ab (x'_ad - x'_bd)² as it stands,
// n²D/2 terms in plain code. Matérn-1/2 needs it early, for its weight 1/r is largest
// where the three terms are worst; points closer than asm.MinR are not left out here.

// defaultGradSlack is the error, in nats, beyond which that is done.
const defaultGradSlack = 1e-3

// SetGradSlack sets the error by the rounding of squares, in the units of the result, beyond
// which gradients in F64 take the differences themselves, 1e-3 at first.
func (o *Op) SetGradSlack(nats float64) { o.gradSlack = nats }

// isLossy tells, from |M|_F, whether the three terms lose more than may be.
func (o *Op) isLossy(size float64) bool {
	far := 0.0
	for k := range o.pts.dims {
		far = max(far, o.pts.localExtent(k))
	}
	loss := sumLoss * 0x1p-53 * far * far
	minR := asm.MinR[float64]()
	if o.kernel.Family == Matern12 {
		loss = max(loss/minR, minR)
	}
	return 2*loss*size*o.kernel.Variance*o.kernel.Family.WeightFactor() > o.gradSlack
}

// packDirect lays the coordinates out by rows.
func (t *gradient[T]) packDirect() {
	d, n := len(t.inputs), t.op.sched.padded
	t.rows = grow(t.rows, n*d)
	for q := range n {
		for k := range d {
			t.rows[q*d+k] = float64(t.xi[(k/t.width*n+q)*t.width+k%t.width])
		}
	}
}

// squares adds what a tile of w has to out.
func (t *gradient[T]) squares(out []float64, buf []T, i, rows, j0, cols int) {
	d := len(t.inputs)
	for a := range rows {
		xa := t.rows[(i+a)*d : (i+a+1)*d]
		for c, v := range buf[a*cols : (a+1)*cols] {
			if v == 0 {
				continue
			}
			w, xb := float64(v), t.rows[(j0+c)*d:(j0+c+1)*d]
			for k, x := range xa {
				e := x - xb[k]
				out[k] += w * (e * e)
			}
		}
	}
}

// weights turns a tile of squared distances into weights.
func (t *gradient[T]) weights(s *gradScratch[T], buf []T) {
	f := t.op.kernel.Family
	if !t.direct2 || f != Matern12 {
		t.kit.Weight(f, buf)
		return
	}
	s.r2 = append(s.r2[:0], buf...)
	t.kit.Weight(f, buf)
	closest(buf, s.r2)
}

// closest gives pairs of Matérn-1/2 closer than MinR their weight, from r2, the tile of
// squared distances.
func closest[T asm.Float](buf, r2 []T) {
	least := asm.MinR[T]()
	for k, v := range r2 {
		if v > 0 && v < least*least {
			buf[k] = T(1 / math.Sqrt(float64(v)))
		}
	}
}
