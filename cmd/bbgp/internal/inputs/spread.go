package inputs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/gp"
)

// Numbers that a fit cannot compute with are told by the columns of the table, before it.

// narrow makes the ranges of the inputs those of the rows to train on: others of the table
// may lie anywhere.
func (p *Plan) narrow(s *Set) {
	for j, col := range gp.Columns(s.X) {
		if in := &p.Inputs[j]; in.Kind == Number || in.Kind == Date {
			in.Low, in.High = slices.Min(col), slices.Max(col)
		}
	}
}

// Computable refuses rows to train on whose values are too far apart, or too close, to be squared.
func (p *Plan) Computable(t *table.Table, s *Set) error {
	for j, col := range gp.Columns(s.X) {
		in := &p.Inputs[j]
		if in.Kind != Number {
			continue
		}
		var bad *gp.DataError
		if errors.As(gp.CheckInput(in.Column, col), &bad) {
			if bad.Row < 0 {
				return &table.Error{File: t.File, Column: in.Column, Text: bad.Reason}
			}
			return s.fault(t, bad.Row, in.Column, bad.Reason)
		}
	}
	if len(s.Y) > 0 {
		var bad *gp.DataError
		if errors.As(gp.CheckTarget(p.Target, s.Y), &bad) {
			return &table.Error{File: t.File, Column: p.Target, Text: bad.Reason}
		}
	}
	check := func(column, what string, values []float64) error {
		var bad *gp.DataError
		if errors.As(gp.CheckSpread(column, values), &bad) {
			return s.fault(t, bad.Row, column, what+bad.Reason)
		}
		return nil
	}
	return cmp.Or(check(p.Target, "", s.Y), check(p.NoiseOf, "as noise variances, ", s.Extra),
		check(p.Weight, "as 1/weight, ", s.Scale))
}

// fault says what is wrong with row k of s in a column of the table.
func (s *Set) fault(t *table.Table, k int, column, text string) error {
	i := s.Rows[k]
	return &table.Error{File: t.File, Row: i + 1, Line: t.Line(i), Column: column, Text: text}
}

// scorable refuses targets whose errors cannot be squared, and inputs that no model of these
// ranges can predict: before the fit, which they would waste.
func (p *Plan) scorable(t *table.Table, s *Set) error {
	for k, y := range s.Y {
		if math.Abs(y) > gp.MostSpread {
			return s.fault(t, k, p.Target,
				fmt.Sprintf("%g is too large for the error of its prediction to be squared; correct it, or leave the "+
					"row out", y))
		}
	}
	for j, in := range p.Inputs {
		if in.Kind != Number {
			continue
		}
		far := gp.MostSpread * max(in.High-in.Low, 1)
		for k := range s.Rows {
			if v := s.X.At(k, j); math.Abs(v-in.Low) > far {
				return s.fault(t, k, in.Column, gp.TooFar(v))
			}
		}
	}
	return nil
}
