package main

import (
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"path/filepath"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/plots"
	"bbgp.dev/linalg"
)

//go:embed report.html
var reportHTML string

var reportTemplate = template.Must(template.New("report").Parse(reportHTML))

type reportFlags struct {
	machine machine
	read    reading
	data    string
	out     string
	effects int
}

func (a *app) reportCommand() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report MODEL [--data TEST.csv] --out REPORT.html",
		Short: "One page about a model, with pictures, for a browser or a printer",
		Example: `  bbgp report model.bbgp --out report.html
  bbgp report model.bbgp --data test.csv --out report.html`,
		Args: exactly("MODEL"),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			return a.report(c.Context(), args[0], &f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.data, "data", "", "table with targets to compare the predictions with")
	fl.StringVarP(&f.out, "out", "o", "report.html", "file for the page")
	fl.IntVar(&f.effects, "effects", 6, "effect curves, of the most relevant inputs")
	f.read.addFormat(fl)
	f.machine.add(fl)
	return c
}

// A page is what report.html shows.
type page struct {
	Title     string
	Warnings  []string
	Facts     []fact
	Relevance []relevance
	Sections  []section
	Foot      string
}

type fact struct{ Name, Value string }

type relevance struct {
	Name, Length, Relative string
	Percent                float64
}

type section struct {
	Title, Text string
	Figures     []figure
}

type figure struct {
	Picture template.HTML
	Caption string
}

func (s *section) add(p *plot.Plot, err error, caption string) error {
	if err != nil {
		return err
	}
	svg, err := plots.SVG(p, 13*vg.Centimeter, 9*vg.Centimeter)
	if err != nil {
		return err
	}
	// The plot library escapes the names of columns that the picture shows.
	s.Figures = append(s.Figures, figure{template.HTML(svg), caption})
	return nil
}

func (a *app) report(ctx context.Context, path string, f *reportFlags) error {
	e, err := f.machine.engine()
	if err != nil {
		return err
	}
	m, plan, err := loadModel(path)
	if err != nil {
		return err
	}
	r := m.Result
	pg := &page{Title: "Model of " + plan.Target, Warnings: r.Warnings, Facts: facts(m), Relevance: relevances(m),
		Foot: fmt.Sprintf("bbgp %s, fitted in %.1f s on %s, seed %d", versionString(), r.Seconds, r.ISA, r.Seed)}
	if f.data != "" {
		s, err := a.heldOut(ctx, f, m, plan, e, pg)
		if err != nil {
			return err
		}
		pg.Sections = append(pg.Sections, *s)
	}
	s, err := effects(ctx, f.effects, m, plan, e)
	if err != nil {
		return err
	}
	if len(s.Figures) > 0 {
		pg.Sections = append(pg.Sections, *s)
	}
	if s, err = trainingSection(m); err != nil {
		return err
	}
	if len(s.Figures) > 0 {
		pg.Sections = append(pg.Sections, *s)
	}
	return writeFile(f.out, a.out, func(w *rowWriter) error { return reportTemplate.Execute(w.w, pg) })
}

// facts lists what a reader asks first.
func facts(m *bbgp.Model) []fact {
	r, p, s := m.Result, m.Parameters, m.Scaling
	lml := fmt.Sprintf("%.2f", r.LML)
	if r.Lower != r.Upper {
		lml += fmt.Sprintf(", bias within [%.2f, %.2f] (%s), standard error %.2g", r.Lower, r.Upper, r.BoundKind, r.StdErr)
	}
	return []fact{
		{"rows, inputs", fmt.Sprintf("%d, %d", r.N, m.D())},
		{"kernel", p.Kernel},
		{"log marginal likelihood", lml},
		{"noise sd", fmt.Sprintf("%.5g (units of %s)", math.Sqrt(p.Noise)*s.YScale, m.Target)},
		{"function sd", fmt.Sprintf("%.5g about a mean of %.5g", math.Sqrt(p.Variance)*s.YScale, s.YMean+s.YScale*p.Mean)},
		{"work", fmt.Sprintf("%d evaluations, %d passes over the kernel matrix, %s", r.Evaluations, r.Passes, formatBytes(r.PeakBytes))},
	}
}

func relevances(m *bbgp.Model) []relevance {
	l := m.Parameters.Lengthscales
	order := byRelevance(l)
	var out []relevance
	for _, j := range order[:min(len(order), 30)] {
		v := relevance{Name: m.Names[j], Length: "no influence"}
		if !math.IsInf(l[j], 1) {
			v.Length, v.Relative = short(l[j]*m.Scaling.XScale[j]), short(l[j])+" sd"
			v.Percent = 100 * l[order[0]] / l[j]
		}
		out = append(out, v)
	}
	return out
}

