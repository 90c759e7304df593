package lanczos

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// A Trial is an evaluation of some rows of a map that tells what one of all of them takes.
type Trial struct {
	Size     cost.Size       // of P for all rows
	Value    *evidence.Value // of the some: as many passes as all would take, with the same tiles
	Products float64         // times the work of its products is that of all
}

// Try evaluates some rows of d at p as all would be: in patches where they are as near each other as all are, with as
// many latents or neighbours a row, the same tolerance, and their part of eps, since what a P leaves to the passes
// grows with the rows. All rows are evaluated as they are. It returns nil where products of all rows are dense.
func Try(ctx context.Context, e *linalg.Engine, d *gp.Table, some []int, p gp.Params,
	eval evidence.Options) (*Trial, error) {
	all, err := New(e, d, p)
	if err != nil {
		return nil, err
	}
	all.setForm(p, eval)
	prec := all.likely(d.X.Rows, p, eval)
	work, h2, err := all.op.Work(ctx, prec)
	if err != nil || !h2 {
		return nil, err
	}
	t := new(Trial)
	if len(some) == d.X.Rows {
		t.Products = 1
		if t.Value, err = all.Evaluate(ctx, p, eval); err == nil {
			t.Size = all.size()
		}
		return t, err
	}
	foreseen := eval
	foreseen.RowWork = work / float64(d.X.Rows)
	if t.Size, err = Foresee(ctx, e, d, p, foreseen); err != nil {
		return nil, err
	}
	share := float64(len(some)) / float64(d.X.Rows)
	asAll := eval
	asAll.Eps, asAll.Product = share*eval.Eps, "h2"
	if eval.Tolerance == 0 {
		asAll.Tolerance = tolerance(d.X.Rows, slices.Min(all.op.Noise()), p)
	}
	asAll.Rank, asAll.Neighbours = t.Size.Rank, t.Size.Neighbours
	asAll.Latents = int(math.Ceil(share * float64(t.Size.Latents)))
	square := all.op.MeanSquare()
	all = nil // its memory is not needed
	obj, err := New(e, d.Rows(some), p)
	if err != nil {
		return nil, err
	}
	if prec, _ := obj.precision(p, asAll); prec == kernelmv.F32 {
		asAll.Precision = "f32"
		if err := obj.Rebuild(ctx, p, asAll); err != nil {
			return nil, err
		}
		if unsure32(p.Variance, square, obj.traceP()/share) > most32(eval.Eps, true) {
			asAll.Precision, obj.pre = "f64", nil
		}
	}
	if t.Value, err = obj.Evaluate(ctx, p, asAll); err != nil {
		return nil, err
	}
	few, _, err := obj.op.Work(ctx, prec)
	t.Products = work / few
	return t, err
}
