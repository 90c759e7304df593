package bbgp

import (
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// Data is a table: n rows of D inputs and a target.
type Data struct {
	// X holds the inputs, n×D.
	X linalg.Matrix
	// Y holds the target, n values; nil where only inputs are needed.
	Y []float64
	// Names names the inputs; nil means x1..xD.
	Names []string
	// Target names the target; "" means y.
	Target string
	// NoiseScale, if not nil, holds a factor d_i > 0 for each row, and
	// NoiseExtra, if not nil, a known noise variance e_i >= 0 in squared units
	// of y: the noise variance of row i is σ_n² d_i + e_i.
	NoiseScale, NoiseExtra []float64

	repeats []gp.Repeat // of merged rows; nil if no row is merged
}

// NewData copies n rows of D inputs into a Data with the target y, n values, which
// is kept as it is. It fails with a *DataError where rows differ in length.
func NewData(rows [][]float64, y []float64, names []string) (*Data, error) {
	d := 0
	if len(rows) > 0 {
		d = len(rows[0])
	}
	x := linalg.NewMatrix(len(rows), d)
	for i, row := range rows {
		if len(row) != d {
			return nil, &DataError{Row: i, Reason: fmt.Sprintf("%d cells where the first row has %d", len(row), d)}
		}
		copy(x.Row(i), row)
	}
	return &Data{X: x, Y: y, Names: names}, nil
}

// NewInputs copies m rows of D inputs for Predict and Sample. It fails with a *DataError
// where rows differ in length.
func NewInputs(rows [][]float64) (linalg.Matrix, error) {
	d, err := NewData(rows, nil, nil)
	if err != nil {
		return linalg.Matrix{}, err
	}
	return d.X, nil
}

// A Dense is a matrix known by its elements; gonum's mat.Matrix is one.
type Dense interface {
	Dims() (rows, cols int)
	At(i, j int) float64
}

// DataFrom copies an n×D matrix of inputs, such as a gonum mat.Matrix, into a Data
// with the target y, n values, which is kept as it is; Inputs does so for Predict.
func DataFrom(m Dense, y []float64) *Data {
	if m == nil {
		return &Data{Y: y}
	}
	n, d := m.Dims()
	x := linalg.NewMatrix(n, d)
	for i := range n {
		for j := range d {
			x.Set(i, j, m.At(i, j))
		}
	}
	return &Data{X: x, Y: y}
}

// Name returns the name of input j.
func (d *Data) Name(j int) string {
	if j >= 0 && j < len(d.Names) && d.Names[j] != "" {
		return d.Names[j]
	}
	return fmt.Sprintf("x%d", j+1)
}

// TargetName returns the name of the target.
func (d *Data) TargetName() string {
	if d.Target != "" {
		return d.Target
	}
	return "y"
}

// Rows returns the rows with the given indices as a Data of its own. It panics where
// there is no such row: indices are the caller's own.
func (d *Data) Rows(rows []int) *Data {
	for _, r := range rows {
		if r < 0 || r >= d.X.Rows {
			panic("bbgp: Data.Rows: no such row")
		}
	}
	return d.withTable(d.table().Rows(rows))
}

// table returns what of d is numbers.
func (d *Data) table() *gp.Table {
	return &gp.Table{X: d.X, Y: d.Y, NoiseScale: d.NoiseScale, NoiseExtra: d.NoiseExtra, Repeats: d.repeats}
}

// withTable returns t with the names of d.
func (d *Data) withTable(t *gp.Table) *Data {
	return &Data{X: t.X, Y: t.Y, NoiseScale: t.NoiseScale, NoiseExtra: t.NoiseExtra, repeats: t.Repeats, Names: d.Names,
		Target: d.Target}
}

// check returns a *DataError for the first thing that makes d unusable.
func (d *Data) check(needY bool) error {
	if d == nil {
		return &DataError{Row: -1, Reason: "no data"}
	}
	if err := checkMatrix(d.X); err != nil {
		return err
	}
	n := d.X.Rows
	if n == 0 {
		return &DataError{Row: -1, Reason: "no rows"}
	}
	if d.X.Cols == 0 {
		return &DataError{Row: -1, Reason: "no inputs"}
	}
	if d.Names != nil && len(d.Names) != d.X.Cols {
		return &DataError{Row: -1, Reason: fmt.Sprintf("%d names for %d inputs", len(d.Names), d.X.Cols)}
	}
	if err := d.checkNames(); err != nil {
		return err
	}
	for i := range n {
		for j, v := range d.X.Row(i) {
			if !gp.Finite(v) {
				return &DataError{Row: i, Column: d.Name(j), Reason: fmt.Sprintf("%v is not a finite number", v)}
			}
		}
	}
	for j := range d.X.Cols {
		if err := checkSpread(d.Name(j), n, func(i int) float64 { return d.X.At(i, j) }); err != nil {
			return err
		}
	}
	if needY || d.Y != nil {
		if err := d.checkColumn(d.TargetName(), d.Y, math.Inf(-1), "a finite number"); err != nil {
			return err
		}
	}
	if d.NoiseScale != nil {
		if err := d.checkColumn("noise scale", d.NoiseScale, math.SmallestNonzeroFloat64,
			"positive and finite"); err != nil {
			return err
		}
	}
	if d.NoiseExtra != nil {
		return d.checkColumn("noise variance", d.NoiseExtra, 0, "finite and at least 0")
	}
	return nil
}

func (d *Data) checkColumn(name string, v []float64, low float64, want string) error {
	if len(v) != d.X.Rows {
		return &DataError{Row: -1, Column: name, Reason: fmt.Sprintf("%d values for %d rows", len(v), d.X.Rows)}
	}
	for i, x := range v {
		if !gp.Finite(x) || x < low {
			return &DataError{Row: i, Column: name, Reason: fmt.Sprintf("%v is not %s", x, want)}
		}
	}
	return checkSpread(name, len(v), func(i int) float64 { return v[i] })
}

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

// NewScaling returns the Scaling of the rows of d by the rule of the paper, standard
// deviation + PaperFloor. With identity it changes nothing: means 0 and scales 1.
func NewScaling(d *Data, identity bool) Scaling {
	if identity {
		s := Scaling{XMean: make([]float64, d.X.Cols), XScale: make([]float64, d.X.Cols), YScale: 1}
		for j := range s.XScale {
			s.XScale[j] = 1
		}
		return s
	}
	return Standardise(d, PaperFloor)
}

// Standardise returns the Scaling of the rows of d with floor added to every standard
// deviation. With floor 0 the standardised rows are the same in all units.
func Standardise(d *Data, floor float64) Scaling {
	s := Scaling{XMean: make([]float64, d.X.Cols), XScale: make([]float64, d.X.Cols), YScale: 1}
	col := make([]float64, d.X.Rows)
	for j := range s.XMean {
		for i := range col {
			col[i] = d.X.At(i, j)
		}
		s.XMean[j], s.XScale[j] = moments(col, floor)
	}
	if d.Y != nil {
		s.YMean, s.YScale = moments(d.Y, floor)
	}
	return s
}

// scaling is the Scaling that the options ask for.
func (o *Options) scaling(d *Data) Scaling {
	if o.NoScale {
		return NewScaling(d, true)
	}
	return Standardise(d, o.ScaleFloor)
}

// moments returns the mean and the population standard deviation + floor, or 1 where
// that is 0.
func moments(v []float64, floor float64) (mean, scale float64) {
	if len(v) == 0 {
		return 0, 1
	}
	if gp.Constant(v) {
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
		panic("bbgp: Scaling.XTo: shapes do not fit")
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
		panic("bbgp: Scaling.YTo: dst is too short")
	}
	for i, v := range y {
		dst[i] = (v - s.YMean) / s.YScale
	}
}

// apply returns the standardised copy of d.
func (s *Scaling) apply(d *gp.Table) *gp.Table {
	t := &gp.Table{X: linalg.NewMatrix(d.X.Rows, d.X.Cols), Y: make([]float64, len(d.Y)), NoiseScale: d.NoiseScale,
		Repeats: gp.WithinScaled(d.Repeats, s.YScale)}
	s.XTo(t.X, d.X)
	s.YTo(t.Y, d.Y)
	if d.NoiseExtra != nil {
		t.NoiseExtra = make([]float64, len(d.NoiseExtra))
		for i, e := range d.NoiseExtra {
			t.NoiseExtra[i] = e / (s.YScale * s.YScale)
		}
	}
	return t
}
