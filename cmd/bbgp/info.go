package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"bbgp.dev/asm"
	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/internal/cost"
)

// version is set by the linker for releases.
var version = ""

// versionString prefers the linker's word, then the module's, then the commit.
func versionString() string {
	if version != "" {
		return version
	}
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := b.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				v += "-" + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v
}

func (a *app) infoCommand() *cobra.Command {
	var mach machine
	var asJSON bool
	c := &cobra.Command{
		Use:     "info [MODEL]",
		Short:   "This program and machine, or what a model file holds",
		Example: "  bbgp info\n  bbgp info model.bbgp --json",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("info takes at most one MODEL; for example: %s", firstExample(c))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			if len(args) == 1 {
				return a.modelInfo(args[0], asJSON)
			}
			return a.machineInfo(&mach, asJSON)
		},
	}
	mach.add(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "report as one JSON object")
	return c
}

type machineReport struct {
	Version   string   `json:"version"`       // of the program
	Go        string   `json:"go"`            // version of Go
	OS        string   `json:"os"`            // operating system
	Arch      string   `json:"arch"`          // architecture
	CPU       string   `json:"cpu"`           // its name
	Cores     int      `json:"cores"`         // logical processors
	Threads   int      `json:"threads"`       // threads that are used
	ISA       string   `json:"isa"`           // routines in use
	Available []string `json:"isa_available"` // routines that this CPU can run
}

func (a *app) machineInfo(mach *machine, asJSON bool) error {
	e, err := mach.engine(a)
	if err != nil {
		return err
	}
	r := &machineReport{Version: versionString(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		CPU: asm.CPU(), Cores: runtime.NumCPU(), Threads: e.Par.Threads(), ISA: e.Impl.Name}
	for _, im := range asm.All() {
		r.Available = append(r.Available, im.Name)
	}
	if asJSON {
		return writeJSON(a.out, r)
	}
	_, err = textf(a.out,
		"bbgp      %s\nGo        %s, %s/%s\nCPU       %s\nthreads   %d of %d\nroutines  %s of %s\n",
		r.Version, r.Go, r.OS, r.Arch, r.CPU, r.Threads, r.Cores, r.ISA, strings.Join(r.Available, ", "))
	if a.together() {
		_, err = textf(a.out, "ranks     %d, %v\n", a.ranks.comm.Size(), a.ranks.comm.Comm)
	}
	return err
}

// A modelReport is what info MODEL --json prints.
type modelReport struct {
	bbgp.Result
	Target string         `json:"target"`  // column of the target
	Inputs []inputs.Input `json:"inputs"`  // how each input is made
	Rule   string         `json:"missing"` // what is done where an input is missing: stop, drop or indicator
	File   bbgp.FileInfo  `json:"file"`    // what the file holds beside
	// HeldOut is nil where the fit kept nothing back.
	HeldOut *inputs.HeldOut `json:"held_out,omitempty"` // rows that the fit held out
}

func (a *app) modelInfo(path string, asJSON bool) error {
	m, plan, err := loadModel(path, "")
	if err != nil {
		return err
	}
	file, err := m.File()
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.out, &modelReport{Result: m.Result, Target: plan.Target, Inputs: plan.Inputs,
			Rule: plan.Rule, File: file, HeldOut: plan.HeldOut})
	}
	textf(a.out, "model of %s, %d rows, %d inputs, kernel %s, fitted by method %s\n", plan.Target, m.Result.N,
		m.D(), m.Parameters.Kernel, m.Result.Method)
	if err := writeParameters(a.out, m); err != nil {
		return err
	}
	writeInputs(a.out, m, plan)
	if h := plan.HeldOut; h != nil {
		textf(a.out, "held out      %s: RMSE %.5g, R² %s, NLPD %s, %s\n", h.What(), h.Score.RMSE,
			known("%.4f", h.Score.R2), known("%.4g", h.Score.NLPD), covered(h.Score))
	}
	return writeModelFile(a.out, m, file)
}

// writeInputs prints how the inputs are made of the columns of a table.
func writeInputs(w io.Writer, m *bbgp.Model, p *inputs.Plan) {
	s := &m.Scaling
	textf(w, "inputs, as the model takes them: a number less its mean, over its spread\n  %-24s %-8s "+
		"%12s %12s  %s\n", "input", "kind", "mean", "spread", "range in training")
	for j, in := range p.Inputs {
		span := ""
		if in.Low < in.High {
			span = fmt.Sprintf("%.6g to %.6g", in.Low, in.High)
		}
		textf(w, "  %-24s %-8s %12.6g %12.6g  %s\n", in.Name, in.Kind, s.XMean[j], s.XScale[j], span)
	}
	textf(w, "  %-24s %-8s %12.6g %12.6g\n", p.Target, "target", s.YMean, s.YScale)
	textf(w, "missing       %s\n", map[string]string{"stop": "inputs are refused",
		"drop": "inputs leave the row without a prediction", "indicator": "inputs are the mean, and told"}[p.Rule])
	for _, c := range [][2]string{{"weights", p.Weight}, {"noise var", p.NoiseOf}} {
		if c[1] != "" {
			textf(w, "%-13s column %s\n", c[0], c[1])
		}
	}
}

// writeModelFile prints what the fit reported and how predictions are made.
func writeModelFile(w io.Writer, m *bbgp.Model, f bbgp.FileInfo) error {
	r := &m.Result
	known := certainty(r, ", ")
	if known == "" {
		known = fmt.Sprintf(", exact but for rounding of %.1g", float64(r.Upper-r.Lower)/2)
	}
	textf(w, "LML           %.2f%s\n", r.LML, known)
	textf(w, "fit           %d evaluations, %d passes, %.1f CPU s on %s, optimizer %s, seed %d, %s\n",
		r.Evaluations, r.Passes, r.CPUSeconds, r.ISA, r.Optimizer, r.Seed, r.Stopped)
	if f.Dense {
		textf(w, "predictions   dense, by Cholesky\n")
	} else {
		size := cost.Size{Rank: f.Rank, Neighbours: f.Neighbours, Latents: f.Latents}
		textf(w, "predictions   means known to %.2g sd of the target; preconditioner of %s\n",
			float64(f.MeanError), strings.Replace(size.String(), ", ", " and ", 1))
	}
	for _, warn := range r.Warnings {
		textf(w, "warning       %s\n", warn)
	}
	_, err := textf(w,
		"file          format %d, %s, checksum right, by %s: %d rows of %d inputs, target and weights of the mean\n",
		f.Format, formatBytes(f.Bytes), f.Writer, m.N(), m.D())
	return err
}

// writeParameters prints the parameters in the units of the table, the most
// relevant input first.
func writeParameters(w io.Writer, m *bbgp.Model) error {
	p, s := m.Parameters, m.Scaling
	textf(w, "noise sd      %-12.5g  of %s\n", math.Sqrt(p.Noise)*s.YScale, m.Target)
	textf(w, "function sd   %-12.5g  about a mean of %.5g\n", math.Sqrt(p.Variance)*s.YScale,
		s.YMean+s.YScale*p.Mean)
	textf(w, "lengthscales, in the units of each input, the shortest (most relevant) first; relative to the "+
		"input's sd behind\n")
	for _, j := range byRelevance(p.Lengthscales) {
		l := p.Lengthscales[j]
		if math.IsInf(l, 1) {
			textf(w, "  %-24s no influence\n", m.Names[j])
			continue
		}
		textf(w, "  %-24s %-12.5g %8.3g\n", m.Names[j], l*s.XScale[j], l)
	}
	return nil
}
