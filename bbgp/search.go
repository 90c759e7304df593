package bbgp

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
)

// The search for the right maximum: candidates → judge → climb → a look about.

// search sets r.Starts and returns those of them that are to be judged, the best first.
func (f *fit) search(ctx context.Context, r *Result) ([]*Candidate, error) {
	began := time.Now()
	fisher := f.count.seconds["fisher"]
	defer func() {
		f.count.seconds["fisher"] = fisher
		f.count.seconds["prefit"] += time.Since(began).Seconds()
	}()
	var err error
	if r.Starts, err = f.candidates(ctx); err != nil {
		return nil, err
	}
	return f.screen(ctx, r.Starts)
}

// candidates returns where the training on all rows may begin.
func (f *fit) candidates(ctx context.Context) ([]Candidate, error) {
	switch {
	case f.opt.Start != nil:
		return []Candidate{{From: "given", By: "none", Parameters: f.opt.Start.Clone(), LML: unasked}}, nil
	case f.opt.PrefitRows < 0:
		return []Candidate{{From: "all ones", By: "none", Parameters: DefaultParams(f.opt.Kernel, f.raw.X.Cols), LML: unasked}}, nil
	case f.opt.searchesDense(f.raw.X.Rows, f.raw.X.Cols):
		return f.kept("dense", func() ([]Candidate, error) { return f.denseSearch(ctx) })
	}
	found, err := f.prefit(ctx)
	if err != nil || !f.opt.searchesCoarsely(f.raw.X.Rows, f.raw.X.Cols) {
		return found, err
	}
	if f.noiseless(&found[0]) && f.opt.Restarts == 0 {
		return found, nil
	}
	more := found[:1:1]
	if f.opt.Restarts > 0 {
		for _, s := range designStarts(f.opt.Kernel, f.std, f.flat, f.opt.Restarts, f.opt.Seed) {
			more = append(more, Candidate{From: s.from, Parameters: s.p})
		}
	}
	coarse, err := f.kept("coarse", func() ([]Candidate, error) { return f.coarseCandidates(ctx, more) })
	return append(found, coarse...), err
}

// searchesCoarsely says whether the search of n rows climbs the Vecchia likelihood: not
// for the methods that it is compared with.
func (o *Options) searchesCoarsely(n, d int) bool {
	return n > 2*coarseRounds[0].near && d <= searchInputs && (o.Method == "exact" || o.Method == "bbgp")
}

// kept returns candidates of an earlier run from the journal, or finds and keeps them.
func (f *fit) kept(what string, find func() ([]Candidate, error)) ([]Candidate, error) {
	// keeping is what the journal has: the evaluations count, whoever made them.
	type keeping struct {
		All   []Candidate
		Evals int
	}
	j, key := f.opt.Journal, sha256.Sum256([]byte("candidates "+what))
	if j != nil {
		var k keeping
		if e := j.Take(key); e != nil {
			if gob.NewDecoder(bytes.NewReader(e.State)).Decode(&k) == nil && k.Evals >= 0 && f.sound(k.All) {
				f.count.evals += k.Evals
				return k.All, nil
			}
			j.Cut() // it was altered: the search is made again
		}
	}
	before := f.count.evals
	all, err := find()
	if err == nil && j != nil {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(keeping{all, f.count.evals - before}); err != nil {
			return nil, err
		}
		j.Add(&checkpoint.Entry{Key: key, Value: &evidence.Value{}, State: b.Bytes()})
	}
	return all, err
}

// sound says whether candidates from a file can be those of this table.
func (f *fit) sound(all []Candidate) bool {
	for _, c := range all {
		if c.Parameters.Kernel != f.opt.Kernel || c.Parameters.Check(f.raw.X.Cols) != nil {
			return false
		}
	}
	return len(live(all)) > 0
}

// Up to searchRows rows starts are compared by dense evaluations; with more than
// searchInputs inputs the steps would cost more than these.
const searchRows, searchInputs = 700, 100

// searchesDense says whether starts of n rows are compared by dense evaluations of all.
func (o *Options) searchesDense(n, d int) bool {
	return n <= searchRows && d <= searchInputs && o.budget().HasRoom(4*cost.ExactBytes(n)) && (o.Method == "exact" || o.Method == "bbgp")
}

// live returns the candidates that are not dropped.
func live(all []Candidate) []*Candidate {
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
// others why they are left; if the winner was evaluated last, the first stage begins
// with its evaluation.
func (t *trainer) choose(ctx context.Context, starts []*Candidate) (Params, error) {
	best := starts[0]
	if len(starts) == 1 {
		return best.Parameters, nil
	}
	at := point{}
	t.eval.Seed, t.eval.Eps = t.opt.Seed, coarseEps*t.eps
	for _, c := range starts {
		target := math.Inf(-1)
		if at.ev != nil {
			target = at.ev.LML
		}
		t.out = t.outOf(c.Parameters)
		pt, err := t.bold(ctx, c.Parameters, t.out, target)
		if err != nil {
			if ctx.Err() != nil || at.ev == nil {
				t.cur = at // the best so far, if any
				return c.Parameters, err
			}
			c.Dropped = "no likelihood of all rows: " + err.Error()
			continue
		}
		t.fresh = !pt.ev.Rejected && pt.ev.LML > target
		t.report(pt, t.fresh)
		c.judged(pt.ev)
		other := best
		if !t.fresh {
			other = c
			c.Dropped = fmt.Sprintf("at the comparison: %.4g nats behind", target-float64(c.LML))
		} else if at.ev != nil {
			best.Dropped = fmt.Sprintf("at the comparison: %.4g nats behind", pt.ev.LML-at.ev.LML)
		}
		if at.ev != nil {
			t.second = second(other, pt.ev, at.ev)
		}
		if !t.fresh {
			continue
		}
		best, at = c, pt
	}
	t.cur = at
	return at.p, nil
}

// second returns c, which lost one of two evaluations to the other, if their standard errors leave it
// open which is higher.
func second(c *Candidate, a, b *evidence.Value) *Candidate {
	if a.Rejected || b.Rejected || math.Abs(a.LML-b.LML) > openNats*math.Hypot(a.StdErr, b.StdErr) {
		return nil
	}
	return c
}

// judged notes what an evaluation on all rows tells.
func (c *Candidate) judged(ev *evidence.Value) {
	if c.LML, c.StdErr = Bound(ev.LML), ev.StdErr; ev.Rejected {
		c.LML, c.Bounded = Bound(ev.Upper), true
	}
}
