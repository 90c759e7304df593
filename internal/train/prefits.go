package train

import (
	"context"

	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// The fits of a subset from several starts. Where they are dense and there are ranks, one rank makes each, and what it
// would have counted, told and kept, all do afterwards, in the order of the starts.

// A subsetFit is where the fit of a subset has ended, and what it did.
type subsetFit struct {
	P      gp.Params
	LML    float64
	Failed bool
	// Of a fit by one rank for all:
	Count Counters
	Kept  []*checkpoint.Entry
}

// subsetFits fits so many random rows from each of starts. It fails where ctx ends.
func (f *Search) subsetFits(ctx context.Context, rows int, starts []gp.Params) ([]subsetFit, error) {
	fit := func(ctx context.Context, f *Search, i int) (subsetFit, error) {
		end, err := f.climb(ctx, rows, starts[i:i+1])
		if err != nil {
			return subsetFit{Failed: true}, ctx.Err()
		}
		return subsetFit{P: end.P, LML: end.Ev.LML}, nil
	}
	e, journal := f.Config.Engine, f.Config.Journal
	if e.Ranks() == 1 || !f.levelIsDense(rows) || journal != nil && journal.Answers() {
		fits := make([]subsetFit, len(starts))
		for i := range fits {
			var err error
			if fits[i], err = fit(ctx, f, i); err != nil {
				return nil, err
			}
		}
		return fits, nil
	}
	fits, err := linalg.Tasks(ctx, e, len(starts), func(ctx context.Context, i int) (subsetFit, error) {
		own, kept := f.byOneRank()
		end, _ := fit(ctx, own, i) // what ctx ends is told behind it
		end.Count, end.Kept = *own.Count, kept.Recorded
		return end, nil
	})
	for i := range fits {
		f.Count.add(&fits[i].Count)
		for _, entry := range fits[i].Kept {
			journal.Add(entry)
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	return fits, err
}

// levelIsDense says whether so many rows are fitted by dense evaluations.
func (f *Search) levelIsDense(rows int) bool {
	return f.Config.Method == "exact" || rows <= cost.ExactLevel && f.denseFits(rows)
}

// byOneRank returns the search as one rank makes it alone, with counters and a journal of its own.
func (f *Search) byOneRank() (*Search, *checkpoint.Journal) {
	own, config, journal := *f, *f.Config, new(checkpoint.Journal)
	config.Engine = config.Engine.Alone()
	if config.Journal != nil {
		config.Journal = journal
		config.Wrap = func(obj evidence.Estimator, d *gp.Table) evidence.Estimator {
			return config.Complete(&checkpoint.Estimator{Of: obj, Journal: journal, Rows: d.X.Rows}, d)
		}
	} else {
		config.Wrap = config.Complete
	}
	own.Config = &config
	own.Count = &Counters{Start: f.Count.Start, CPU0: f.Count.CPU0, Seconds: make(map[string]float64)}
	return &own, journal
}

// add counts and tells what was counted by itself.
func (c *Counters) add(other *Counters) {
	for _, s := range other.Trace {
		s.Step, s.Evaluations, s.Passes = len(c.Trace)+1, c.Evals+s.Evaluations, c.Passes+s.Passes
		c.Trace = append(c.Trace, s)
		if c.Progress != nil {
			c.Progress(s)
		}
	}
	c.Evals += other.Evals
	c.Passes += other.Passes
	for phase, s := range other.Seconds {
		c.Seconds[phase] += s
	}
}
