package lanczos

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// The form of products. With up to three inputs in the distance K can be multiplied in
// less than n² operations, to a tolerance (kernelmv.FormH2). Then K with tolerance tau in
// float32 takes the place of K in float32, and K with tau/100 in float64 that of K in
// float64: the process runs on the first, the corrections are made by the second, and
// exact rows of K tell what is left (sample.go), which goes into the bounds. Where it is
// too much, or K comes out indefinite, the tolerance is made finer, before anything else
// is tried.

const (
	// tau is tolShare of the noise, in σ_f², at tolRows rows, and falls with the root of n:
	// D = 2, n = 20000, ℓ .3, noise 1e-4: -4 nats with tau 1e-5, .26 with 1e-6, .002 with 1e-7.
	tolShare, tolRows = 1e-3, 2e4
	mostTol, leastTol = 1e-5, 1e-10
	smoothTol         = 1e-3  // times that for the Gaussian, whose small eigenvalues lie close to the noise
	tolStep           = 1e-2  // from float32 to float64, and from one tolerance to the next finer one
	finestTol         = 1e-12 // beyond it nothing is gained
)

// tolerance is tau for n rows whose least noise is given.
func tolerance(n int, noise float64, p gp.Params) float64 {
	tol, most := tolShare*noise/p.Variance*math.Sqrt(tolRows/float64(n)), mostTol
	if p.Kernel == "gaussian" {
		tol, most = smoothTol*tol, smoothTol*most
	}
	return min(max(tol, leastTol), most)
}

// setForm sets the form of the products at p, whose noise the operator has.
func (o *Estimator) setForm(p gp.Params, opt evidence.Options) {
	tol := opt.Tolerance
	if tol == 0 {
		tol = tolerance(o.n, slices.Min(o.op.Noise()), p)
	}
	tol = max(tol*math.Pow(tolStep, float64(o.finer)), finestTol)
	if o.finer < 0 {
		tol = min(tol, mostTol)
	}
	form := kernelmv.FormAuto
	switch opt.Product {
	case "dense":
		form = kernelmv.FormDense
	case "h2":
		form = kernelmv.FormH2
	}
	o.op.SetForm(form, tol, max(tol*tolStep, finestTol))
}

// refineForm takes the next finer tolerance at p, if a process in float64 has one: beyond it
// products of float64 may be dense.
func (o *Estimator) refineForm(ctx context.Context, p gp.Params, opt evidence.Options) bool {
	own, _, h2, err := o.ownForm(ctx, kernelmv.F64, p, opt)
	coarse, tol := o.tolerances()
	if own == kernelmv.Coarse {
		tol = coarse
	}
	if err != nil || !h2 || tol <= finestTol {
		return false
	}
	o.finer++
	o.setForm(p, opt)
	return true
}

// relaxForm takes the next coarser tolerance for the evaluations to come, where what ev leaves
// says that even ten thousand times that would not matter: with rough kernels the noise is far
// below the eigenvalues of K, and no measure of what is needed.
func (o *Estimator) relaxForm(ev *evidence.Value, opt evidence.Options) {
	const idle = 1e-4
	if tol, _ := o.tolerances(); opt.Tolerance == 0 && ev.Product == "h2" &&
		ev.ProductDoubt < idle*opt.Eps && tol < mostTol {
		o.finer--
	}
}

// tolerances are those of float32 and float64 products.
func (o *Estimator) tolerances() (tol32, tol64 float64) {
	_, tol32, tol64 = o.op.Form()
	return tol32, tol64
}

// coarseWork is the share of the work of F64 up to which the process runs in Coarse, whose errors
// take a product of all columns that matter to correct. coarseEntry is their rms an entry, in
// tolerances, by which it is foreseen what they do: .002 to .012 in likelihoods of 1e5 to 1.7e6 places.
const coarseWork, coarseEntry = 0.85, 0.015

