package gp

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A ParamError says which parameter is out of range or missing. Key is its name
// in the JSON form, such as "noise" or "lengthscales[3]".
type ParamError struct {
	Key, Reason string
}

func (e *ParamError) Error() string { return fmt.Sprintf("parameter %q: %s", e.Key, e.Reason) }

// An OptionError says which option has a value that cannot be used. Option is
// the name of the field of Options, in lower case.
type OptionError struct {
	Option, Reason string
}

func (e *OptionError) Error() string { return fmt.Sprintf("option %s: %s", e.Option, e.Reason) }

// A MemoryError refuses a run that would not fit its budget, before it starts.
type MemoryError struct {
	What           string
	Needed, Budget int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s needs %d MiB, the memory budget is %d MiB", e.What, (e.Needed+1<<20-1)>>20, e.Budget>>20)
}

// ErrNotFinite is what an evaluation returns when the matrix or the value is
// not finite or not positive definite at the parameters asked for.
var ErrNotFinite = errors.New("the likelihood is not finite at these parameters")

// A FileError says why a file is not a model that this version can read.
type FileError struct {
	Path, Reason string
}

func (e *FileError) Error() string {
	if e.Path == "" {
		return "model file: " + e.Reason
	}
	return fmt.Sprintf("%s: %s", e.Path, e.Reason)
}

// A DataError says which cell of the data cannot be used.
type DataError struct {
	Row    int    // index of the row, from 0; -1 when no single row is at fault
	Column string // name of the column, or "" when no single column is at fault
	Reason string
}

func (e *DataError) Error() string {
	switch {
	case e.Row >= 0 && e.Column != "":
		return fmt.Sprintf("row %d, column %q: %s", e.Row+1, e.Column, e.Reason)
	case e.Row >= 0:
		return fmt.Sprintf("row %d: %s", e.Row+1, e.Reason)
	case e.Column != "":
		return fmt.Sprintf("column %q: %s", e.Column, e.Reason)
	}
	return e.Reason
}

// MostSpread is the largest difference of two values of a column, and the largest noise
// variance or its factor: squares of what is larger, times rows, leave float64.
const MostSpread = 1e151

// CheckSpread returns a *DataError if values of a column are too far apart to be computed
// with: more than MostSpread. The row is that of the value furthest from 0.
func CheckSpread(column string, values []float64) error {
	_, _, err := spread(column, values)
	return err
}

// spread is CheckSpread, and returns the least and the greatest value.
func spread(column string, values []float64) (lo, hi float64, err error) {
	if len(values) == 0 {
		return 0, 0, nil
	}
	far := 0
	lo, hi = values[0], values[0]
	for i, v := range values {
		lo, hi = min(lo, v), max(hi, v)
		if math.Abs(v) > math.Abs(values[far]) {
			far = i
		}
	}
	if !(hi/2-lo/2 <= MostSpread/2) {
		return lo, hi, &DataError{Row: far, Column: column, Reason: fmt.Sprintf("values from %g to %g are too far "+
			"apart to be squared; correct this one, or give the column in other units, or its logarithm", lo, hi)}
	}
	return lo, hi, nil
}

// checkClose returns a *DataError if values from lo to hi are different and closer than least to be done so with.
func checkClose(column string, lo, hi, least float64, done string) error {
	if d := hi - lo; d == 0 || d >= least {
		return nil
	}
	return &DataError{Row: -1, Column: column, Reason: fmt.Sprintf("values from %g to %g are too close together to be "+
		"%s; give the column in other units", lo, hi, done)}
}

// LeastInput is the least difference of two values of an input that is not constant: what is much smaller has no
// reciprocal, or few digits.
const LeastInput = 1e-300

// CheckInput returns a *DataError, as CheckSpread does, also where values of an input are different and all closer
// together than LeastInput.
func CheckInput(column string, values []float64) error {
	lo, hi, err := spread(column, values)
	if err != nil {
		return err
	}
	return checkClose(column, lo, hi, LeastInput, "scaled")
}

// LeastSpread is the least difference of two targets: squares of what is smaller, times the least
// noise, are 0, and so would be the deviations of observations.
const LeastSpread = 1e-145

// CheckTarget returns a *DataError if targets are different and all closer together than LeastSpread.
func CheckTarget(column string, y []float64) error {
	return checkClose(column, slices.Min(y), slices.Max(y), LeastSpread, "squared")
}

// TooFar is the reason why a row with such a value cannot be predicted.
func TooFar(v float64) string {
	return fmt.Sprintf("%v is too far from the training rows for distances to be computed; correct it, or leave "+
		"the row out", v)
}
