package inputs

import (
	"fmt"

	"bbgp.dev/bbgp/score"
)

// A HeldOut is what the fit kept back, and how the model did there.
type HeldOut struct {
	Table string      `json:"table,omitempty"` // "" where a share of the rows was drawn
	Share float64     `json:"share,omitempty"` // of the rows, where they were drawn
	Seed  uint64      `json:"seed,omitempty"`  // of the draw
	Score score.Score `json:"score"`           // of these rows
	// Rows are some of the rows, evenly spaced, for a picture.
	Rows []HeldRow `json:"rows"`
}

// A HeldRow is a row that was kept back, its number in the table from 1.
type HeldRow struct {
	Row   int     `json:"row"`    // of the table, from 1
	Y     float64 `json:"y"`      // target
	Mean  float64 `json:"mean"`   // prediction
	SDObs float64 `json:"sd_obs"` // its deviation, of an observation
}

// What says in words which rows they are.
func (h *HeldOut) What() string {
	if h.Table != "" {
		return fmt.Sprintf("%d rows of %s", h.Score.N, h.Table)
	}
	return fmt.Sprintf("%d rows, %.4g %% drawn with seed %d", h.Score.N, 100*h.Share, h.Seed)
}