// lastRows is the number of sampled rows by which the tolerance of the last product is foreseen. Where that is too much
// work, it is lastRelax times as coarse, and so on; the rows then are more. Too much is more than lastWork products of
// the process, and more than lastPairs.
const lastRows, lastRelax, lastWork, lastPairs = 1000, 2, 4, 1e10

// affordsLast says whether the last product is not too much work, beside one of the process.
func (o *Estimator) affordsLast(ctx context.Context, own float64) (bool, error) {
	work, _, err := o.op.Work(ctx, kernelmv.F64)
	return work <= max(lastWork*own, lastPairs), err
}

// ownForm returns how a process in prec makes its products at p: with the tolerance of F32, or a finer one where
// that is foreseen to do too much, in tiles of F32 or, where that is less work than the tolerance of F64, in
// those of F64. It returns the work, too, and whether they have the H2 form. The last product then is as fine as
// the sample is foreseen to need.
func (o *Estimator) ownForm(ctx context.Context, prec kernelmv.Precision, p gp.Params,
	opt evidence.Options) (own kernelmv.Precision, work float64, h2 bool, err error) {
	if work, h2, err = o.op.Work(ctx, prec); err != nil || !h2 {
		return prec, work, h2, err
	}
	form, tol, fine := o.op.Form()
	size := coarseEntry * p.Variance * o.traceP()
	// secondOrder(coarseEntry·tol·variance, traceP) <= eps/8
	tol = min(tol, max(math.Sqrt(opt.Eps/2)/size, fine))
	o.op.SetForm(form, tol, fine)
	less, ownH2, err := o.op.Work(ctx, ownTiles[prec])
	if err != nil || prec == kernelmv.F64 && !(ownH2 && less <= coarseWork*work) {
		return prec, work, h2, err
	}
	// rowErrors of two columns: 2 size last (n/rows)^1/2 <= eps/5
	last := opt.Eps / (10 * size * math.Sqrt(max(float64(o.n)/lastRows, 1)))
	for last = max(last, finestTol); ; last *= lastRelax {
		o.op.SetForm(form, tol, min(fine, last))
		if ok, err := o.affordsLast(ctx, less); ok || err != nil || last >= fine {
			return ownTiles[prec], less, ownH2, err
		}
	}
}

// ownTiles are what a process in F32 and F64 has with the tolerance of F32.
var ownTiles = map[kernelmv.Precision]kernelmv.Precision{kernelmv.F32: kernelmv.F32, kernelmv.F64: kernelmv.Coarse}

// chooseForm sets the operator of the process.
func (r *process) chooseForm() (err error) {
	r.own, r.pairs, r.h2, err = r.o.ownForm(r.ctx, r.prec, r.p, r.opt)
	r.op = r.o.op.With(r.own)
	return err
}

// describe says in ev how the products of a run were made.
func (r *process) describe(ev *evidence.Value) {
	ev.Product, ev.Pairs = "dense", r.pairs
	if r.h2 {
		_, tol32, tol64 := r.o.op.Form()
		ev.Product, ev.Tolerance = "h2", tol64
		if r.own != kernelmv.F64 {
			ev.Tolerance = tol32
		}
		ev.BoundKind = "probable"
	}
}

// ProductName is the form of the products of ev, dense for methods that have no other.
func ProductName(ev *evidence.Value) string {
	if ev.Product == "" {
		return "dense"
	}
	return ev.Product
}

// SampledRows is the number of rows of K that are evaluated exactly, at first.
const SampledRows = 240

// farRows of the sample are those whose coordinates float32 rounds most: a random sample
// may hold none of a few rows far away.
const farRows = 40

// rowSample draws a sample of so many rows: first farRows that stand for themselves, then others for all
// the rest.
func (r *process) rowSample(count int) []int {
	n := r.o.n
	rows := r.o.op.Farthest(min(farRows, n))
	taken := make([]bool, n)
	for _, i := range rows {
		taken[i] = true
	}
	rng := rand.New(rand.NewPCG(r.opt.Seed, 0x726f7773))
	for _, i := range rng.Perm(n) {
		if !taken[i] && len(rows) < count {
			rows = append(rows, i)
		}
	}
	return rows
}

