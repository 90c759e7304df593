package gp

import (
	"math"
	"slices"

	"bbgp.dev/linalg"
)

// PaperFloor is what the paper's code adds to every standard deviation. It loses
// columns in small units: farads, or metres of a nanometre's work.
const PaperFloor = 1e-6

// A Scaling standardises inputs and target: x' = (x - mean)/scale, with the mean of
// the training rows and their population standard deviation, 1 where that is 0.
type Scaling struct {
	XMean  []float64 `json:"x_mean"`  // mean of each input
	XScale []float64 `json:"x_scale"` // standard deviation of each input
	YMean  float64   `json:"y_mean"`  // mean of the target
	YScale float64   `json:"y_scale"` // standard deviation of the target
}

// Identity is the Scaling that changes nothing, of d inputs: means 0 and scales 1.
func Identity(d int) Scaling {
	s := Scaling{XMean: make([]float64, d), XScale: make([]float64, d), YScale: 1}
	for j := range s.XScale {
		s.XScale[j] = 1
	}
	return s
}

// Standardise returns the Scaling of inputs x and target y, nil for none, with floor added to
// every standard deviation. With floor 0 the standardised rows are the same in all units.
func Standardise(x linalg.Matrix, y []float64, floor float64) Scaling {
	s := Scaling{XMean: make([]float64, x.Cols), XScale: make([]float64, x.Cols), YScale: 1}
	for j, col := range Columns(x) {
		s.XMean[j], s.XScale[j] = moments(col, floor)
	}
	if y != nil {
		s.YMean, s.YScale = moments(y, floor)
	}
	return s
}

// moments returns the mean and the population standard deviation + floor, or 1 where
// that is 0.
func moments(v []float64, floor float64) (mean, scale float64) {
	if len(v) == 0 {
		return 0, 1
	}
	if Constant(v) {
		if floor > 0 {
			return v[0], floor
		}
		return v[0], 1
	}
	// A first pass about v[0] keeps the digits of columns with a large offset.
	for _, x := range v {
		mean += x - v[0]
	}
	mean = v[0] + mean/float64(len(v))
	// In units of a power of two, which cost no digits: squares of small numbers vanish.
	_, e := math.Frexp(slices.Max(v) - slices.Min(v))
	ss, rest, unit := 0.0, 0.0, math.Ldexp(1, -e)
	for _, x := range v {
		x = (x - mean) * unit
		ss = math.FMA(x, x, ss)
		rest += x
	}
	ss -= rest * rest / float64(len(v))
	return mean, math.Ldexp(math.Sqrt(max(ss, 0)/float64(len(v))), e) + floor
}

// XTo sets dst = the standardised rows of x; dst may be x. It panics where the shapes
// do not fit: they are the caller's own.
func (s *Scaling) XTo(dst, x linalg.Matrix) {
	if len(s.XMean) != x.Cols || len(s.XScale) != x.Cols || dst.Rows != x.Rows || dst.Cols != x.Cols {
		panic("gp: Scaling.XTo: shapes do not fit")
	}
	for i := range x.Rows {
		d := dst.Row(i)
		for j, v := range x.Row(i) {
			d[j] = (v - s.XMean[j]) / s.XScale[j]
		}
	}
}

// YTo sets dst = the standardised targets; dst may be y.
func (s *Scaling) YTo(dst, y []float64) {
	if len(dst) < len(y) {
		panic("gp: Scaling.YTo: dst is too short")
	}
	for i, v := range y {
		dst[i] = (v - s.YMean) / s.YScale
	}
}

// YRounding bounds the rounding of YMean + YScale v = y, and that of YMean itself, whose last digits hang on the order
// of a sum: 4 (|YMean| + |y|) 2⁻⁵².
func (s *Scaling) YRounding(y float64) float64 { return 0x1p-50 * (math.Abs(s.YMean) + math.Abs(y)) }

// Apply returns the standardised copy of d, YLow taken in.
func (s *Scaling) Apply(d *Table) *Table {
	t := &Table{X: linalg.NewMatrix(d.X.Rows, d.X.Cols), Y: make([]float64, len(d.Y)), NoiseScale: d.NoiseScale,
		Repeats: WithinScaled(d.Repeats, s.YScale)}
	s.XTo(t.X, d.X)
	s.YTo(t.Y, d.Y)
	for i, low := range d.YLow {
		t.Y[i] = (d.Y[i] - s.YMean + low) / s.YScale
	}
	if d.NoiseExtra != nil {
		t.NoiseExtra = make([]float64, len(d.NoiseExtra))
		for i, e := range d.NoiseExtra {
			t.NoiseExtra[i] = e / (s.YScale * s.YScale)
		}
	}
	return t
}
