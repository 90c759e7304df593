package bbgp

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
	Parameters Params `json:"parameters"`
	// Value is what the means reached by its own measure: a log likelihood of Rows rows.
	Value Bound `json:"value"`
	Rows  int   `json:"rows"`
	// LML is the log likelihood of all rows there, or an upper bound of it where Bounded;
	// NaN (null in JSON) where it was not asked. StdErr is its standard error.
	LML     Bound   `json:"lml"`
	StdErr  float64 `json:"stderr"`
	Bounded bool    `json:"bounded,omitempty"`
	// Evaluations are those of the means.
	Evaluations int `json:"evaluations"`
	// Dropped tells when the candidate was left and why; "" for the one that won.
	Dropped string `json:"dropped,omitempty"`
}
