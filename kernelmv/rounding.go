package kernelmv

import (
	"math"

	"bbgp.dev/linalg"
)

// Rounding of float64 products, for bounds of what is computed from them. With
// u = 2^-53, a scaled coordinate is off by at most 4u of itself (a standardised input,
// the mean taken off, the factor), so a distance from row i by 4u (2|x'_i| + r), and
// h, whose slope is below 0.7 and whose slope times r is below 0.6, by
//
//	6u |x'_i| + 20u,
//
// the routines' own 2e-15 (accuracy_test.go) included. A sum of n products adds n u of
// Σ|terms| (asm/doc.go); in the O(n) form of one input each of up to n steps rounds a
// term eight times.

const unit = 0x1p-53

// EntryRounding sets dst[i] to a bound of the error of entries K_ij, for row i of xs
// (m×D) and any training row j, in units of s2; xs without columns stands for the
// training rows.
func (o *Op) EntryRounding(dst []float64, xs linalg.Matrix) error {
	xs.Check()
	s := o.allRows()
	if xs.Cols > 0 {
		var err error
		if s, err = o.testRows(xs); err != nil {
			return err
		}
	}
	if len(dst) != s.n {
		panic("kernelmv: EntryRounding: bad length")
	}
	for i := range dst {
		sum := 0.0
		for _, v := range s.row(i, o.pts.dim) {
			sum += v * v
		}
		dst[i] = 6*unit*math.Sqrt(sum) + 20*unit
	}
	return nil
}

// SumRounding is a bound of the error of a float64 sum Σ_j K_ij v_j, relative to
// s2 Σ_j |v_j|, beyond that of the entries: with the tolerance of the H² form where that
// may be taken (SetForm).
func (o *Op) SumRounding() float64 {
	n := float64(o.Dim() + 16)
	if o.hasLine() {
		return 8 * n * unit
	}
	sum := n * unit
	if d := len(o.pts.dims); d >= 1 && d <= h2MaxDim &&
		(o.h2.form == FormH2 || o.h2.form == FormAuto && o.Dim() >= h2LeastRows[d]) {
		sum += o.h2.tol[F64]
	}
	return sum
}
