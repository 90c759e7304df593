package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/bbgp"
	"bbgp.dev/bench/uci"
	"bbgp.dev/internal/gp"
)

const (
	// exactRows is the size up to which every measured likelihood and deviation is
	// dense. Beyond, they come from the bounds of method bbgp, 1 nat wide, and its
	// probes, whose standard error is in the table; the end of a run is dense too.
	exactRows = 3000
	// probesOfLML is the number of probes of such a likelihood.
	probesOfLML = 15
	// deviationTol is the relative half width of the standard deviations in NLPD.
	deviationTol = 0.1
)

// A meter measures at parameters: the exact likelihood on the training rows of a
// split, and errors on its test rows.
type meter struct {
	set        string
	split, n   int
	data, held *bbgp.Data
}

func newMeter(set string, split, n int) (*meter, error) {
	train, test, err := uci.Load(set, split, n)
	if err != nil {
		return nil, err
	}
	return &meter{set, split, n, train.Data(), test.Data()}, nil
}

func (m *meter) small() bool { return m.data.X.Rows <= exactRows }

// likelihood measures the likelihood at the parameters of w.
func (m *meter) likelihood(w *row, dense bool) error {
	if !math.IsNaN(w.LML) && (w.LMLErr == 0 || !dense) {
		return nil
	}
	p, err := w.params()
	if err != nil {
		return err
	}
	opt := bbgp.Options{Method: "bbgp", Probes: probesOfLML, NoGradient: true, ScaleFloor: gp.PaperFloor}
	if dense || m.small() {
		opt.Method = "exact"
	}
	rep, err := bbgp.LogMarginalLikelihood(context.Background(), m.data, p, opt)
	if err != nil {
		return fmt.Errorf("the likelihood at %s: %w", w.Params, err)
	}
	w.LML, w.LMLErr = rep.LML, rep.StdErr
	return nil
}

// errors measures RMSE, NLPD if density is set, and the likelihood at the parameters
// of w. One evaluation of a fit that starts there makes the model.
func (m *meter) errors(w *row, density bool) error {
	if !math.IsNaN(w.RMSE) && (!density || !math.IsNaN(w.NLPD)) {
		return nil
	}
	p, err := w.params()
	if err != nil {
		return err
	}
	opt := bbgp.Options{Method: "bbgp", Optimizer: "adam", MaxSteps: 1, Start: &p, LMLStdErr: 1,
		ScaleFloor: gp.PaperFloor} // no more probes than usual
	if m.small() {
		opt.Method = "exact"
	}
	ctx := context.Background()
	model, err := bbgp.Fit(ctx, m.data, opt)
	if err != nil {
		return fmt.Errorf("a model at %s: %w", w.Params, err)
	}
	if math.IsNaN(w.LML) {
		w.LML, w.LMLErr = model.Result.LML, model.Result.StdErr
	}
	pred, err := model.Predict(ctx, m.held.X, bbgp.PredictOptions{SD: density, SDTol: deviationTol})
	if err != nil {
		return err
	}
	if !density {
		w.RMSE = rmse(pred.Mean, m.held.Y) / model.Scaling.YScale
		return nil
	}
	s, err := model.Score(pred, m.held.Y)
	if err != nil {
		return err
	}
	if w.RMSE, w.NLPD = s.RMSEStd, s.NLPDStd; math.IsNaN(w.NLPD) {
		return errors.New("a predicted deviation is not a number")
	}
	return nil
}

func rmse(mean, y []float64) float64 {
	sum := 0.0
	for i, v := range y {
		sum += (v - mean[i]) * (v - mean[i])
	}
	return math.Sqrt(sum / float64(len(y)))
}

// borrow takes what was measured in other runs of the set and split at the same
// parameters, as where they start.
func (r *record) borrow(others []*record) {
	known := map[string]*row{}
	for _, o := range others {
		for i := range o.Rows {
			if w := &o.Rows[i]; o.Head.Set == r.Head.Set && o.Head.Split == r.Head.Split &&
				w.Params != "" && !math.IsNaN(w.LML) {
				known[w.Params] = w
			}
		}
	}
	for i := range r.Rows {
		w := &r.Rows[i]
		k := known[w.Params]
		if k == nil {
			continue
		}
		if math.IsNaN(w.LML) || w.LMLErr > 0 && k.LMLErr == 0 {
			w.LML, w.LMLErr = k.LML, k.LMLErr
		}
		if math.IsNaN(w.RMSE) || math.IsNaN(w.NLPD) && !math.IsNaN(k.NLPD) {
			w.RMSE, w.NLPD = k.RMSE, k.NLPD
		}
	}
}

// measure measures at so many points of the way of r, in equal ratios of the
// number of the evaluation, and saves after each: NLPD where density is set and at the
// end. A point that cannot be measured is told in the remark.
func (m *meter) measure(r *record, points int, density bool, path string) error {
	at := r.way()
	chosen := spread(len(at), points)
	for k, c := range chosen {
		w := &r.Rows[at[c]]
		end := k == len(chosen)-1
		if err := errors.Join(m.errors(w, density || end), m.likelihood(w, end)); err != nil {
			r.Head.Remark += fmt.Sprintf("; not measured at evaluation %d: %v", w.Evaluation, err)
		}
		if err := r.save(path); err != nil {
			return err
		}
	}
	r.Head.Measured = true
	return r.save(path)
}

// spread returns about k of the numbers 0 to n-1, the first and the last among
// them, in equal ratios counted from 1.
func spread(n, k int) []int {
	if n == 0 {
		return nil
	}
	var at []int
	for i := range max(k, 2) {
		at = append(at, int(math.Round(math.Pow(float64(n), float64(i)/float64(max(k, 2)-1))))-1)
	}
	return slices.Compact(at)
}

// reach returns the CPU seconds at which the likelihood of the run first was at
// level, NaN if it is at none of the points that are measured. Between the first of
// these that is and the one before, it is looked up by bisection: it rises along the way but
// for its noise, at least until it first comes so high.
func (m *meter) reach(r *record, level float64) (float64, error) {
	at := r.way()
	lo := 0
	hi := slices.IndexFunc(at, func(i int) bool { return r.Rows[i].LML >= level })
	if hi < 0 {
		return math.NaN(), nil
	}
	for i := range hi {
		if !math.IsNaN(r.Rows[at[i]].LML) {
			lo = i + 1
		}
	}
	for lo < hi {
		mid := (lo + hi) / 2
		w := &r.Rows[at[mid]]
		if err := m.likelihood(w, false); err != nil {
			return math.NaN(), err
		}
		if w.LML >= level {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return r.Rows[at[hi]].CPU, nil
}
