package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// sameOnRanks compares what compute finds on each of some ranks with what it finds alone.
func sameOnRanks(t *testing.T, d *gp.Table, compute func(f *Search) (any, error)) {
	t.Helper()
	commtest.Same(t, func(c comm.Comm) (any, error) {
		f := searchOf(t, d, true)
		f.Config.Engine.Comm = c
		found, err := compute(f)
		return []any{found, f.Count.Evals}, err
	})
}

// The climbs of a dense search, the ridges of a coarse one and the metric are shared by ranks, and have the same bits.
func TestSearchOnRanks(t *testing.T) {
	ctx, r := context.Background(), rand.New(rand.NewPCG(3, 4))
	few := filled(40, 2, func(_ int, x []float64) float64 {
		x[0], x[1] = r.NormFloat64(), r.NormFloat64()
		return math.Sin(2*x[0]) + 0.2*r.NormFloat64()
	})
	sameOnRanks(t, few, func(f *Search) (any, error) {
		f.Config.Restarts = 9
		return f.denseSearch(ctx)
	})
	many := roughRows(3100, 2, 0.01)
	sameOnRanks(t, many, func(f *Search) (any, error) {
		f.Config.Kernel = "matern12"
		s, err := newCoarse(f)
		if err != nil {
			return nil, err
		}
		var all []*ascent
		for _, c := range s.designed()[:5] {
			all = append(all, s.from(c))
		}
		all[4].dropped = "here"
		return s.tops(ctx, all)
	})
	sameOnRanks(t, many, func(f *Search) (any, error) {
		fs, err := newFisher(ctx, f.Config.Engine, f.Std, gp.DefaultParams("matern32", 2), 1)
		if err != nil {
			return nil, err
		}
		return []linalg.Matrix{fs.f, linalg.Column([]float64{fs.within, fs.meanSub})}, nil
	})
}

// The fits of a subset have the bits of one rank, tell the same steps, and stand in the journal of every rank in the
// order of one alone, which goes on from it.
func TestSubsetFitsOnRanks(t *testing.T) {
	d := roughRows(260, 2, 0.1)
	type told struct {
		Step, Evaluations, Passes int
		LML                       float64
	}
	prefit := func(f *Search, path string) (any, error) {
		j, err := checkpoint.ResumeJournal(path)
		if err != nil {
			return nil, err
		}
		defer j.Close()
		if err := j.Begin([]byte("{}")); err != nil {
			return nil, err
		}
		c := f.Config
		c.Journal, c.PrefitRows = j, 60
		complete := c.Complete
		c.Wrap = func(obj evidence.Estimator, d *gp.Table) evidence.Estimator {
			return complete(&checkpoint.Estimator{Of: obj, Journal: j, Rows: d.X.Rows}, d)
		}
		var steps []told
		f.Count.Progress = func(s Step) { steps = append(steps, told{s.Step, s.Evaluations, s.Passes, s.LML}) }
		found, err := f.prefit(context.Background())
		if f.Count.Seconds["fisher"] == 0 || len(steps) < 5 {
			return nil, fmt.Errorf("%d steps, seconds %v", len(steps), f.Count.Seconds)
		}
		return []any{found, steps}, err
	}
	dir := t.TempDir()
	var paths atomic.Int64
	sameOnRanks(t, d, func(f *Search) (any, error) {
		path := filepath.Join(dir, fmt.Sprint(paths.Add(1)))
		first, err := prefit(f, path)
		if err != nil {
			return nil, err
		}
		size, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		again := *f
		again.Count = &Counters{Seconds: map[string]float64{}}
		second, err := prefit(&again, path)
		if after, e := os.Stat(path); e != nil || after.Size() != size.Size() || size.Size() < 1000 {
			return nil, fmt.Errorf("%d bytes, and then %v (%v)", size.Size(), after, e)
		}
		return []any{first, second}, err
	})
}

// A hooked estimator tells of its evaluations before it makes them.
type hooked struct {
	evidence.Estimator
	tell func()
}

func (h hooked) Evaluate(ctx context.Context, p gp.Params, opt evidence.Options) (*evidence.Value, error) {
	h.tell()
	return h.Estimator.Evaluate(ctx, p, opt)
}

// Where one rank is told to stop within its climbs, all of them know how far all climbs have come.
func TestSearchStopsOnRanks(t *testing.T) {
	d := roughRows(60, 2, 0.1)
	found := make([]string, 3)
	err := commtest.Run(len(found), func(c comm.Comm) error {
		a := comm.NewAgreed(c)
		own, stop := context.WithCancel(context.Background())
		defer stop()
		ctx, done := a.Context(own)
		defer done()
		f := searchOf(t, d, true)
		f.Config.Engine.Comm, f.Config.Restarts = a, 12
		complete, evals := f.Config.Complete, 0
		f.Config.Complete = func(obj evidence.Estimator, d *gp.Table) evidence.Estimator {
			return hooked{complete(obj, d), func() {
				if evals++; evals == 9 && c.Rank() == 1 {
					stop()
				}
			}}
		}
		all, err := f.denseSearch(ctx)
		if !errors.Is(err, context.Canceled) || len(all) != 1 {
			return fmt.Errorf("%d candidates, error %v", len(all), err)
		}
		b, err := json.Marshal(all)
		found[c.Rank()] = string(b)
		return err
	})
	if err != nil || found[0] != found[1] || found[0] != found[2] {
		t.Errorf("%v: %q", err, found)
	}
}
