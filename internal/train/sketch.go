package train

import (
	"math"
	"math/rand/v2"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

const sketchSeed = 0x5ce7c4

// A sketch keeps S Z sqrt(scale), Z random with E[Z Z'] = I: the columns of an orthonormal basis of
// a random space, times what makes them that long. Then the information of every direction v,
// tr(S_v²)/2, comes out with a relative standard error of at most sqrt(2/k), k vectors; that of a
// direction is of many eigenvalues as a rule, and it is much less. A metric needs no more.
type sketch struct {
	o           *gp.Cholesky
	z, back, to linalg.Matrix // sqrt(scale) Z, L⁻ᵀ of that, and a work area
}

func newSketch(o *gp.Cholesky, scale float64) sketch {
	m := o.Table.X.Rows
	rng := rand.New(rand.NewPCG(uint64(m), sketchSeed))
	z := linalg.NewMatrix(m, cost.SketchVectors)
	for i := range z.Data {
		z.Data[i] = rng.NormFloat64()
	}
	o.Engine.ThinQR(z)
	long := math.Sqrt(scale * float64(m) / cost.SketchVectors)
	for i := range z.Data {
		z.Data[i] *= long
	}
	s := sketch{o, z, z.Clone(), linalg.NewMatrix(m, cost.SketchVectors)}
	o.Engine.SolveLeft(o.Chol.Factor(), true, s.back)
	return s
}

func (s sketch) width() int { return len(s.z.Data) }

func (s sketch) put(dst []float64, d linalg.Matrix) {
	s.o.Engine.GemmTo(s.to, 1, d, false, s.back, false, 0)
	s.o.Engine.SolveLeft(s.o.Chol.Factor(), false, s.to)
	copy(dst, s.to.Data)
}

func (s sketch) addUnit(dst []float64) {
	for i, v := range s.z.Data {
		dst[i] += v
	}
}
