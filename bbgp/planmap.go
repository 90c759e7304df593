package bbgp

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence/lanczos"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/train"
	"bbgp.dev/internal/usage"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// Plans of maps. How many passes an evaluation takes, of what P is, and what a product costs depend on how near each
// other the rows are, and on what happens between near ones: random rows do not tell. So the sample that is fitted and
// the rows that are evaluated are patches of the table, the rows around some of its rows.

const (
	fitPatches = 10
	// One patch: cells of latents that have rows of two fit neither. Fewer rows are evaluated as they are.
	tryRows = 20000
	mapRows = 8000 // from which on tables are planned so
	// A fit takes so many evaluations of all rows (2 to 4 were measured from 2e4 to 1e5 places), and its end is worth
	// so many.
	mapEvaluations, mapFinal = 4, 2.5
	// The search of a map looks at neighbours among all rows, CPU seconds a row.
	mapSearch = 4e-5
)

// onMap says whether a fit of these rows is planned as that of a map.
func (o *Options) onMap(n, d int) bool {
	return o.Method == enum.MethodBBGP && o.Product != enum.ProductDense && d > 1 && d <= kernelmv.MapInputs &&
		n >= mapRows
}

// patches returns about m rows of x, standardised: those around count of them, in increasing order.
func patches(x linalg.Matrix, m, count int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, 0x706174636865))
	taken, each := make([]bool, x.Rows), min(m, x.Rows)/count
	far, sorted := make([]float64, x.Rows), make([]float64, x.Rows)
	var rows []int
	for k := range count {
		middle := x.Row(rng.IntN(x.Rows))
		for i := range far {
			far[i] = 0
			for j, v := range x.Row(i) {
				far[i] += (v - middle[j]) * (v - middle[j])
			}
			if taken[i] {
				far[i] = math.Inf(1)
			}
		}
		copy(sorted, far)
		slices.Sort(sorted)
		for i, v := range far {
			if v <= sorted[each-1] && !taken[i] && len(rows) < (k+1)*each {
				taken[i] = true
				rows = append(rows, i)
			}
		}
	}
	slices.Sort(rows)
	return rows
}

// rescaled returns parameters of standardised rows for another scaling.
func rescaled(p Params, from, to Scaling) Params {
	q := p.Clone()
	for j := range q.Lengthscales {
		q.Lengthscales[j] *= from.XScale[j] / to.XScale[j]
	}
	r := from.YScale / to.YScale
	q.Variance, q.Noise = q.Variance*r*r, q.Noise*r*r
	q.Mean = (from.YMean + from.YScale*q.Mean - to.YMean) / to.YScale
	return q
}

// onMap plans a fit of d by the fit of a sample, as products does; it does nothing where products would be dense.
func (p *Plan) onMap(ctx context.Context, set *Options, fit *Model,
	d *Data) (size cost.Size, done bool, err error) {
	s := set.scaling(d)
	std := s.Apply(d.table())
	q := rescaled(fit.Parameters, fit.Scaling, s)
	began, before := time.Now(), usage.CPUSeconds()
	eval := set.evalOptions()
	eval.Uses = train.StageStepsOf(string(set.Method))
	some := patches(std.X, min(tryRows, std.X.Rows), 1, set.Seed+2)
	t, err := lanczos.Try(ctx, set.Engine, std, some, q, eval)
	if err != nil || t == nil {
		return size, false, err
	}
	v, r := t.Value, &fit.Result
	perSecond := (usage.CPUSeconds() - before) / time.Since(began).Seconds()
	n := float64(p.Distinct)
	at := larger{LMLReport: &LMLReport{Seconds: v.Seconds, CPUSeconds: perSecond * v.Seconds,
		Passes:         v.Passes - v.Wasted,
		SecondsByPhase: v.SecondsByPhase, Product: enum.ProductH2}}
	grow := n / math.Min(tryRows, n)
	p.Precision, p.Rank, p.Neighbours, p.Latents = enum.Precision(v.Precision), t.Size.Rank, t.Size.Neighbours,
		t.Size.Latents
	p.Product = at.Product
	products := v.SecondsByPhase["kernel_products"] * perSecond
	p.ProductCPU = products / float64(max(at.Passes, 1)) * t.Products
	evals := math.Min(mapEvaluations, float64(set.MaxSteps))
	p.Evaluations, p.Passes = int(evals), int(adapted*evals*float64(at.Passes)+0.5)
	once := (r.SecondsByPhase["prefit"] + r.SecondsByPhase["fisher"]) * r.CPUSeconds / r.Seconds
	p.CPUSeconds = once + mapSearch*n + adapted*(evals+mapFinal)*(at.cpu(grow, 0)+products*(t.Products-grow))
	p.Seconds = p.CPUSeconds / perSecond
	return t.Size, true, nil
}

// mapSample returns m rows of a map whose fit tells of all.
func (o *Options) mapSample(d *Data, m int) []int {
	x := linalg.NewMatrix(d.X.Rows, d.X.Cols)
	s := gp.Standardise(d.X, nil, 0)
	s.XTo(x, d.X)
	return patches(x, m, fitPatches, o.Seed+2)
}
