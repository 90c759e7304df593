package bbgp

import (
	"context"
	"fmt"
	"math"

	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// The size of the preconditioner is decided when its low-rank part is there,
// by what that leaves of the trace:
//
//   - no more than the noise: K̂ is P and little else. Low rank alone, whose
//     bounds are rigorous, is enough.
//   - a small part of K: both. The neighbours carry the fine structure.
//   - otherwise the function varies between any few hundred points, and only
//     neighbours help.
//
// Elevators (n = 11121, noise 0.005 σ_f²), passes to 1 nat: 26 with 48
// neighbours alone, 6 with rank 200 and 16 neighbours, 4 with rank 300 alone.
//
// The number of neighbours follows from a model of the cost (nearCost), whose
// numbers are Costs: by default those of one machine, because all results are to be
// reproducible from the seed.
const (
	loud       = 0.1  // mean noise, in σ_f², above which a few columns do:
	loudRank   = 96   // elevators at all ones, 9 passes and 1.0 CPU s for 7 and 1.4
	loudTrace  = 0.1  // residual trace, in traces of the noise, that is little enough there
	quietTrace = 0.05 // and elsewhere, half of it where P is for more than one evaluation:
	// elevators, fitted: 3 passes and a standard error of 2.6 instead of 6 and 5.9 with 0.1
	noiseTraces = 1.0 // residual trace, in traces of the noise, for low rank alone
	smoothTrace = 0.2 // residual trace, in traces of K, up to which a low-rank part pays
	mixedRank   = 192
	fewColumns  = 72 // after these, and after mixedRank, it is seen whether more can help
)

// mostRank is how many columns are tried: their cost a row grows with the square,
// that of a pass with n. With the standard costs 384 at n = 11000.
func mostRank(n int, c *Costs) int {
	square := float64(n) * c.Scale() / c.Dense
	return 96 * min(max(int(math.Round(4*math.Sqrt(square/rankSquare))), 3), 6)
}

const rankSquare = 271040 // 11000 pairs of Scale in units of Dense, both standard

// nearSizes are the numbers of neighbours that are considered.
var nearSizes = []int{32, 48, 64, 96, 128, 192, 256}

// A seen says how many passes an evaluation of so many rows took with so many
// neighbours and what float32 products were foreseen to leave unsure there, and at
// and below which σ_n²/σ_f² they have failed on fewer rows.
type seen struct {
	passes, neighbours, rows int
	unsure, wide             float64
}

// note takes what ev tells.
func (s *seen) note(ev *Evaluation) {
	s.passes, s.neighbours, s.rows, s.unsure = ev.Passes-ev.Wasted, ev.Neighbours, len(ev.Alpha), ev.Unsure32
}

// unsure32 is what float32 products of n rows will leave unsure, in nats: it grows
// with the square of tr K̂⁻¹, on kin40k like n³ from 1700 to 40000 rows.
func (s seen) unsure32(n int) float64 {
	if s.rows == 0 {
		return 0
	}
	grow := float64(n) / float64(s.rows)
	return s.unsure * grow * grow * grow
}

// Without any evaluation, 48 neighbours are taken to need 12 passes, whatever n.
var unseen = seen{passes: 12, neighbours: 48}

// rowPower: passes grow like n^0.6 (kin40k at fixed parameters: 8 and 26 with 3333 and
// 20000 rows and 96 neighbours, 10 and 30 with 6667 and 40000 rows and 128).
const rowPower = 0.6

// nearPower: passes fall like neighbours^-0.75 (kin40k: 60, 33, 22, 16 with 32,
// 64, 128, 192; pol: 10, 8, 7, 5 with 48, 64, 96, 128).
const nearPower = 0.75

// foreseen is how many passes an evaluation of n rows with nn neighbours will take.
// Without neighbours then or now it is as many as s says, but for the rows.
func (s seen) foreseen(n, nn int) float64 {
	passes := float64(s.passes)
	if s.neighbours > 0 && nn > 0 {
		passes *= math.Pow(float64(s.neighbours)/float64(nn), nearPower)
	}
	if s.rows > 0 {
		passes *= math.Pow(float64(n)/float64(s.rows), rowPower)
	}
	return passes
}

// build is the cost a row of making nn neighbours: a factorisation, their entries of
// K, and what m columns of a low-rank part take off them.
func (c *Costs) build(d, nn, m int) float64 {
	k := float64(nn)
	return k * k * (c.Factor*k + c.Entry.at(d) + c.Projection*float64(m))
}

// searchShare is what neighbours cost, with the search for them, over their factors: where
// products are below n², that counts. D = 2, n = 60000: 11, 22, 38 µs a row for 32, 64, 96
// neighbours, nearly half of it the search; a product of 8 columns 1.8.
const searchShare = 2

// nearCost is the cost a row of a preconditioner with nn neighbours and m columns
// and of the passes of uses evaluations with it. A pass costs a tile row and the
// preconditioner's two solves (the standard costs are fitted to pol and kin40k).
func nearCost(n int, work float64, d, nn, m, uses int, prec kernelmv.Precision, s seen, c *Costs) float64 {
	build := c.build(d, nn, m)
	if work < float64(n) {
		build *= searchShare
	}
	pass := c.pair(d, prec)*work + c.Column*float64(m) + c.Neighbour*float64(nn)
	return build + float64(uses)*(s.foreseen(n, nn)+1)*pass
}

// rowWork is what a product of n rows costs a row, in pairs of a dense one.
func (o *EvalOptions) rowWork(n int) float64 {
	if o.work > 0 {
		return o.work
	}
	return float64(n)
}

// neighbours returns the number of neighbours of the least cost.
func neighbours(n, d, m int, prec kernelmv.Precision, opt EvalOptions) int {
	s, costs := opt.Seen, orStandard(opt.Costs)
	if s.passes == 0 || s.neighbours == 0 {
		s = unseen
	}
	best, least := 0, math.Inf(1)
	for _, nn := range nearSizes {
		if nn > n/8 && best > 0 {
			break
		}
		if c := nearCost(n, opt.rowWork(n), d, nn, m, max(opt.Uses, 1), prec, s, costs); c < least {
			best, least = nn, c
		}
	}
	return best
}

// h2Rank is how many columns are tried where products are cheap: as many as tell whether
// low rank alone will do, and none where that costs more than the passes that it saves.
func h2Rank(n, rank int) int {
	const rows = 50000
	if n > rows {
		return 0
	}
	return min(rank, fewColumns)
}

// activeInputs counts the inputs that the distance has.
func activeInputs(p Params) int {
	d := 0
	for _, l := range p.Lengthscales {
		if !math.IsInf(l, 1) {
			d++
		}
	}
	return d
}

// choosePrecond returns how P is made for n rows at p, whose noise is given;
// Decide of the result fills in the reason.
func choosePrecond(n int, p Params, noise []float64, prec kernelmv.Precision, opt EvalOptions) (set linalg.PrecondOptions, reason *string) {
	set = linalg.PrecondOptions{Rank: opt.Rank, Neighbours: opt.Neighbours}
	reason = new(string)
	*reason = "as asked"
	if set.Rank >= 0 && set.Neighbours >= 0 {
		return set, reason
	}
	total := 0.0
	for _, v := range noise {
		total += v
	}
	d := activeInputs(p)
	all := float64(n) * p.Variance
	if set.Rank < 0 {
		set.Rank, set.TraceTol = mostRank(n, orStandard(opt.Costs)), quietTrace*total/float64(min(max(opt.Uses, 1), 2))
		if total > loud*all {
			set.Rank, set.TraceTol = loudRank, loudTrace*total
		}
		set.Rank = min(set.Rank, n/4)
		if opt.h2 {
			set.Rank = h2Rank(n, set.Rank)
		}
		set.More = func(rank int, trace float64) bool {
			return rank < fewColumns || rank < mixedRank && trace <= 3*smoothTrace*all || trace <= 3*noiseTraces*total
		}
	}
	set.Decide = func(rank int, trace float64) (columns, near int) {
		smooth := trace <= smoothTrace*all
		switch {
		case trace <= noiseTraces*total:
			columns = rank
		case smooth && !opt.h2:
			columns = min(rank, mixedRank)
			near = neighbours(n, d, columns, prec, opt)
		default:
			near = neighbours(n, d, 0, prec, opt)
		}
		if opt.Rank >= 0 {
			columns = rank
		}
		if opt.Neighbours >= 0 {
			columns, near = rank, opt.Neighbours
			if !smooth && near > 0 && opt.Rank < 0 {
				columns = 0
			}
		}
		*reason = fmt.Sprintf("%d columns leave %.2g of the trace of K, %.2g of the noise", rank, trace/all, trace/total)
		if near > 0 && opt.Seen.passes > 0 {
			*reason += fmt.Sprintf("; the last evaluation, of %d rows, took %d passes with %d neighbours", opt.Seen.rows, opt.Seen.passes, opt.Seen.neighbours)
		}
		return columns, near
	}
	return set, reason
}

// foreseeRows are enough to see which parts P will have.
const foreseeRows = 2000

// foreseePrecond returns the sizes that P is going to have for d at p, by those
// that it has for some of the rows.
func (o *Options) foreseePrecond(ctx context.Context, d *gp.Table, p Params, s seen) (rank, near int, err error) {
	n := d.X.Rows
	few := min(n, foreseeRows)
	obj, err := newKrylovObjective(o.Engine, d.Rows(gp.Subset(n, few, o.Seed+3)), p)
	if err != nil {
		return 0, 0, err
	}
	eval := o.evalOptions()
	eval.Seen, eval.Uses = s, stageStepsOf(o.Method)
	if err := obj.Rebuild(ctx, p, eval); err != nil {
		return 0, 0, err
	}
	rank, near = obj.pre.Rank(), obj.pre.Neighbours()
	if near == 0 && eval.Rank < 0 {
		costs := orStandard(o.Costs)
		rank = rank * mostRank(n, costs) / mostRank(few, costs)
	}
	if near > 0 && eval.Neighbours < 0 {
		if s.rows == 0 { // the first evaluations will tell that fewer do
			eval.Uses = 1
		}
		near = neighbours(n, d.X.Cols, rank, obj.likely(n, p, eval), eval)
	}
	return rank, near, nil
}
