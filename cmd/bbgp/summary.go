package main

import (
	"fmt"
	"io"
	"sort"

	"bbgp.dev/bbgp"
)

// byRelevance returns the inputs with the shortest lengthscale first.
func byRelevance(l []float64) []int {
	order := make([]int, len(l))
	for j := range order {
		order[j] = j
	}
	sort.SliceStable(order, func(a, b int) bool { return l[order[a]] < l[order[b]] })
	return order
}

// certainty says how well the likelihood is known, after sep; nothing where it is exact to
// the digits that are printed.
func certainty(r *bbgp.Result, sep string) string {
	if r.StdErr == 0 && fmt.Sprintf("%.2f", r.Lower) == fmt.Sprintf("%.2f", r.Upper) {
		return ""
	}
	text := fmt.Sprintf("%sbias within [%.2f, %.2f] (%s), standard error %.2g",
		sep, r.Lower, r.Upper, r.BoundKind, r.StdErr)
	if i := r.Interval95; len(i) == 2 {
		text += fmt.Sprintf(", 95 %% interval [%.2f, %.2f]", i[0], i[1])
	}
	return text
}

// writeSummary prints a fit in words.
func writeSummary(w io.Writer, m *bbgp.Model, r *fitReport) error {
	rows := fmt.Sprint(r.N)
	if r.Distinct < r.N {
		rows += fmt.Sprintf(" at %d places (repeated rows are merged exactly)", r.Distinct)
	}
	textf(w, "rows          %s, %d inputs, kernel %s\n", rows, r.D, m.Parameters.Kernel)
	textf(w, "LML           %.2f%s\n", r.LML, certainty(&r.Result, "  "))
	if err := writeParameters(w, m); err != nil {
		return err
	}
	if h := r.Holdout; h != nil {
		textf(w, "holdout       %d rows: RMSE %.5g, NLPD %s, %s\n",
			h.N, h.RMSE, known("%.4g", h.NLPD), covered(*h))
		textf(w, "              R² %s; standardised RMSE %.4f, NLPD %s\n", known("%.4f", h.R2), h.RMSEStd,
			known("%.4f", h.NLPDStd))
	}
	how := string(r.Method)
	if r.Precision != "" { // there was an evaluation
		how += ", " + string(r.Precision)
	}
	textf(w, "work          %d evaluations, %d passes, %.1f s, %.1f CPU s, %s, method %s, %s%s\n",
		r.Evaluations, r.Passes, r.Seconds, r.CPUSeconds, formatBytes(r.PeakBytes), how, r.ISA, costsNote(r.Costs))
	for _, warn := range r.Warnings {
		textf(w, "%s       %s\n", yellow(w, "warning"), warn)
	}
	for _, note := range r.learnt {
		textf(w, "note          %s\n", note)
	}
	if r.Stopped != "" && r.Stopped != "converged" {
		textf(w, "stopped       %s\n", r.Stopped)
	}
	kept := r.Model
	if kept == "" {
		kept = "not kept; --out FILE saves it"
	}
	_, err := textf(w, "model         %s\n", kept)
	return err
}
