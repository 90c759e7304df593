package main

import (
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"sync"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/plots"
	"bbgp.dev/linalg"
)

//go:embed report.html
var reportHTML string

var reportTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Parse(reportHTML))
})

type reportFlags struct {
	machine  machine
	memory   string
	read     reading
	data     string
	out      string
	effects  int
	leaveOut bool
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
	fl.StringVar(&f.data, "data", "",
		"table with targets to compare the predictions with; rows of the training are judged by the others")
	fl.StringVarP(&f.out, "out", "o", "report.html", "file for the page")
	fl.IntVar(&f.effects, "effects", 6, "effect curves, of the inputs that do most")
	fl.BoolVar(&f.leaveOut, "loo", false,
		fmt.Sprintf("leave-one-out pictures also beyond %d training rows", mostLeftOut))
	f.read.addFormat(fl)
	addMemory(fl, &f.memory)
	f.read.memory = &f.memory
	f.machine.add(fl)
	return c
}

// A page is what report.html shows.
type page struct {
	Title          string
	Warnings, More []string // those shown at once, and those folded
	Facts          []fact
	Relevance      []relevance
	Sections       []section
	Foot           string
}

type fact struct{ Name, Value string }

type section struct {
	Title, Text string
	Folded      bool
	Figures     []figure
}

type figure struct {
	Picture template.HTML
	Caption string
}

// add adds a picture; the plot library escapes the names of columns that it shows.
func (s *section) add(p *plot.Plot, err error, caption string) error {
	if err != nil {
		return err
	}
	svg, err := plots.SVG(p)
	if err != nil {
		return err
	}
	s.Figures = append(s.Figures, figure{template.HTML(svg), caption})
	return nil
}

// A reporter makes the sections of a page about one model.
type reporter struct {
	m      *bbgp.Model
	plan   *inputs.Plan
	e      *linalg.Engine
	flags  *reportFlags
	rows   *bbgp.Data // of the training
	blocks [][]int    // the inputs of each column
	groups []group    // the same, what does most first
}

// warningsShown at once; more are folded.
const warningsShown = 3

func (a *app) report(ctx context.Context, path string, f *reportFlags) error {
	e, err := f.machine.engine(a)
	if err != nil {
		return err
	}
	m, plan, err := loadModel(path, f.memory)
	if err != nil {
		return err
	}
	live := newCounter(a.errw, false)
	defer live.end()
	live.say("report: what each input does")
	r := &reporter{m: m, plan: plan, e: e, flags: f, rows: m.Training()}
	if r.groups, err = r.sensitivities(ctx); err != nil {
		return err
	}
	result := &m.Result
	shown := min(len(result.Warnings), warningsShown)
	pg := &page{Title: "Model of " + plan.Target, Warnings: result.Warnings[:shown], More: result.Warnings[shown:],
		Facts: facts(m), Relevance: r.relevances(),
		Foot: fmt.Sprintf("bbgp %s, fitted in %.1f s on %s, seed %d",
			versionString(), result.Seconds, result.ISA, result.Seed)}
	if h := plan.HeldOut; h != nil {
		pg.Facts = append(pg.Facts, scoreFact("held out by the fit", h.Score))
	}
	check := func() (*section, error) { return r.leftOut(ctx, pg) }
	if f.data != "" {
		check = func() (*section, error) { return a.heldOut(ctx, r, pg) }
	}
	parts := []struct {
		what string
		make func() (*section, error)
	}{
		{"maps", func() (*section, error) { return r.maps(ctx) }},
		{"effects", func() (*section, error) { return r.effects(ctx) }},
		{"interactions", func() (*section, error) { return r.interactions(ctx) }},
		{"rows held out", r.keptBack},
		{"predictions beside targets", check},
		{"training", func() (*section, error) { return trainingSection(m) }},
	}
	for i, p := range parts {
		live.say(fmt.Sprintf("report: %s, %d of %d", p.what, i+2, len(parts)+1))
		s, err := p.make()
		if err != nil {
			return err
		}
		if s != nil && len(s.Figures) > 0 {
			pg.Sections = append(pg.Sections, *s)
		}
	}
	return writeFile(f.out, a.out, func(w *rowWriter) error { return reportTemplate().Execute(w.w, pg) })
}

// facts lists what a reader asks first.
func facts(m *bbgp.Model) []fact {
	r, p, s := &m.Result, m.Parameters, m.Scaling
	lml := fmt.Sprintf("%.2f", r.LML) + certainty(r, ", ")
	return []fact{
		{"rows, inputs", fmt.Sprintf("%d, %d", r.N, m.D())},
		{"kernel", p.Kernel},
		{"log marginal likelihood", lml},
		{"noise sd", fmt.Sprintf("%.5g (units of %s)", math.Sqrt(p.Noise)*s.YScale, m.Target)},
		{"function sd", fmt.Sprintf("%.5g about a mean of %.5g", math.Sqrt(p.Variance)*s.YScale,
			s.YMean+s.YScale*p.Mean)},
		{"work", fmt.Sprintf("%d evaluations, %d passes over the kernel matrix, %s", r.Evaluations, r.Passes,
			formatBytes(r.PeakBytes))},
	}
}

// short is a number of three digits or more, without an exponent where it has few.
func short(v float64) string {
	if v >= 1000 && v < 1e7 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// trainingSection draws how the fit went.
func trainingSection(m *bbgp.Model) (*section, error) {
	s := &section{Title: "Training", Folded: true,
		Text: "Each point is an accepted step; the band is the interval that the bounds of the bias leave."}
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
