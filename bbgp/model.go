package bbgp

import (
	"runtime/debug"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/posterior"
)

// A Model is a fitted Gaussian process. It may be used by several goroutines: one call
// runs at a time.
type Model struct {
	// Parameters are those of the standardised model.
	Parameters Params
	Scaling    Scaling
	Names      []string // of the inputs
	Target     string
	Result     Result
	// Extra is kept by Save and Load for the caller, who alone knows its meaning.
	Extra []byte
	// Writer names the program that made the model and its version; "" stands for
	// that of this package.
	Writer string

	post *posterior.Posterior // standardised rows, weights, and what answers
}

// A Result tells how a fit went. Its JSON form is what `bbgp fit --json` prints.
type Result struct {
	// of the standardised model; see **Model and parameters**
	Parameters Params  `json:"parameters"`
	Scaling    Scaling `json:"scaling"`       // how inputs and target are standardised
	N          int     `json:"n"`             // rows that were used
	Distinct   int     `json:"distinct_rows"` // N once repeated rows are merged
	D          int     `json:"d"`             // inputs
	LML        float64 `json:"lml"`           // log marginal likelihood, in nats
	// of the bias: what LML would be with exact arithmetic, on the same probes, is at least this
	Lower Bound `json:"lower"`
	// of the bias: what LML would be with exact arithmetic, on the same probes, is at most this
	Upper Bound `json:"upper"`
	// standard error of LML over the random probes, from their spread
	StdErr float64 `json:"stderr"`
	// ends that hold the likelihood with a probability of 95 %; null where there is no bound
	Interval95  Interval       `json:"lml_interval95,omitempty"`
	Interval999 Interval       `json:"lml_interval999,omitempty"` // the same with 99.9 %
	BoundKind   enum.BoundKind `json:"bound_kind"`                // exact, rigorous or probable
	Evaluations int            `json:"evaluations"`               // evaluations on all rows
	// over the kernel matrix, each for all right-hand sides at once
	Passes     int     `json:"passes"`
	Seconds    float64 `json:"seconds"`     // wall time of the work
	CPUSeconds float64 `json:"cpu_seconds"` // CPU time of the work, all threads
	PeakBytes  int64   `json:"peak_bytes"`  // peak memory of the process
	// the peak, before the first evaluation on all rows
	PredictedBytes int64       `json:"predicted_bytes"`
	Method         enum.Method `json:"method"`        // bbgp, exact, sgpr, cglb, iterative or rr
	MethodReason   string      `json:"method_reason"` // why this method
	// by which the choices were made; nil in models of before there were any
	Costs           *Costs         `json:"costs"`
	Optimizer       enum.Optimizer `json:"optimizer"`        // levenberg, lbfgs or adam
	Precision       enum.Precision `json:"precision"`        // of products: f32 or f64
	PrecisionReason string         `json:"precision_reason"` // why this precision
	Product         enum.Product   `json:"product"`          // dense or h2
	Tolerance       float64        `json:"tolerance"`        // of an entry in σ_f², for h2
	// nats that it may still do to LML, within the bounds
	ProductDoubt   float64  `json:"product_doubt"`
	Rank           int      `json:"rank"`                  // of the preconditioner, or inducing rows
	Neighbours     int      `json:"neighbours"`            // of each row, in the preconditioner
	Latents        int      `json:"latents"`               // rows that stand for all in it, instead of both
	Reason         string   `json:"preconditioner_reason"` // why this rank and these neighbours
	Probes         int      `json:"probes"`                // random right-hand sides
	ProbesReason   string   `json:"probes_reason"`         // why so many probes
	Seed           uint64   `json:"seed"`                  // of all random numbers
	ISA            string   `json:"isa"`                   // routines: avx512, avx2, neon or generic
	Constant       []string `json:"constant_inputs"`       // do not vary, out of the model
	Irrelevant     []string `json:"irrelevant_inputs"`     // fitted lengthscale is +Inf
	ConstantTarget bool     `json:"constant_target"`       // the target has one value
	NoStructure    bool     `json:"no_structure"`          // no input was found to tell the target
	// degrees of freedom of intervals; 0: rows are many, they are normal
	DF      float64 `json:"df"`
	NoiseDF float64 `json:"noise_df"` // of Student's t noise; 0: normal
	// converged, max-steps, time, cancelled or stalled
	Stopped enum.Stopped `json:"stopped"`
	// of the search: what was tried and what became of it
	Starts         []Candidate        `json:"starts"`
	Warnings       []string           `json:"warnings"`         // what a user should know, and do
	SecondsByPhase map[string]float64 `json:"seconds_by_phase"` // wall time by phase
	Trace          []Step             `json:"trace"`            // the steps of the training
}

// N returns the number of training rows.
func (m *Model) N() int {
	if m == nil || m.post == nil {
		return 0
	}
	return m.post.N()
}

// D returns the number of inputs.
func (m *Model) D() int {
	if m == nil || m.post == nil {
		return 0
	}
	return m.post.D()
}

// A FileInfo tells what a model file holds beside the Result.
type FileInfo struct {
	Format     int    `json:"format"`     // version of the format
	Bytes      int64  `json:"bytes"`      // size of the file
	Writer     string `json:"writer"`     // program and version
	MeanError  Bound  `json:"mean_error"` // bound of the error of every mean, in standard deviations of the target
	Dense      bool   `json:"dense"`      // predictions are made by Cholesky
	Rank       int    `json:"rank"`       // of the preconditioner, if not; negative: chosen when needed
	Neighbours int    `json:"neighbours"`
	Latents    int    `json:"latents"` // instead of both
	// Node is a lower bound of the spectrum of F⁻¹K̂F⁻ᵀ, 0 if unknown.
	Node       float64 `json:"node"`
	Seed       uint64  `json:"seed"`
	NoiseScale bool    `json:"noise_scale"` // the noise differs by row, by a factor
	NoiseExtra bool    `json:"noise_extra"` // or by a known variance
}

// File tells how the model is saved: parameters, scaling, training rows, weights,
// and the recipe for what else predictions need. MeanError bounds the error of
// every mean, in standard deviations of the target.
func (m *Model) File() (FileInfo, error) {
	var w sizeWriter
	if err := m.Write(&w); err != nil {
		return FileInfo{}, err
	}
	s, t := m.post.Spec(), m.post.Data()
	return FileInfo{Format: fileVersion, Bytes: int64(w), Writer: m.writer(),
		MeanError: Bound(m.post.Weights().MeanError), Dense: s.Dense, Rank: s.Rank, Neighbours: s.Neighbours,
		Latents: s.Latents, Node: s.Node, Seed: s.Seed, NoiseScale: t.NoiseScale != nil,
		NoiseExtra: t.NoiseExtra != nil}, nil
}

// writer returns Writer, or the version of this package.
func (m *Model) writer() string {
	if m.Writer != "" {
		return m.Writer
	}
	const path = "bbgp.dev"
	version := "(devel)"
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, d := range append(b.Deps, &b.Main) {
			if d.Path == path && d.Version != "" {
				version = d.Version
			}
		}
	}
	return "package " + path + " " + version
}

// A sizeWriter counts bytes.
type sizeWriter int64

func (w *sizeWriter) Write(b []byte) (int, error) {
	*w += sizeWriter(len(b))
	return len(b), nil
}
