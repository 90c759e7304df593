package lanczos

import (
	"context"
	"math"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/precond"
)

// foreseeRows are enough to see which parts P will have.
const foreseeRows = 2000

// mapWork is about what a product below n² in the plane costs a row, in pairs of dense ones: 4300 to 5200 for 2e4
// to 1e6 simulated places, 13000 for heaton_sat and chm, whose tolerances are finer.
const mapWork = 8e3

// Foresee returns the size that P is going to have for d at p, by that which it has for some of the rows; latents are
// foreseen by all. eval.Uses is how many evaluations a stage takes.
func Foresee(ctx context.Context, e *linalg.Engine, d *gp.Table, p gp.Params,
	eval evidence.Options) (size cost.Size, err error) {
	n, inputs := d.X.Rows, cost.ActiveInputs(p)
	few := min(n, foreseeRows)
	obj, err := New(e, d.Rows(gp.Subset(n, few, eval.Seed+3)), p)
	if err != nil {
		return size, err
	}
	if err := obj.Rebuild(ctx, p, eval); err != nil {
		return size, err
	}
	size = obj.size()
	onMap := eval.Rank < 0 && eval.Product != "dense" && cost.IsMap(n, inputs)
	if onMap {
		eval.H2 = true
		if eval.RowWork == 0 {
			eval.RowWork = math.Min(mapWork, float64(n))
		}
		eval.Room = cost.RoomOfP(n, d.X.Cols, eval.Probes, eval.Memory)
	}
	prec := obj.likely(n, p, eval)
	if onMap && cost.MayHaveLatents(n, inputs, eval.Request) {
		if size.Latents, err = foreseeLatents(ctx, e, d, p, prec, eval); err != nil || size.Latents > 0 {
			return cost.Size{Latents: size.Latents}, err
		}
	}
	switch {
	case onMap: // on which no rank is tried
		size.Rank = 0
	case size.Neighbours == 0 && eval.Rank < 0:
		costs := cost.OrStandard(eval.Costs)
		size.Rank = size.Rank * cost.MostRank(n, costs) / cost.MostRank(few, costs)
	}
	if (size.Neighbours > 0 || onMap) && eval.Neighbours < 0 {
		if eval.Seen.Rows == 0 && inputs < kernelmv.MapInputs { // the first evaluations will tell that fewer do
			eval.Uses = min(eval.Uses, 1)
		}
		size.Neighbours = cost.Neighbours(n, inputs, size.Rank, prec, eval.Request)
	}
	return size, nil
}

// foreseeLatents returns the number of latents of P for d at p, 0 where it will have neighbours.
func foreseeLatents(ctx context.Context, e *linalg.Engine, d *gp.Table, p gp.Params, prec kernelmv.Precision,
	eval evidence.Options) (m int, err error) {
	op, err := kernelmv.NewOp(e, d.X, gp.KernelOf(p), gp.NoiseOf(p, d))
	if err != nil {
		return 0, err
	}
	shares, err := precond.LatentPilot(ctx, e, op, op.Noise(), cost.LatentRows, eval.Seed)
	if err != nil {
		return 0, err
	}
	m, _ = cost.Latents(d.X.Rows, cost.ActiveInputs(p), prec, eval.Request, shares)
	return m, nil
}
