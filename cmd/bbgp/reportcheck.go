package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/score"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/plots"
	"bbgp.dev/linalg"
)

// Predictions beside targets: of the rows of --data, or of each training row by all
// others.

const (
	// mostLeftOut training rows are left out one by one unless asked for.
	mostLeftOut = 20000
	// mostPoints is the number of points of a picture: more only blacken it.
	mostPoints = 2000
	// residualsOf so many inputs are drawn.
	residualsOf = 3
)

// A comparison is targets, their predictions and the sd of these, of rows x.
type comparison struct {
	title       string
	y, mean, sd []float64
	laws        []score.Law
	x           linalg.Matrix
}

// leftOut compares the training rows, each with what the others say.
func (r *reporter) leftOut(ctx context.Context, pg *page) (*section, error) {
	n := r.m.N()
	if r.m.Result.ConstantTarget || n < 3 {
		return nil, nil
	}
	if n > mostLeftOut && !r.flags.leaveOut {
		pg.Facts = append(pg.Facts, fact{"quality", fmt.Sprintf(
			"not looked at: give --data, or --loo for all %d rows, each by the others", n)})
		return nil, nil
	}
	l, err := r.m.LeaveOneOut(ctx, bbgp.LeaveOutOptions{Engine: r.e})
	if err != nil {
		return nil, err
	}
	c := &comparison{"Leave-one-out", l.Y, l.Mean, l.SDObs, l.Laws, r.rows.X}
	sc, err := r.m.Score(&bbgp.Prediction{Mean: l.Mean, SDObs: l.SDObs, Laws: l.Laws}, l.Y)
	if err != nil {
		return nil, err
	}
	pg.Facts = append(pg.Facts, scoreFact("leave-one-out", sc))
	return r.compare(c, "Each training row predicted from all others, at the parameters of the model: optimistic by "+
		"little where rows are many.", true)
}

// keptBack draws the rows that the fit held out.
func (r *reporter) keptBack() (*section, error) {
	h := r.plan.HeldOut
	if h == nil || len(h.Rows) == 0 {
		return nil, nil
	}
	s := &section{Title: "Rows that the fit had not seen", Text: h.What() + "."}
	var y, mean, sd []float64
	for _, row := range h.Rows {
		y, mean, sd = append(y, row.Y), append(mean, row.Mean), append(sd, row.SDObs)
	}
	pl, err := plots.Predicted("Held out", r.plan.Target, y, mean, sd)
	return s, s.add(pl, err, "Close to the dashed line is good; bars are 95 % intervals of some rows.")
}

func scoreFact(name string, sc score.Score) fact {
	return fact{name, fmt.Sprintf("%d rows: RMSE %.5g, R² %s, NLPD %s, %s",
		sc.N, sc.RMSE, known("%.4f", sc.R2), known("%.4g", sc.NLPD), covered(sc))}
}

// heldOut compares with the targets of --data. Rows that the model was trained on are
// predicted from the other training rows.
func (a *app) heldOut(ctx context.Context, r *reporter, pg *page) (*section, error) {
	t, err := a.load(r.flags.data, planReading(r.plan, r.flags.read))
	if err != nil {
		return nil, err
	}
	set, err := r.plan.Held(t)
	if err != nil {
		return nil, err
	}
	opt := bbgp.PredictOptions{SD: true, NoiseScale: set.Scale, NoiseExtra: set.Extra}
	p, err := predictRows(ctx, r.m, r.plan, r.e, set.X, opt)
	if err != nil {
		return nil, located(err, t, set.Rows)
	}
	trained, err := r.m.Trained(set.X)
	if err != nil {
		return nil, err
	}
	text := "Rows of " + filepath.Base(t.File) + "."
	known := 0
	for _, at := range trained {
		if at >= 0 {
			known++
		}
	}
	if known > 0 && !r.m.Result.ConstantTarget {
		l, err := r.m.LeaveOneOut(ctx, bbgp.LeaveOutOptions{Engine: r.e})
		if err != nil {
			return nil, err
		}
		for i, at := range trained {
			if at >= 0 {
				p.Mean[i], p.SDObs[i], p.Laws[i] = l.Mean[at], l.SDObs[at], l.Laws[at]
			}
		}
		text += fmt.Sprintf(" The model was trained on %d of them: these are predicted from the other training rows.",
			known)
	}
	sc, err := r.m.Score(p, set.Y)
	if err != nil {
		return nil, err
	}
	pg.Facts = append(pg.Facts, scoreFact("rows of --data", sc))
	return r.compare(&comparison{"Predictions", set.Y, p.Mean, p.SDObs, p.Laws, set.X}, text, false)
}

// compare draws a comparison. ordered says that the order of the rows is that of the
// training.
func (r *reporter) compare(c *comparison, text string, ordered bool) (*section, error) {
	s := &section{Title: "How good it is", Text: text}
	z, row := make([]float64, len(c.y)), make([]float64, len(c.y))
	for i, y := range c.y {
		if z[i], row[i] = score.Residual(y, c.mean[i], c.sd[i]), float64(i+1); math.IsInf(z[i], 0) {
			z[i] = math.Copysign(10, z[i]) // beyond any interval
		}
	}
	target := r.plan.Target
	pl, err := plots.Predicted(c.title, target, thin(c.y), thin(c.mean), thin(c.sd))
	if err := s.add(pl, err, "Close to the dashed line is good; bars are 95 % intervals of some rows."); err != nil {
		return nil, err
	}
	pl, err = plots.Calibration(c.y, c.laws)
	if err := s.add(pl, err, "Above the band intervals are too wide, below it too narrow."); err != nil {
		return nil, err
	}
	pl, err = plots.Quantiles(thin(c.y), thin(c.laws))
	if err := s.add(pl, err,
		"On the dashed line the residuals are normal; ends that bend away are heavy tails."); err != nil {
		return nil, err
	}
	residuals := func(title, name string, x []float64, dates bool, caption string) error {
		pl, err := plots.Residuals(title, name, thin(x), thin(z), dates)
		return s.add(pl, err, caption)
	}
	if err := residuals("Residuals", "predicted "+target, c.mean, false,
		"19 of 20 points belong between the dashed lines, at every prediction."); err != nil {
		return nil, err
	}
	if ordered {
		if err := residuals("Residuals", "row", row, false,
			"A drift or waves along the rows are an input that the table does not have."); err != nil {
			return nil, err
		}
	}
	drawn := 0
	for _, g := range r.groups {
		if !r.curve(&g) || drawn == residualsOf {
			continue
		}
		drawn++
		x := make([]float64, len(z))
		for i := range x {
			x[i] = c.x.At(i, g.inputs[0])
		}
		if err := residuals("Residuals", g.column, x, r.kind(&g) == inputs.Date, ""); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// thin returns at most mostPoints of v, evenly spaced.
func thin[T any](v []T) []T {
	if len(v) <= mostPoints {
		return v
	}
	out := make([]T, mostPoints)
	for i := range out {
		out[i] = v[i*len(v)/mostPoints]
	}
	return out
}
