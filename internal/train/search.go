package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"fmt"
	"math"
	"time"

	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// The search for the right maximum: candidates → judge → climb → a look about.

// search sets f.Starts and returns those of them that are to be judged, the best first.
func (f *Search) search(ctx context.Context) ([]*Candidate, error) {
	began := time.Now()
	fisher := f.Count.Seconds["fisher"]
	defer func() {
		f.Count.Seconds["fisher"] = fisher
		f.Count.Seconds["prefit"] += time.Since(began).Seconds()
	}()
	var err error
	if f.Starts, err = f.candidates(ctx); err != nil {
		return nil, err
	}
	return f.screen(ctx, f.Starts)
}

// candidates returns where the training on all rows may begin.
func (f *Search) candidates(ctx context.Context) ([]Candidate, error) {
	switch {
	case f.Config.Start != nil:
		return []Candidate{{From: "given", By: "none", Parameters: f.Config.Start.Clone(), LML: unasked}}, nil
	case f.Config.PrefitRows < 0:
		return []Candidate{{From: "all ones", By: "none", Parameters: gp.DefaultParams(f.Config.Kernel,
			f.Raw.X.Cols), LML: unasked}}, nil
	case f.Config.SearchesDense(f.Raw.X.Rows, f.Raw.X.Cols):
		return f.kept("dense", func() ([]Candidate, error) { return f.denseSearch(ctx) })
	}
	found, err := f.prefit(ctx)
	if err != nil || !f.Config.searchesCoarsely(f.Raw.X.Rows, f.Raw.X.Cols) {
		return found, err
	}
	if f.noiseless(&found[0]) && f.Config.Restarts == 0 {
		return found, nil
	}
	coarse, err := f.kept("coarse", func() ([]Candidate, error) {
		var starts []designed
		if f.Config.Restarts > 0 {
			starts = designStarts(f.Config.Kernel, f.Std, f.Flat, f.Config.Restarts, f.Config.Seed)
		} else {
			starts = aloneStarts(f.Config.Kernel, f.Std, f.Flat)
		}
		more := found[:1:1]
		for _, s := range starts {
			more = append(more, Candidate{From: s.from, Parameters: s.p})
		}
		return f.coarseCandidates(ctx, more)
	})
	return append(found, coarse...), err
}

// searchesCoarsely says whether the search of n rows climbs the Vecchia likelihood: not
// for the methods that it is compared with.
func (o *Config) searchesCoarsely(n, d int) bool {
	return n > 2*coarseRounds[0].near && d <= searchInputs && (o.Method == "exact" || o.Method == "bbgp")
}

// kept returns candidates of an earlier run from the journal, or finds and keeps them.
func (f *Search) kept(what string, find func() ([]Candidate, error)) ([]Candidate, error) {
	// keeping is what the journal has: the evaluations count, whoever made them.
	type keeping struct {
		All   []Candidate
		Evals int
	}
	j, key := f.Config.Journal, sha256.Sum256([]byte("candidates "+what))
	if j != nil {
		var k keeping
		if e := j.Take(key); e != nil {
			if gob.NewDecoder(bytes.NewReader(e.State)).Decode(&k) == nil && k.Evals >= 0 && f.sound(k.All) {
				f.Count.Evals += k.Evals
				return k.All, nil
			}
			j.Cut() // it was altered: the search is made again
		}
	}
	before := f.Count.Evals
	all, err := find()
	if err == nil && j != nil {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(keeping{all, f.Count.Evals - before}); err != nil {
			return nil, err
		}
		j.Add(&checkpoint.Entry{Key: key, Value: &evidence.Value{}, State: b.Bytes()})
	}
	return all, err
}

// sound says whether candidates from a file can be those of this table.
func (f *Search) sound(all []Candidate) bool {
	for _, c := range all {
		if c.Parameters.Kernel != f.Config.Kernel || c.Parameters.Check(f.Raw.X.Cols) != nil {
			return false
		}
	}
	return len(Live(all)) > 0
}

// Up to searchRows rows starts are compared by dense evaluations; with more than
// searchInputs inputs the steps would cost more than these.
const searchRows, searchInputs = 700, 100

// SearchesDense says whether starts of n rows are compared by dense evaluations of all.
func (o *Config) SearchesDense(n, d int) bool {
	return n <= searchRows && d <= searchInputs && o.Budget.HasRoom(4*cost.ExactBytes(n)) &&
		(o.Method == "exact" || o.Method == "bbgp")
}

// Live returns the candidates that are not dropped.
func Live(all []Candidate) []*Candidate {
	var out []*Candidate
	for i := range all {
		if all[i].Dropped == "" {
			out = append(out, &all[i])
		}
	}
	return out
}

// openNats standard errors of a difference leave open which candidate is the better one.
const openNats = 2

// choose returns the start with the greatest likelihood of all rows, and tells the
// others why they are left; the first stage begins with its evaluation.
func (t *Trainer) choose(ctx context.Context, starts []*Candidate) (gp.Params, error) {
	best := starts[0]
	if len(starts) == 1 {
		return best.Parameters, nil
	}
	at := Iterate{}
	t.eval.Seed, t.eval.Eps = t.opt.Seed, coarseEps*t.eps
	for _, c := range starts {
		target := math.Inf(-1)
		if at.Ev != nil {
			target = at.Ev.LML
		}
		t.inactive = t.inactiveAt(c.Parameters)
		pt, err := t.relocate(ctx, c.Parameters, t.inactive, target)
		if err != nil {
			if ctx.Err() != nil || at.Ev == nil && !evidence.NotFinite(err) {
				t.Cur = at // the best so far, if any
				return c.Parameters, err
			}
			c.Dropped = lost(err)
			continue
		}
		t.fresh = !pt.Ev.Rejected && pt.Ev.LML > target
		t.report(pt, t.fresh)
		c.judged(pt.Ev)
		other := best
		if !t.fresh {
			other = c
			c.Dropped = fmt.Sprintf("at the comparison: %.4g nats behind", target-float64(c.LML))
		} else if at.Ev != nil {
			best.Dropped = fmt.Sprintf("at the comparison: %.4g nats behind", pt.Ev.LML-at.Ev.LML)
		}
		if at.Ev != nil {
			t.second = second(other, pt.Ev, at.Ev)
		}
		if !t.fresh {
			continue
		}
		best, at = c, pt
	}
	if at.Ev == nil { // a stage begins by a stronger preconditioner
		best.Dropped, at.P = "", best.Parameters
	}
	// If another one was evaluated last, the objective is made for that: a relocated step needs it no more,
	// any other begins the stage again.
	t.Cur, t.fresh = at, at.Ev != nil
	return at.P, nil
}

// second returns c, which lost one of two evaluations to the other, if their standard errors leave it
// open which is higher.
func second(c *Candidate, a, b *evidence.Value) *Candidate {
	if a.Rejected || b.Rejected || beyondProbes(a, b) {
		return nil
	}
	return c
}

// judged notes what an evaluation on all rows tells.
func (c *Candidate) judged(ev *evidence.Value) {
	c.LML, c.StdErr = evidence.Bound(ev.LML), ev.StdErr
	if ev.Rejected {
		c.LML, c.Bounded = evidence.Bound(ev.Upper), true
	}
}
