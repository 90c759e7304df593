package train

import (
	"encoding/json"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// A Step is one evaluation of the training, for progress reports and plots.
type Step struct {
	Phase       string    `json:"phase"`       // prefit, train or final
	Stage       int       `json:"stage"`       // of the search
	Step        int       `json:"step"`        // its number
	Accepted    bool      `json:"accepted"`    // the point became the current one
	Rejected    bool      `json:"rejected"`    // ended early: the bound was too low; LML is not set
	LML         float64   `json:"lml"`         // log marginal likelihood there
	Lower       float64   `json:"lower"`       // null in JSON where there is no bound
	Upper       float64   `json:"upper"`       // of the bias
	StdErr      float64   `json:"stderr"`      // standard error over the probes
	Evaluations int       `json:"evaluations"` // on all rows, so far
	Passes      int       `json:"passes"`      // over the kernel matrix, so far
	Seconds     float64   `json:"seconds"`     // since the start
	CPUSeconds  float64   `json:"cpu_seconds"` // CPU time since the start
	Parameters  gp.Params `json:"parameters"`  // of the step
}

// MarshalJSON writes the step, with null for bounds that are not finite.
func (s Step) MarshalJSON() ([]byte, error) {
	type plain Step
	return json.Marshal(struct {
		plain
		Lower evidence.Bound `json:"lower"`
		Upper evidence.Bound `json:"upper"`
	}{plain(s), evidence.Bound(s.Lower), evidence.Bound(s.Upper)})
}