// exactRows returns a sample of the rows of the table and of K x, in float64.
func (r *process) exactRows(x linalg.Matrix, count int) (at []int, kx linalg.Matrix, err error) {
	o := r.o
	at = r.rowSample(count)
	m := len(at)
	xs := linalg.NewMatrix(m, o.d.X.Cols)
	for i, row := range at {
		copy(xs.Row(i), o.d.X.Row(row))
	}
	kept := o.op.Precision()
	defer o.op.SetPrecision(kept)
	o.op.SetPrecision(kernelmv.F64)
	kx = linalg.NewMatrix(m, x.Cols)
	return at, kx, o.op.CrossMulTo(r.ctx, kx, xs, x)
}

// approxRows returns the same rows of K x as dense products in prec have them.
func (r *process) approxRows(x linalg.Matrix, at []int, prec kernelmv.Precision) (linalg.Matrix, error) {
	o, rows := r.o, linalg.NewMatrix(len(at), x.Cols)
	xs := linalg.NewMatrix(len(at), o.d.X.Cols)
	for i, row := range at {
		copy(xs.Row(i), o.d.X.Row(row))
	}
	kept := o.op.Precision()
	defer o.op.SetPrecision(kept)
	o.op.SetPrecision(prec)
	return rows, o.op.CrossMulTo(r.ctx, rows, xs, x)
}

// rowsOf returns the same rows of K x, given all of K̂ x.
func (r *process) rowsOf(kx, x linalg.Matrix, at []int) linalg.Matrix {
	rows, noise := linalg.NewMatrix(len(at), x.Cols), r.o.op.Noise()
	for i, row := range at {
		for c, v := range kx.Row(row) {
			rows.Set(i, c, v-noise[row]*x.At(row, c))
		}
	}
	return rows
}

// rowErrors estimates x_c'E x_c for E = exact - approx from some rows of E x: half of the
// sum over c with twice its standard error, and the rms of E by |x_c| for the last c.
func rowErrors(n int, x linalg.Matrix, at []int, exact, approx linalg.Matrix) (doubt, entry float64) {
	far := min(farRows, n)
	m := float64(max(len(at)-far, 1))
	share := float64(n-far) / m // of rows that one of the others stands for
	for c := range x.Cols {
		whole, sum, square, errors := 0.0, 0.0, 0.0, 0.0
		for i, row := range at {
			e := exact.At(i, c) - approx.At(i, c)
			v := x.At(row, c) * e
			if i < far {
				whole += v
				errors += e * e
				continue
			}
			sum += share * v
			square += m * (share * v) * (share * v)
			errors += share * e * e
		}
		doubt += 0.5 * (math.Abs(whole+sum) + 2*math.Sqrt(max(square-sum*sum, 0)/m))
		entry = errors / float64(n)
	}
	size := linalg.ColumnDots(x, x)[x.Cols-1]
	return doubt, math.Sqrt(entry / max(size, math.SmallestNonzeroFloat64))
}

// inactiveGradient sets the derivatives by the lengthscales where some inputs are inactive, by
// those by 1/ℓ², for which the products need not have them in the distance.
func (r *process) inactiveGradient(g *evidence.Gradient, cols linalg.Matrix, weight []float64) error {
	op := r.o.op
	op.SetGradPrecision(kernelmv.F64)
	op.SetGradSlack(gradSlack * r.opt.Eps)
	if err := op.GradInvSqTo(r.ctx, g.Lengthscales, cols, weight); err != nil {
		return err
	}
	for j, l := range r.far.Lengthscales {
		g.Lengthscales[j] *= -2 / (l * l)
		if math.IsInf(l, 1) {
			g.Lengthscales[j] = 0
		}
	}
	g.Natural(r.far)
	return nil
}
