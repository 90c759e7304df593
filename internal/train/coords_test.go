package train

import (
	"math"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

func TestLogCoordinates(t *testing.T) {
	p := gp.Params{Kernel: "matern32", Mean: 0.5, Variance: 2, Noise: 0.1, Lengthscales: []float64{3, math.Inf(1)}}
	q := fromLog(p.Kernel, logVector(p), []bool{false, true})
	if gptest.Relative(q.Variance, p.Variance) > 1e-15 ||
		gptest.Relative(q.Noise, p.Noise) > 1e-15 || q.Mean != p.Mean ||
		gptest.Relative(q.Lengthscales[0], 3) > 1e-15 || !math.IsInf(q.Lengthscales[1], 1) {
		t.Errorf("came back as %+v", q)
	}
	u := fromSoft(p.Kernel, softVector(p))
	if gptest.Relative(u.Noise, 0.1) > 1e-12 || !math.IsInf(u.Lengthscales[1], 1) {
		t.Errorf("softplus line: came back as %+v", u)
	}
}