// short is a number of three digits or more, without an exponent where it has few.
func short(v float64) string {
	if v >= 1000 && v < 1e7 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// heldOut compares with the targets of --data.
func (a *app) heldOut(ctx context.Context, f *reportFlags, m *bbgp.Model, plan *inputs.Plan, e *linalg.Engine, pg *page) (*section, error) {
	t, err := a.load(f.data, planReading(plan, f.read))
	if err != nil {
		return nil, err
	}
	set, err := plan.Held(t)
	if err != nil {
		return nil, err
	}
	p, err := predictRows(ctx, m, plan, e, set.X, bbgp.PredictOptions{SD: true, NoiseScale: set.Scale, NoiseExtra: set.Extra})
	if err != nil {
		return nil, err
	}
	sc, err := m.Score(p, set.Y)
	if err != nil {
		return nil, err
	}
	pg.Facts = append(pg.Facts, fact{"held-out rows", fmt.Sprintf("%d: RMSE %.5g, R² %s, NLPD %s, %s",
		sc.N, sc.RMSE, known("%.4f", sc.R2), known("%.4g", sc.NLPD), covered(sc))})
	s := &section{Title: "Predictions of held-out rows", Text: "Rows of " + filepath.Base(t.File) + ". They tell how good the model is only if the fit has not seen them."}
	y, mean, sd := thin(set.Y), thin(p.Mean), thin(p.SDObs)
	pl, err := plots.Predicted(plan.Target, y, mean, sd)
	if err := s.add(pl, err, "Close to the dashed line is good; bars are 95 % intervals of some rows."); err != nil {
		return nil, err
	}
	pl, err = plots.Residuals(plan.Target, y, mean, sd)
	if err := s.add(pl, err, "19 of 20 points belong between the dashed lines, at every prediction."); err != nil {
		return nil, err
	}
	pl, err = plots.Calibration(set.Y, p.Laws)
	return s, s.add(pl, err, "Above the dashed line intervals are too wide, below it too narrow.")
}

// mostPoints is the number of points of a picture: more only blacken it.
const mostPoints = 2000

// thin returns at most mostPoints of v, evenly spaced.
func thin(v []float64) []float64 {
	if len(v) <= mostPoints {
		return v
	}
	out := make([]float64, mostPoints)
	for i := range out {
		out[i] = v[i*len(v)/mostPoints]
	}
	return out
}

// effects draws the prediction along the most relevant inputs, the others at
// their means.
func effects(ctx context.Context, most int, m *bbgp.Model, plan *inputs.Plan, e *linalg.Engine) (*section, error) {
	const steps = 101
	s := &section{Title: "Effects of single inputs", Text: "The prediction of the function along one input, from two standard deviations below its mean to two above, the others at their means; the band holds the function with probability 95 %."}
	for _, j := range byRelevance(m.Parameters.Lengthscales) {
		in := plan.Inputs[j]
		if len(s.Figures) == most || math.IsInf(m.Parameters.Lengthscales[j], 1) {
			break
		}
		if in.Kind != inputs.Number && in.Kind != inputs.Date {
			continue
		}
		x, at := linalg.NewMatrix(steps, m.D()), make([]float64, steps)
		for i := range steps {
			copy(x.Row(i), m.Scaling.XMean)
			at[i] = m.Scaling.XMean[j] + m.Scaling.XScale[j]*(4*float64(i)/(steps-1)-2)
			x.Set(i, j, at[i])
		}
		p, err := m.Predict(ctx, e, x, bbgp.PredictOptions{SD: true})
		if err != nil {
			return nil, err
		}
		pl, err := plots.Effect(in.Name, plan.Target, at, p.Mean, p.SD)
		if err := s.add(pl, err, ""); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// trainingSection draws how the fit went.
func trainingSection(m *bbgp.Model) (*section, error) {
	s := &section{Title: "Training", Text: "Each point is an accepted step; the band is the interval that the bounds of the bias leave."}
	points := tracePoints(m.Result.Trace)
	if len(points) < 3 {
		points = append(climb(m.Result.Trace, m.Result.LML), points...)
	}
	if len(points) < 2 {
		return s, nil
	}
	pl, err := plots.Trace(points)
	if err := s.add(pl, err, "Log marginal likelihood against time."); err != nil {
		return nil, err
	}
	if pl, err = plots.Gaps(points); err != nil {
		return s, nil // method exact has no bounds
	}
	return s, s.add(pl, nil, "The distance of the bounds at each step.")
}

// climb returns the steps of the pre-fit that were better than all before: a
// small table is searched there, on all rows, from several starts, so that the
// training has little to add. Likelihoods of a part of the rows are not shown:
// they do not end near lml.
func climb(steps []bbgp.Step, lml float64) []plots.TracePoint {
	var out []plots.TracePoint
	best := math.Inf(-1)
	for _, s := range steps {
		if s.Phase == "prefit" && s.Accepted && s.LML > best {
			best = s.LML
			out = append(out, plots.TracePoint{Seconds: s.Seconds, LML: s.LML, Lower: s.LML, Upper: s.LML})
		}
	}
	if math.Abs(best-lml) > 1 {
		return nil
	}
	return out
}
