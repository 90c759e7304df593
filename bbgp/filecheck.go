package bbgp

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/posterior"
)

// A checksum tells accidents, not intent: a file may have been made by hand, or damaged
// before it was summed. So all that a file says is held against all else that it says,
// and its weights against its rows, before anything is predicted.

func fault(format string, args ...any) error {
	return &FileError{Reason: "damaged: " + fmt.Sprintf(format, args...)}
}

// mostPredicted bounds what a model may predict: room to the end of float64.
const mostPredicted = 1e300

// check tells whether the header fits a body of that many bytes.
func (h *fileHeader) check(bytes int) error {
	// Bounded before they are multiplied.
	if h.N < 1 || h.D < 1 || h.N > bytes || h.D > bytes {
		return fault("sizes in the header")
	}
	per := int64(h.D) + 2
	if h.NoiseScale {
		per++
	}
	if h.NoiseExtra {
		per++
	}
	switch {
	case int64(bytes)/8/per != int64(h.N) || int64(bytes) != 8*per*int64(h.N):
		return fault("%d bytes of numbers for %d rows of %d inputs", bytes, h.N, h.D)
	case len(h.Names) != h.D || len(h.Scaling.XMean) != h.D || len(h.Scaling.XScale) != h.D:
		return fault("names or scales are not %d", h.D)
	}
	if err := h.Parameters.Check(h.D); err != nil {
		return fault("%v", err)
	}
	if err := checkSpec(&h.Recipe, h.N); err != nil {
		return err
	}
	if h.MeanError < 0 {
		return fault("the weights are known to %v", float64(h.MeanError))
	}
	return h.checkResult()
}

// returns tells whether the header is read again from its JSON form, with the same names:
// fields of a Model may have been set to anything.
func (h *fileHeader) returns(head []byte) error {
	var back fileHeader
	if err := json.Unmarshal(head, &back); err != nil {
		return &FileError{Reason: "the model would not be read again: " + err.Error()}
	}
	if !slices.Equal(back.Names, h.Names) || back.Target != h.Target {
		return &FileError{Reason: "names of inputs or target are no UTF-8, and would not be read again as they are"}
	}
	return nil
}

func checkSpec(r *posterior.PrecondSpec, n int) error {
	switch {
	case r.Rank < -1 || r.Rank > n || r.Neighbours < -1 || r.Neighbours > min(n, mostNeighbours):
		return fault("a preconditioner of rank %d with %d neighbours for %d rows", r.Rank, r.Neighbours, n)
	case r.Latents < 0 || r.Latents > n || r.Latents > 0 && (r.Rank != 0 || r.Neighbours != 0):
		return fault("a preconditioner of %d latents, rank %d and %d neighbours for %d rows", r.Latents, r.Rank,
			r.Neighbours, n)
	case !(r.Node >= 0) || r.Node > 1:
		return fault("a spectrum from %v", r.Node)
	}
	return nil
}

// mostNoiseDF are degrees of freedom of noise that nobody tells from infinitely many.
const mostNoiseDF = 1e9

// freedom says whether df are degrees of freedom, at most so many, or 0 for the normal law: they set how wide
// intervals are.
func freedom(df, most float64) bool { return df == 0 || df >= 1 && df <= most }

// checkResult holds the report of the fit, a second copy of much, against the header.
func (h *fileHeader) checkResult() error {
	r := &h.Result
	switch {
	case r.D == 0 && r.N == 0:
		return nil // no report
	case r.D != h.D || r.N < h.N || r.Distinct != 0 && r.Distinct != h.N:
		return fault("the report is of %d rows, %d different ones, and %d inputs; the model has %d and %d", r.N,
			r.Distinct, r.D, h.N, h.D)
	case r.N != h.N && !h.NoiseScale: // rows that repeat have another noise
		return fault("the report is of %d rows, the model of %d that do not repeat", r.N, h.N)
	case !reflect.DeepEqual(r.Parameters, h.Parameters):
		return fault("the report has other parameters")
	case !reflect.DeepEqual(r.Scaling, h.Scaling):
		return fault("the report has another scaling")
	case !freedom(r.DF, float64(r.N)) || !freedom(r.NoiseDF, mostNoiseDF):
		return fault("degrees of freedom %v, of the noise %v, for %d rows", r.DF, r.NoiseDF, r.N)
	}
	for _, s := range r.Trace {
		if n := len(s.Parameters.Lengthscales); n != 0 && n != h.D {
			return fault("a step of %d lengthscales for %d inputs", n, h.D)
		}
	}
	for _, names := range [][]string{r.Constant, r.Irrelevant} {
		for _, name := range names {
			if !slices.Contains(h.Names, name) {
				return fault("the report tells of an input %q that there is not", name)
			}
		}
	}
	if r.Costs != nil {
		if err := r.Costs.Check(); err != nil {
			return fault("%v", err)
		}
	}
	return nil
}

// checkNumbers tells whether every number of a model can be used, and predictions are
// finite.
func (m *Model) checkNumbers() error {
	s, p, t, weights := &m.Scaling, &m.Parameters, m.post.Data(), m.post.Weights().Alpha
	for _, v := range [][]float64{t.X.Data, t.Y, weights, t.NoiseScale,
		t.NoiseExtra, s.XMean, s.XScale, {s.YMean, s.YScale}} {
		for _, x := range v {
			if !gp.Finite(x) {
				return fault("a number is not finite")
			}
		}
	}
	for _, v := range append([]float64{s.YScale}, s.XScale...) {
		if v <= 0 {
			return fault("a scale is not positive")
		}
	}
	for j, col := range gp.Columns(t.X) {
		if err := gp.CheckInput(m.Names[j], col); err != nil {
			return fault("%v", err)
		}
	}
	most, sum := 0.0, 0.0
	for i, noise := range gp.NoiseOf(*p, t) {
		if !gp.Finite(noise) || noise <= 0 || t.NoiseScale != nil && t.NoiseScale[i] <= 0 ||
			t.NoiseExtra != nil && t.NoiseExtra[i] < 0 {
			return fault("the noise variance of row %d", i+1)
		}
		most, sum = max(most, noise), sum+math.Abs(weights[i])
	}
	switch {
	case !(math.Abs(s.YMean)+s.YScale*(math.Abs(p.Mean)+p.Variance*sum) <= mostPredicted),
		!(s.YScale*s.YScale*(p.Variance+p.Noise) <= mostPredicted), !(p.Variance+most <= mostPredicted):
		return fault("predictions would not be finite")
	case m.Result.ConstantTarget && (!gp.Constant(t.Y) || sum > 0):
		return fault("the target is said to be constant and is not")
	}
	return nil
}
