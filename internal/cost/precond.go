package cost

import (
	"fmt"
	"math"

	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg/precond"
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

// MostRank is how many columns are tried: their cost a row grows with the square,
// that of a pass with n. With the standard costs 384 at n = 11000.
func MostRank(n int, c *Costs) int {
	square := float64(n) * c.Scale() / c.Dense
	return 96 * min(max(int(math.Round(4*math.Sqrt(square/rankSquare))), 3), 6)
}

const rankSquare = 271040 // 11000 pairs of Scale in units of Dense, both standard

// nearSizes are the numbers of neighbours that are considered.
var nearSizes = []int{32, 48, 64, 96, 128, 192, 256}

// A History says how many passes an evaluation of so many rows took with so many
// neighbours and what float32 products were foreseen to leave unsure there, and at
// and below which σ_n²/σ_f² they have failed on fewer rows.
type History struct {
	Passes, Neighbours, Rows int
	Unsure, Float32FailedAt  float64
	Rough                    bool // Matérn 1/2, of which near rows tell nearly all
}

// Unsure32 is what float32 products of n rows will leave unsure, in nats: it grows
// with the square of tr K̂⁻¹, on kin40k like n³ from 1700 to 40000 rows.
// On a map most of the rows count in full, and it grows like n².
func (s History) Unsure32(n int, onMap bool) float64 {
	if s.Rows == 0 {
		return 0
	}
	grow := float64(n) / float64(s.Rows)
	if onMap {
		return s.Unsure * grow * grow
	}
	return s.Unsure * grow * grow * grow
}

// Without any evaluation, 48 neighbours are taken to need 12 passes, whatever n.
var noHistory = History{Passes: 12, Neighbours: 48}

// rowPower: passes grow like n^0.6 (kin40k at fixed parameters: 8 and 26 with 3333 and
// 20000 rows and 96 neighbours, 10 and 30 with 6667 and 40000 rows and 128).
// Those of maps grow less: from 3 of 16666 rows with 64 neighbours to 4 of 1e5 and 5 of 5e5 in three inputs, and to 12
// of 1e6 with 96 in the plane. With Matérn 1/2 in the plane: 2 of 30000 rows and 4 of 1.7e6.
const rowPower, mapPower, roughPower = 0.6, 0.4, 0.2

// nearPower: passes fall like neighbours^-0.75 (kin40k: 60, 33, 22, 16 with 32,
// 64, 128, 192; pol: 10, 8, 7, 5 with 48, 64, 96, 128).
// In three inputs more of them reach as far as in the plane: 7, 6, 3, 2 passes with 64, 96, 128, 192 at n = 1e5, 9 and
// 3 with 96 and 192 at 1e6.
const nearPower, spaceNearPower = 0.75, 1.4

// inSpace says whether rows are of a map of three inputs.
func inSpace(n, d int, work float64) bool { return d == kernelmv.MapInputs && work < float64(n) }

// predictedPasses is how many passes an evaluation of n rows with nn neighbours will take.
// Without neighbours then or now it is as many as s says, but for the rows. A product costs so many pairs a row: less
// than n on maps.
func (s History) predictedPasses(n, d, nn int, work float64) float64 {
	passes := float64(s.Passes)
	if s.Neighbours > 0 && nn > 0 {
		power := nearPower
		if inSpace(n, d, work) {
			power = spaceNearPower
		}
		passes *= math.Pow(float64(s.Neighbours)/float64(nn), power)
	}
	if s.Rows > 0 {
		power := rowPower
		switch {
		case s.Rough && d < kernelmv.MapInputs && work < float64(n):
			power = roughPower
		case work < float64(n):
			power = mapPower
		}
		passes *= math.Pow(float64(n)/float64(s.Rows), power)
	}
	return passes
}

// build is the cost a row of making nn neighbours: a factorisation, their entries of
// K, and what m columns of a low-rank part take off them.
func (c *Costs) build(d, nn, m int) float64 {
	k := float64(nn)
	return k * k * (c.Factor*k + c.Entry.At(d) + c.Projection*float64(m))
}

// searchShare is what neighbours cost, with the search for them, over their factors: where
// products are below n², that counts. D = 2, n = 60000: 11, 22, 38 µs a row for 32, 64, 96
// neighbours, nearly half of it the search; a product of 8 columns 1.8.
const searchShare = 2

// In the plane and in space both are counted, as what the search is of that falls from 6 to 1.2. n = 1e5, 32, 64, 96,
// 128, 192, 256 neighbours, µs a row: search 5, 8, 12, 12, 17, 25 in the plane and 11, 18, 22, 25, 34, 36 in three
// inputs, factors 1.8, 6.3, 14, 27, 77, 200 in both. Blocks are mostly their entries. The search is in Neighbour, which
// is time of caches, too.
const (
	mapFactor, mapEntry     = 0.25, 4
	mapSearch, mapSearchRow = 25, 830
	spaceSearch             = 2 // times that in three inputs
)

// onMap says whether the costs of a P of neighbours are those of maps.
func onMap(n, d, m int, work float64) bool {
	return m == 0 && d >= 2 && d <= kernelmv.MapInputs && work < float64(n)
}

// mapBuild is the cost a row of making nn neighbours on a map.
func (c *Costs) mapBuild(d, nn int) float64 {
	k := float64(nn)
	search := mapSearch*k + mapSearchRow
	if d == kernelmv.MapInputs {
		search *= spaceSearch
	}
	return k*k*(mapFactor*c.Factor*k+mapEntry*c.Entry.At(d)) + c.Neighbour*search
}

// mapPasses are made on a map in any case.
const mapPasses = 2

// nearCost is the cost a row of a preconditioner with nn neighbours and m columns
// and of the passes of uses evaluations with it. A pass costs a tile row and the
// preconditioner's two solves (the standard costs are fitted to pol and kin40k).
func nearCost(n int, work float64, d, nn, m, uses int, prec kernelmv.Precision, s History, c *Costs) float64 {
	build, passes := c.build(d, nn, m), s.predictedPasses(n, d, nn, work)
	switch {
	case onMap(n, d, m, work):
		build, passes = c.mapBuild(d, nn), max(passes, mapPasses)
	case work < float64(n):
		build *= searchShare
	}
	pass := c.pair(d, prec)*work + c.Column*float64(m) + c.Neighbour*float64(nn)
	return build + float64(uses)*(passes+1)*pass
}

// A Request says what a preconditioner and probes are chosen for.
type Request struct {
	Rank, Neighbours int     // of the preconditioner; negative: to be chosen
	Latents          int     // of the preconditioner, instead of both; 0: to be chosen, with them
	Probes           int     // 0: to be chosen
	Costs            *Costs  // by which to choose; nil means StandardCosts
	Uses             int     // evaluations of a training that the preconditioner is for; 0: a likelihood by itself
	Seen             History // what the last evaluation took
	RowWork          float64 // of a product, in entries of a dense one a row; 0: n
	H2               bool    // products are of form H2
	Room             int64   // bytes that a P that is chosen may have there, see RoomOfP; 0: any
}

// rowWork is what a product of n rows costs a row, in pairs of a dense one.
func (o *Request) rowWork(n int) float64 {
	if o.RowWork > 0 {
		return o.RowWork
	}
	return float64(n)
}

// roomFor says whether there is room for such a P.
func (o *Request) roomFor(n int, p Size) bool { return o.Room <= 0 || p.bytes(n) <= o.Room }

// moreCost is what more neighbours than those of the least cost may take where a likelihood of a map is all that they
// are for, as they make its standard error less: 1.7e6 places with 32 of them 17 nats in 5 passes, half with 48.
const moreCost = 1.1

// Neighbours returns the number of Neighbours of the least cost, on maps for a likelihood by itself the largest of
// about that cost.
func Neighbours(n, d, m int, prec kernelmv.Precision, opt Request) int {
	s, costs := opt.Seen, OrStandard(opt.Costs)
	if s.Passes == 0 || s.Neighbours == 0 {
		s = noHistory
	}
	best, least, more := 0, math.Inf(1), 1.0
	if opt.Uses == 0 && onMap(n, d, m, opt.rowWork(n)) {
		more = moreCost
	}
	for _, nn := range nearSizes {
		if best > 0 && (nn > n/8 || !opt.roomFor(n, Size{Neighbours: nn})) {
			break
		}
		if c := nearCost(n, opt.rowWork(n), d, nn, m, max(opt.Uses, 1), prec, s, costs); c < more*least {
			best, least = nn, min(c, least)
		}
	}
	return best
}

// lowRankRows is the number of rows up to which a low-rank part is tried below n².
const lowRankRows = 50000

// h2Rank is how many columns are tried where products are cheap: as many as tell whether
// low rank alone will do, and none where that costs more than the passes that it saves.
func h2Rank(n, rank int) int {
	if n > lowRankRows {
		return 0
	}
	return min(rank, fewColumns)
}

// ActiveInputs counts the inputs that the distance has.
func ActiveInputs(p gp.Params) int {
	d := 0
	for _, l := range p.Lengthscales {
		if !math.IsInf(l, 1) {
			d++
		}
	}
	return d
}

// Precond returns how P is made for n rows at p, whose noise is given;
// Decide of the result fills in the reason.
func Precond(n int, p gp.Params, noise []float64, prec kernelmv.Precision,
	opt Request) (set precond.Options, reason *string) {
	set = precond.Options{Rank: opt.Rank, Neighbours: opt.Neighbours}
	reason = new(string)
	*reason = "as asked"
	if set.Rank >= 0 && set.Neighbours >= 0 {
		return set, reason
	}
	total := 0.0
	for _, v := range noise {
		total += v
	}
	d := ActiveInputs(p)
	all := float64(n) * p.Variance
	if set.Rank < 0 {
		set.Rank, set.TraceTol = MostRank(n, OrStandard(opt.Costs)), quietTrace*total/float64(min(max(opt.Uses, 1), 2))
		if total > loud*all {
			set.Rank, set.TraceTol = loudRank, loudTrace*total
		}
		set.Rank = min(set.Rank, n/4)
		if opt.H2 {
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
		case smooth && !opt.H2:
			columns = min(rank, mixedRank)
			near = Neighbours(n, d, columns, prec, opt)
		default:
			near = Neighbours(n, d, 0, prec, opt)
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
		*reason = fmt.Sprintf(
			"%d columns leave %.2g of the trace of K, %.2g of the noise", rank, trace/all, trace/total)
		if near > 0 && opt.Seen.Passes > 0 {
			*reason += fmt.Sprintf("; the last evaluation, of %d rows, took %d passes with "+
				"%d neighbours", opt.Seen.Rows, opt.Seen.Passes, opt.Seen.Neighbours)
		}
		return columns, near
	}
	return set, reason
}
