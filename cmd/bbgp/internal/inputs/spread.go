package inputs

import (
	"errors"
	"fmt"
	"math"

	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/gp"
)

// Numbers that a fit cannot compute with are told by the columns of the table, before it.

// narrow makes the ranges of the inputs those of the rows to train on: others of the table
// may lie anywhere.
func (p *Plan) narrow(s *Set) {
	for j := range p.Inputs {
		if in := &p.Inputs[j]; in.Kind == Number || in.Kind == Date {
			in.Low, in.High = span(s.X.Rows, func(i int) float64 { return s.X.At(i, j) })
		}
	}
}

// span returns the least and the largest of n numbers.
func span(n int, at func(i int) float64) (lo, hi float64) {
	lo, hi = at(0), at(0)
	for i := range n {
		lo, hi = min(lo, at(i)), max(hi, at(i))
	}
	return lo, hi
}

// Computable refuses rows to train on whose values are too far apart to be squared.
func (p *Plan) Computable(t *table.Table, s *Set) error {
	check := func(column, what string, v []float64) error {
		if len(v) == 0 {
			return nil
		}
		lo, hi := span(len(v), func(i int) float64 { return v[i] })
		return spreads(t, column, what, lo, hi)
	}
	for _, in := range p.Inputs {
		if in.Kind != Number {
			continue
		}
		if err := spreads(t, in.Column, "", in.Low, in.High); err != nil {
			return err
		}
	}
	if err := check(p.Target, "", s.Y); err != nil {
		return err
	}
	if err := check(p.NoiseOf, "as noise variances, ", s.Extra); err != nil {
		return err
	}
	return check(p.Weight, "as 1/weight, ", s.Scale)
}

func spreads(t *table.Table, column, what string, lo, hi float64) error {
	var bad *gp.DataError
	if errors.As(gp.CheckRange(column, lo, hi), &bad) {
		return &table.Error{File: t.File, Column: column, Text: what + bad.Reason}
	}
	return nil
}

// scorable refuses targets whose errors cannot be squared.
func (p *Plan) scorable(t *table.Table, s *Set) error {
	for k, y := range s.Y {
		if math.Abs(y) > gp.MostSpread {
			i := s.Rows[k]
			return &table.Error{File: t.File, Row: i + 1, Line: t.Line(i), Column: p.Target,
				Text: fmt.Sprintf("%g is too large for the error of its prediction to be squared", y)}
		}
	}
	return nil
}
