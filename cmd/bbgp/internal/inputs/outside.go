package inputs

import (
	"fmt"
	"math"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

// Rows of a prediction beyond the training rows. How much they can be trusted depends on
// two distances from the box of the training rows: in lengthscales, within which the
// training rows still tell something, and in ranges of the inputs, over which a trend was
// seen at all. A straight line with a lengthscale of 30 ranges goes on for long, and no row
// has tested it.

const (
	littleScales = 0.5 // lengthscales: the correlation with the edge is above 0.6 for all kernels
	littleRanges = 0.1
	lostScales   = 2 // little is left of it: below 0.15 for all kernels
)

// A Prior is what a model says where no row tells anything, in the units of the table.
type Prior struct {
	Mean, SD float64
	Scales   []float64 // lengthscales; +Inf: no influence
	Only     []float64 // the one value of an input that did not vary; NaN: it did
}

// Know tells a plan what its model falls back to.
func (p *Plan) Know(prior Prior) { p.prior = &prior }

// An outlook counts rows outside the range of the training rows.
type outlook struct {
	plan *Plan
	by   []int // rows outside by each input
	// Rows with another value of an input that did not vary: by each input, and all.
	other []int
	moved int
	// All of them; those outside by little, by so much that the mean is all there is, and
	// those between.
	rows, little, between, lost int
}

func (p *Plan) newOutlook() *outlook {
	return &outlook{plan: p, by: make([]int, len(p.Inputs)), other: make([]int, len(p.Inputs))}
}

// add looks at a row.
func (o *outlook) add(x []float64) {
	square, ranges, any, moved := 0.0, 0.0, false, 0
	for j, v := range x {
		in := &o.plan.Inputs[j]
		if p := o.plan.prior; p != nil && p.Only != nil && in.Kind != Level &&
			math.Abs(v-p.Only[j]) > 0x1p-50*math.Abs(v) { // neither is NaN
			o.other[j]++
			moved = 1
		}
		if !in.outside(v) {
			continue
		}
		any = true
		o.by[j]++
		off := max(in.Low-v, v-in.High)
		ranges = max(ranges, off/(in.High-in.Low))
		if o.plan.prior != nil {
			square += math.Pow(off/o.plan.prior.Scales[j], 2)
		}
	}
	o.moved += moved
	if !any {
		return
	}
	o.rows++
	switch scales := math.Sqrt(square); {
	case scales > lostScales:
		o.lost++
	case scales > littleScales || ranges > littleRanges:
		o.between++
	default:
		o.little++
	}
}

// notes says what was counted.
func (o *outlook) notes() []string {
	var notes []string
	if text := o.note(); text != "" {
		notes = append(notes, text)
	}
	var columns []string
	for j, n := range o.other {
		if n > 0 {
			columns = append(columns, o.plan.Inputs[j].Column)
		}
	}
	if o.moved > 0 {
		notes = append(notes, fmt.Sprintf("column %s: %s with another value than the one that all training rows "+
			"had: what it does is not known, and no sd or interval has it in it",
			table.List(columns, 8), table.Rows(o.moved)))
	}
	return notes
}

// note says how far rows are outside, "" for none.
func (o *outlook) note() string {
	if o.rows == 0 {
		return ""
	}
	worst := 0
	for j, n := range o.by {
		if n > o.by[worst] {
			worst = j
		}
	}
	text := fmt.Sprintf("%s outside the range of the training rows, most by column %s (%s)", table.Rows(o.rows),
		o.plan.Inputs[worst].Column, table.Rows(o.by[worst]))
	if o.plan.prior == nil {
		return text
	}
	var parts []string
	grade := func(n int, what string) {
		switch {
		case n == o.rows:
			parts = append(parts, what)
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	grade(o.little, "by little, where the rows at the edge still tell")
	grade(o.between, "well outside, where the trend at the edge goes on and no row has tested it: the interval "+
		"holds only if it does")
	grade(o.lost, fmt.Sprintf("by more than %d lengthscales, where the training rows tell little: the prediction "+
		"falls back to the mean, %s = %.4g with an sd of %.4g",
		lostScales, o.plan.Target, o.plan.prior.Mean, o.plan.prior.SD))
	return text + ": " + strings.Join(parts, "; ")
}

// OutsideNotes says how many rows of x have an input outside its range in training, and by
// how much.
func (p *Plan) OutsideNotes(x linalg.Matrix) []string {
	o := p.newOutlook()
	for i := range x.Rows {
		o.add(x.Row(i))
	}
	return o.notes()
}
