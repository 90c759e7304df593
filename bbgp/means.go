package bbgp

import (
	"context"
	"math"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

const (
	// A Source costs as much as the means of some thousand rows, and is made once so many
	// were asked for.
	sourceRows = 2048
	// formMean is what a Source may do to a mean, in standard deviations of the target.
	formMean = 1e-4
	// leastSource is the finest tolerance of an entry that a Source is asked for.
	leastSource = 1e-13
	mostSource  = 1e-5 // and the largest, as in training
)

// meansTo sets out to K(X*, X) α and returns what bounds the error of a mean, of which
// the form of the product leaves room for asked, where that is not 0.
func (m *Model) meansTo(ctx context.Context, p *prepared, out, std linalg.Matrix, asked float64) (float64, error) {
	alpha := linalg.Matrix{Rows: m.N(), Cols: 1, Stride: 1, Data: m.weights}
	p.op.SetPrecision(kernelmv.F64)
	if p.means += std.Rows; p.means < sourceRows || asked > 0 && asked < 10*formMean {
		return m.meanError, p.op.CrossMulTo(ctx, out, std, alpha)
	}
	if p.source == nil {
		sum := 0.0
		for _, a := range m.weights {
			sum += math.Abs(a)
		}
		tol := formMean / (m.Parameters.Variance * sum)
		if !(tol >= leastSource) {
			tol = 0 // dense
		}
		var err error
		if p.source, err = p.op.NewSource(ctx, alpha, min(tol, mostSource)); err != nil {
			p.source = nil
			return 0, err
		}
	}
	return m.meanError + p.source.Error(0), p.source.MulTo(ctx, out, std)
}
