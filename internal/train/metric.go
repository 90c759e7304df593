package train

import (
	"context"
	"math"
	"time"

	"bbgp.dev/internal/evidence"
)

// The metric of the steps.

// measure sets the metric to the Fisher information at t.cur.
//
// It keeps the last one while no coordinate has moved far since.
func (t *Trainer) measure(ctx context.Context) error {
	start := time.Now()
	d := t.d.X.Cols
	if t.near(t.measured) {
		return nil
	}
	t.measured = append(t.measured[:0], t.Cur.z...)
	base, err := t.informationHere(ctx)
	if err != nil && !evidence.NotFinite(err) {
		return err
	}
	t.count.Seconds["fisher"] += time.Since(start).Seconds()
	if err != nil {
		// The subset's matrix is singular in float64 (σ_n² at its floor): the
		// last metric serves on; without one, a unit of curvature per row.
		if t.model.base == nil {
			t.model.base = unitInformation(t.d.X.Rows, d)
		}
		return nil
	}
	t.model.base = base
	t.model.damping = min(t.model.damping, firstDamping) // what failed by the last metric may go well by this one
	return nil
}

// informationHere is the Fisher information at t.cur: of the terms of a map, where neighbours tell it, or of random
// rows.
func (t *Trainer) informationHere(ctx context.Context) (information, error) {
	p := t.far(t.Cur.P, t.inactive)
	if t.opt.Method == "bbgp" && isMap(t.d, t.Cur.P) {
		if f, tells, err := t.mapInformation(ctx, p); err != nil || tells {
			return f, err
		}
	}
	fs, err := newFisher(ctx, t.e, t.d, p, t.eval.Seed+t.looks)
	if err != nil {
		return nil, err
	}
	// F_cc of all rows is between that of the subset and n / rows times it.
	info := t.Cur.Ev.MeanInfo
	if info == 0 {
		info = math.Sqrt(fs.meanSub * fs.meanAll)
	}
	return fs.information(info), nil
}

// near says whether every coordinate in use is within measureAgain of z.
func (t *Trainer) near(z []float64) bool {
	if len(z) == 0 {
		return false
	}
	for i, v := range t.Cur.z[:len(z)-1] { // c does not enter the information
		if !t.isInactive(i) && math.Abs(v-z[i]) > measureAgain {
			return false
		}
	}
	return true
}
