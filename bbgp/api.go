package bbgp

import (
	"context"
	"errors"
	"io"

	"bbgp.dev/linalg"
)

type predictor struct{}

var errLater = errors.New("not yet")

func Fit(ctx context.Context, d *Data, opt Options) (*Model, error) { return nil, errLater }

// An LMLReport is an Evaluation with what the run cost.
type LMLReport struct {
	LML            float64            `json:"lml"`
	Lower          float64            `json:"lower"`
	Upper          float64            `json:"upper"`
	StdErr         float64            `json:"stderr"`
	BoundKind      string             `json:"bound_kind"`
	Gradient       *Gradient          `json:"gradient"`
	Passes         int                `json:"passes"`
	Rank           int                `json:"rank"`
	Neighbours     int                `json:"neighbours"`
	Probes         int                `json:"probes"`
	GradColumns    int                `json:"grad_columns"`
	Seconds        float64            `json:"seconds"`
	CPUSeconds     float64            `json:"cpu_seconds"`
	Method         string             `json:"method"`
	Precision      string             `json:"precision"`
	ISA            string             `json:"isa"`
	PeakBytes      int64              `json:"peak_bytes"`
	SecondsByPhase map[string]float64 `json:"seconds_by_phase"`
	Warnings       []string           `json:"warnings"`
}

func LogMarginalLikelihood(ctx context.Context, d *Data, p Params, opt Options) (*LMLReport, error) {
	return nil, errLater
}

// PredictOptions say what Predict computes. The zero value asks for means alone.
type PredictOptions struct {
	// SD asks for standard deviations.
	SD bool
	// SDTol is the relative half width of the interval asked of SD; 0 means 0.05.
	SDTol float64
	// MeanTol bounds the error of the mean in standard deviations of the target; 0 means 1e-3.
	MeanTol float64
}

// A Prediction holds one value per row, in the units of the target.
type Prediction struct {
	Mean []float64
	// SD is the standard deviation of f, SDObs of a new observation; nil unless asked for.
	SD, SDObs []float64
	// MeanLower..SDUpper bound the exact answers; nil unless SD was asked for.
	MeanLower, MeanUpper, SDLower, SDUpper []float64
}

// Predict; e nil means a default engine. xs holds rows of raw inputs.
func (m *Model) Predict(ctx context.Context, e *linalg.Engine, xs linalg.Matrix, opt PredictOptions) (*Prediction, error) {
	return nil, errLater
}

// A Score compares predictions with the truth.
type Score struct {
	N          int     `json:"n"`
	RMSE       float64 `json:"rmse"`
	NLPD       float64 `json:"nlpd"`
	Coverage95 float64 `json:"coverage95"`
	RMSEStd    float64 `json:"rmse_std"`
	NLPDStd    float64 `json:"nlpd_std"`
}

// Score needs a Prediction with SDObs.
func (m *Model) Score(p *Prediction, y []float64) (Score, error) { return Score{}, errLater }

func (m *Model) Save(path string) error  { return errLater }
func (m *Model) Write(w io.Writer) error { return errLater }
func Load(path string) (*Model, error)   { return nil, errLater }
func Read(r io.Reader) (*Model, error)   { return nil, errLater }
