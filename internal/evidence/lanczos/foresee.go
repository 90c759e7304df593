package lanczos

import (
	"context"
	"math"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// foreseeRows are enough to see which parts P will have.
const foreseeRows = 2000

// mapWork is about what a product below n² in the plane costs a row, in pairs of dense ones.
const mapWork = 2e4

// Foresee returns the sizes that P is going to have for d at p, by those
// that it has for some of the rows. eval.Uses is how many evaluations a stage takes.
func Foresee(ctx context.Context, e *linalg.Engine, d *gp.Table, p gp.Params,
	eval evidence.Options) (rank, near int, err error) {
	n := d.X.Rows
	few := min(n, foreseeRows)
	obj, err := New(e, d.Rows(gp.Subset(n, few, eval.Seed+3)), p)
	if err != nil {
		return 0, 0, err
	}
	if err := obj.Rebuild(ctx, p, eval); err != nil {
		return 0, 0, err
	}
	rank, near = obj.pre.Rank(), obj.pre.Neighbours()
	if near == 0 && eval.Rank < 0 {
		costs := cost.OrStandard(eval.Costs)
		rank = rank * cost.MostRank(n, costs) / cost.MostRank(few, costs)
	}
	if near > 0 && eval.Rank < 0 && eval.Product != "dense" && cost.IsMap(n, cost.ActiveInputs(p)) {
		rank, eval.H2, eval.RowWork = 0, true, math.Min(mapWork, float64(n))
	}
	if near > 0 && eval.Neighbours < 0 {
		if eval.Seen.Rows == 0 { // the first evaluations will tell that fewer do
			eval.Uses = 1
		}
		near = cost.Neighbours(n, d.X.Cols, rank, obj.likely(n, p, eval), eval.Request)
	}
	return rank, near, nil
}
