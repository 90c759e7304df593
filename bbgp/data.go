package bbgp

import (
	"fmt"
	"math"

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

// Rows returns the rows with the given indices as a Data of its own. It panics, with a
// constant text, where there is no such row, or no data: both are the caller's own.
func (d *Data) Rows(rows []int) *Data {
	if d == nil || checkMatrix(d.X) != nil || !d.even() {
		panic("bbgp: Data.Rows: no data, or columns that differ in length")
	}
	for _, r := range rows {
		if r < 0 || r >= d.X.Rows {
			panic("bbgp: Data.Rows: no such row")
		}
	}
	return d.withTable(d.table().Rows(rows))
}

// even says whether what there is beside the inputs has a value for each row.
func (d *Data) even() bool {
	for _, v := range [][]float64{d.Y, d.NoiseScale, d.NoiseExtra} {
		if v != nil && len(v) != d.X.Rows {
			return false
		}
	}
	return true
}

// table returns what of d is numbers.
func (d *Data) table() *gp.Table {
	return &gp.Table{X: d.X, Y: d.Y, NoiseScale: d.NoiseScale, NoiseExtra: d.NoiseExtra, Repeats: d.repeats}
}

// withTable returns t with the names of d.
func (d *Data) withTable(t *gp.Table) *Data {
	return &Data{X: t.X, Y: t.Y, NoiseScale: t.NoiseScale, NoiseExtra: t.NoiseExtra,
		repeats: t.Repeats, Names: d.Names, Target: d.Target}
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
	for j, col := range gp.Columns(d.X) {
		if err := gp.CheckInput(d.Name(j), col); err != nil {
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
	return gp.CheckSpread(name, v)
}

// scaling is the Scaling that the options ask for.
func (o *Options) scaling(d *Data) Scaling {
	if o.NoScale {
		return gp.Identity(d.X.Cols)
	}
	return gp.Standardise(d.X, d.Y, o.ScaleFloor)
}
