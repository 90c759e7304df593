package train

import (
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// A Candidate is a place where the training on all rows may begin, and what became of
// it. The search finds candidates by several means, compares them by the likelihood of
// all rows, climbs from the best, and looks about where that ends; Result.Starts
// lists them all, in the order in which they were found.
type Candidate struct {
	// From tells where the means began: "all ones", "smooth", "given", "design 7", or
	// what was changed at the end of a climb.
	From string `json:"from"`
	// By names the means: "dense" (of all rows), "subset" (random rows), "vecchia" (all
	// rows, each given its neighbours), "check" (after the training), "none".
	By string `json:"by"`
	// Parameters are where the means led to.
	Parameters gp.Params `json:"parameters"`
	// Value is what the means reached by its own measure: a log likelihood of Rows rows.
	Value evidence.Bound `json:"value"`
	Rows  int            `json:"rows"` // rows that the value was seen on
	// LML is the log likelihood of all rows there, or an upper bound of it where Bounded;
	// NaN (null in JSON) where it was not asked. StdErr is its standard error.
	LML     evidence.Bound `json:"lml"`
	StdErr  float64        `json:"stderr"`            // standard error of the likelihood
	Bounded bool           `json:"bounded,omitempty"` // the likelihood is an upper bound
	// Evaluations are those of the means.
	Evaluations int `json:"evaluations"`
	// Ended says that the means had come to its end there: it is a maximum of its own.
	Ended bool `json:"ended,omitempty"`
	// Dropped tells when the candidate was left and why; "" for the one that won.
	Dropped string `json:"dropped,omitempty"`
}

const (
	rivalNoise = 2 // times the noise, or
	rivalLong  = 3 // times a lengthscale that matters is elsewhere
)

// Elsewhere says whether p and q make different models of standardised data.
func Elsewhere(p, q gp.Params) bool {
	apart := func(a, b, times float64) bool { return max(a, b) > times*min(a, b) }
	if apart(p.Noise, q.Noise, rivalNoise) && max(p.Noise, q.Noise) > resetNoise {
		return true
	}
	for j, l := range p.Lengthscales {
		if k := q.Lengthscales[j]; apart(l, k, rivalLong) && min(l, k) < rivalLong {
			return true
		}
	}
	return false
}
