package bbgp

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"bbgp.dev/bbgp/score"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/internal/posterior"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
)

// The bounds of predictions on the UCI sets against dense ones. The reference is
// Cholesky, then conjugate gradients with the factor as preconditioner, and for
// rows that lie outside a bound the same quadratic form summed in twice the
// precision: at a condition of 1e14 the dense values are the less exact ones.

// A referee knows means and variances at rows, from the dense matrix.
type referee struct {
	m, dense *Model
	data     *gp.Table
	e        *linalg.Engine
	op       *kernelmv.Op
	chol     *linalg.Cholesky
	all      []int32
}

func newReferee(t *testing.T, m *Model) *referee {
	t.Helper()
	r := &referee{m: m, e: gptest.Engine(t), data: m.post.Data()}
	r.dense = &Model{Parameters: m.Parameters, Scaling: m.Scaling, Names: m.Names, post: posterior.New(r.data,
		m.Parameters, posterior.PrecondSpec{Dense: true}, nil, posterior.Weights{MeanError: math.Inf(1)})}
	o, err := gp.NewCholesky(r.e, r.data, m.Parameters)
	if err == nil {
		err = o.Factor(context.Background(), m.Parameters)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.op, r.chol = o.Op, o.Chol
	for i := range m.N() {
		r.all = append(r.all, int32(i))
	}
	return r
}

// solve returns K̂⁻¹b to 1e-10 in the norm of K̂, relative to σ_f, or as far as
// float64 goes, and the residual.
func (r *referee) solve(t *testing.T, b linalg.Matrix) (x, rest linalg.Matrix) {
	t.Helper()
	ctx, n := context.Background(), b.Rows
	x, rest = linalg.NewMatrix(n, b.Cols), linalg.NewMatrix(n, b.Cols)
	wide := r.op.With(kernelmv.F64)
	if _, err := krylov.NewCG(r.e, n, b.Cols).Solve(ctx, wide, r.chol, x, b.Clone(),
		krylov.CGOptions{Tol: 1e-10 * math.Sqrt(r.m.Parameters.Variance), Verify: true, MaxPasses: 20}); err != nil {
		t.Fatal(err)
	}
	if err := wide.MulTo(ctx, rest, x.Clone()); err != nil {
		t.Fatal(err)
	}
	for i, v := range rest.Data {
		rest.Data[i] = b.Data[i] - v
	}
	return x, rest
}

// cross returns K(X, X*), n×m.
func (r *referee) cross(t *testing.T, std linalg.Matrix) linalg.Matrix {
	t.Helper()
	kt := linalg.NewMatrix(std.Rows, r.m.N())
	if err := r.op.CrossTo(context.Background(), kt, std, r.all); err != nil {
		t.Fatal(err)
	}
	return transposed(kt)
}

// variances returns σ_f² - k*'K̂⁻¹k* and the solutions K̂⁻¹k*, at standardised rows.
func (r *referee) variances(t *testing.T, std linalg.Matrix) (v []float64, x linalg.Matrix) {
	t.Helper()
	x = linalg.NewMatrix(r.m.N(), std.Rows)
	for i := 0; i < std.Rows; i += 64 {
		j := min(i+64, std.Rows)
		k := r.cross(t, std.Sub(i, j, 0, std.Cols))
		some, rest := r.solve(t, k)
		for a := range k.Rows {
			for c := range rest.Row(a) {
				rest.Data[a*rest.Stride+c] += k.At(a, c)
			}
		}
		for _, q := range linalg.ColumnDots(rest, some) {
			v = append(v, r.m.Parameters.Variance-q)
		}
		x.Sub(0, x.Rows, i, j).CopyFrom(some)
	}
	return v, x
}

// A wide is a sum in twice the precision of float64.
type wide struct{ hi, lo float64 }

// add adds a·b: the error of the product by FMA, that of the sum by Knuth's
// two-sum.
func (s *wide) add(a, b float64) {
	p := a * b
	e := math.FMA(a, b, -p)
	t := s.hi + p
	z := t - s.hi
	s.lo += (s.hi - (t - z)) + (p - z) + e
	s.hi = t
}

// residual returns b - K̂x, n×m, in twice the precision: the sum of two matrices.
func (r *referee) residual(t *testing.T, b, x linalg.Matrix) (hi, lo linalg.Matrix) {
	t.Helper()
	const block = 64
	n, m := x.Rows, x.Cols
	xt, noise := transposed(x), r.op.Noise()
	rows := linalg.NewMatrix(block, n)
	hi, lo = linalg.NewMatrix(n, m), linalg.NewMatrix(n, m)
	for i := 0; i < n; i += block {
		j := min(i+block, n)
		if err := r.op.RowsTo(context.Background(), rows.Sub(0, j-i, 0, n), r.all[i:j]); err != nil {
			t.Fatal(err)
		}
		r.e.Par.For(j-i, func(_, a int) {
			for c := range m {
				var s [4]wide // four chains: an addition waits for the one before
				xc := xt.Row(c)
				for k, v := range rows.Row(a) {
					s[k&3].add(-v, xc[k])
				}
				s[0].add(-noise[i+a], xc[i+a])
				s[0].add(1, b.At(i+a, c))
				for _, o := range s[1:] {
					s[0].add(1, o.hi)
					s[0].add(1, o.lo)
				}
				hi.Set(i+a, c, s[0].hi)
				lo.Set(i+a, c, s[0].lo)
			}
		})
	}
	return hi, lo
}

// A verdict is what the dense matrix says of a row, for entries of K̂ and k* taken
// as exact: a variance and a mean, standardised, and bounds of their errors.
type verdict struct{ variance, varOff, mean, meanOff float64 }

// settle judges rows, from solutions x and α as float64 has them. With ρ = k - K̂x
// and r = y - c - K̂α, summed in twice the precision as all that follows,
//
//	k'K̂⁻¹k = k'x + x'ρ + ρ'K̂⁻¹ρ,   k'K̂⁻¹(y - c) = k'α + x'r + ρ'K̂⁻¹r,
//
// and the last terms are at most |ρ|²/min noise and |ρ||r|/min noise.
func (r *referee) settle(t *testing.T, std, x, b, alpha linalg.Matrix) []verdict {
	t.Helper()
	k, least := r.cross(t, std), slices.Min(r.op.Noise())
	rho, rhoLo := r.residual(t, k, x)
	res, resLo := r.residual(t, b, alpha)
	square := func(hi, lo linalg.Matrix, c int) (s float64) {
		for i := range hi.Rows {
			v := hi.At(i, c) + lo.At(i, c)
			s += v * v
		}
		return s
	}
	rr := square(res, resLo, 0)
	var out []verdict
	for c := range std.Rows {
		var q, mean wide
		q.add(1, r.m.Parameters.Variance)
		mean.add(1, r.m.Parameters.Mean)
		for i := range x.Rows {
			xi := x.At(i, c)
			for _, v := range [3]float64{k.At(i, c), rho.At(i, c), rhoLo.At(i, c)} {
				q.add(-xi, v)
			}
			mean.add(k.At(i, c), alpha.Data[i])
			mean.add(xi, res.Data[i])
			mean.add(xi, resLo.Data[i])
		}
		s := square(rho, rhoLo, c)
		out = append(out, verdict{q.hi + q.lo, s / least, mean.hi + mean.lo, math.Sqrt(s*rr) / least})
	}
	return out
}

func transposed(a linalg.Matrix) linalg.Matrix {
	t := linalg.NewMatrix(a.Cols, a.Rows)
	for i := range a.Rows {
		for j, v := range a.Row(i) {
			t.Set(j, i, v)
		}
	}
	return t
}

// pick returns some of the rows of a, as a matrix.
func pick(a linalg.Matrix, rows []int) linalg.Matrix {
	s := linalg.NewMatrix(len(rows), a.Cols)
	for i, r := range rows {
		copy(s.Row(i), a.Row(r))
	}
	return s
}

// judge demands that the exact mean and variance of every row of test lie within
// the bounds that m gives, that these are narrow, and that the scores agree.
func judge(t *testing.T, m *Model, test *Data) {
	t.Helper()
	ctx := context.Background()
	got, err := m.Predict(ctx, test.X, PredictOptions{SD: true, Engine: gptest.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	if got.BoundKind != "probable" {
		t.Fatalf("bounds are %s: there is nothing to compare", got.BoundKind)
	}
	r, s := newReferee(t, m), m.Scaling.YScale
	std := linalg.NewMatrix(test.X.Rows, test.X.Cols)
	m.Scaling.XTo(std, test.X)
	v, x := r.variances(t, std)
	b := linalg.NewMatrix(m.N(), 1)
	for i, y := range r.data.Y {
		b.Data[i] = y - m.Parameters.Mean
	}
	alpha, _ := r.solve(t, b)
	want := &Prediction{Mean: make([]float64, len(v)), SD: make([]float64, len(v)), SDObs: make([]float64, len(v))}
	var outside []int
	var width []float64
	k := transposed(r.cross(t, std))
	for i := range v {
		want.Mean[i] = m.Scaling.YMean + s*(r.e.Dot(k.Row(i), alpha.Data)+m.Parameters.Mean)
		want.SD[i] = s * math.Sqrt(max(v[i], 0))
		want.SDObs[i] = math.Hypot(want.SD[i], s*math.Sqrt(m.Parameters.Noise))
		want.Laws = append(want.Laws, score.Normal(want.Mean[i], want.SDObs[i]))
		if want.SD[i] < got.SDLower[i] || want.SD[i] > got.SDUpper[i] || want.Mean[i] < got.MeanLower[i] ||
			want.Mean[i] > got.MeanUpper[i] {
			outside = append(outside, i)
		}
		width = append(width, (got.SDUpper[i]-got.SDLower[i])/got.SD[i])
	}
	if len(outside) > 0 {
		own, err := r.dense.Predict(ctx, pick(test.X, outside), PredictOptions{SD: true, Engine: r.e})
		if err != nil {
			t.Fatal(err)
		}
		for c, w := range r.settle(t, pick(std, outside), transposed(pick(transposed(x), outside)), b, alpha) {
			i := outside[c]
			if sd := s * math.Sqrt(w.variance); sd < own.SDLower[c] || sd > own.SDUpper[c] {
				t.Errorf("row %d: sd %v outside the dense bounds [%v, %v]", i, sd, own.SDLower[c], own.SDUpper[c])
			}
			if mean := m.Scaling.YMean + s*w.mean; mean < own.MeanLower[c] || mean > own.MeanUpper[c] {
				t.Errorf("row %d: mean %v outside the dense bounds [%v, %v]",
					i, mean, own.MeanLower[c], own.MeanUpper[c])
			}
			if lo, hi := s*math.Sqrt(max(w.variance-w.varOff, 0)),
				s*math.Sqrt(max(w.variance+w.varOff, 0)); lo < got.SDLower[i] || hi > got.SDUpper[i] {
				t.Errorf("row %d: sd in [%v, %v], float64 %v, outside [%v, %v]",
					i, lo, hi, want.SD[i], got.SDLower[i], got.SDUpper[i])
			}
			mid := m.Scaling.YMean + s*w.mean
			if off := s * w.meanOff; mid-off < got.MeanLower[i] || mid+off > got.MeanUpper[i] {
				t.Errorf("row %d: mean %v ± %v, float64 %v, outside [%v, %v]", i, mid, off, want.Mean[i],
					got.MeanLower[i], got.MeanUpper[i])
			}
		}
	}
	slices.Sort(width)
	a, errA := m.Score(got, test.Y)
	z, errZ := m.Score(want, test.Y)
	if errA != nil || errZ != nil {
		t.Fatal(errA, errZ)
	}
	t.Logf("%d rows, bounds %s: width of the sd interval, median %.2g, 99 %% %.2g, largest %.2g of sd; %d float64 "+
		"references outside, settled in twice the precision; NLPD %.5f, dense %.5f",
		len(v), got.BoundKind, width[len(width)/2], width[len(width)*99/100],
		width[len(width)-1], len(outside), a.NLPDStd, z.NLPDStd)
	if width[len(width)/2] > 0.05 {
		t.Errorf("the median interval of sd is %.3f wide", width[len(width)/2])
	}
	// Targets of new places are made up, and their NLPD is large.
	if math.Abs(a.NLPD-z.NLPD) > 0.01*max(0.5, math.Abs(z.NLPD)) {
		t.Errorf("NLPD %v, dense %v", a.NLPD, z.NLPD)
	}
}

// someRows draws count rows of d by a seed; all where there are no more.
func someRows(d *Data, count int) *Data {
	if count >= d.X.Rows {
		return d
	}
	rows := rand.New(rand.NewPCG(6, 1)).Perm(d.X.Rows)[:count]
	slices.Sort(rows)
	return d.Rows(rows)
}

// TestBoundsOnSets: 2000 training rows at the golden optimum, 300 new places; 5000, and
// of pol too, under BBGP_LONG=1.
func TestBoundsOnSets(t *testing.T) {
	count := 300
	if os.Getenv("BBGP_LONG") != "" {
		count = 5000
	}
	names := []string{"elevators", "bike"}
	if long() {
		names = goldenSets
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			g, train, _ := loadGolden(t, name)
			m := goldenModel(t, g, train)
			judge(t, m, newPlaces(train, count))
		})
	}
}

// goldenModel predicts 2000 rows at the golden optimum, and not densely.
func goldenModel(t *testing.T, g golden, train *Data) *Model {
	t.Helper()
	m := modelOf(train, gp.Standardise(train.X, train.Y, gp.PaperFloor),
		g.Optimum.params(), posterior.PrecondSpec{Rank: -1, Neighbours: -1})
	if err := m.post.Refine(context.Background(), gptest.Engine(t), posterior.MeanTol); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLeaveOneOutOnSets: what K̂⁻¹ says of every row lies within the bounds. (On
// bike the dense inverse is the less exact one.)
func TestLeaveOneOutOnSets(t *testing.T) {
	if testing.Short() {
		t.Skip("inverses of 2000 rows")
	}
	names := []string{"elevators"}
	if long() {
		names = append(names, "pol")
	}
	for _, name := range names {
		g, train, _ := loadGolden(t, name)
		m, ctx := goldenModel(t, g, train), context.Background()
		got, err := m.LeaveOneOut(ctx, LeaveOutOptions{Engine: gptest.Engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		dense := modelOf(train, m.Scaling, m.Parameters, posterior.PrecondSpec{Dense: true})
		want, err := dense.LeaveOneOut(ctx, LeaveOutOptions{Engine: gptest.Engine(t)})
		if err != nil || got.BoundKind != "probable" || want.BoundKind != "exact" {
			t.Fatal(err, got.BoundKind, want.BoundKind)
		}
		wide := 0
		for i, v := range want.Mean {
			if v < got.MeanLower[i] || v > got.MeanUpper[i] || want.SDObs[i] < got.SDObsLower[i] ||
				want.SDObs[i] > got.SDObsUpper[i] {
				t.Errorf("%s, row %d: %v ± %v outside [%v, %v] ± [%v, %v]", name, i, v, want.SDObs[i], got.MeanLower[i],
					got.MeanUpper[i], got.SDObsLower[i], got.SDObsUpper[i])
			}
			if got.SDObsUpper[i] > 1.1*got.SDObsLower[i] {
				wide++
			}
		}
		t.Logf("%s: %d of %d intervals wider than 10 %%", name, wide, len(want.Mean))
		if wide > len(want.Mean)/20 {
			t.Errorf("%s: %d wide intervals", name, wide)
		}
	}
}

// TestBoundsOnFullSets does the same for fits of all training rows and 500 rows
// of the test part. BBGP_LONG=1 runs it: minutes, and 3 GB.
func TestBoundsOnFullSets(t *testing.T) {
	if os.Getenv("BBGP_LONG") == "" {
		t.Skip("fits of eleven thousand rows")
	}
	for _, name := range goldenSets {
		t.Run(name, func(t *testing.T) {
			train, test := loadSet(t, name)
			if train == nil {
				t.Skip("the whole set is absent (set BBGP_DATA)")
			}
			m, err := Fit(context.Background(), train, Options{Engine: gptest.Engine(t), ScaleFloor: gp.PaperFloor})
			if err != nil {
				t.Fatal(err)
			}
			judge(t, m, someRows(test, 500))
		})
	}
}
