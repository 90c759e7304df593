package posterior

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"bbgp.dev/internal/cost"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
	"bbgp.dev/linalg/precond"
)

// What a regression of f* on part of the data leaves unexplained, measured by
// random probes. For any x, f* - x'y has the variance v = σ_f² - 2k*'x + x'K̂x, and
//
//	v - var(f*|y) = ρ'K̂⁻¹ρ,   ρ = k* - K̂x:
//
// the gap of an upper bound v is a quadratic form in ρ. With ω ~ N(0, K̂⁻¹), ω'ρ is
// normal with that variance, and it costs no product with K̂,
//
//	ω'ρ = k*'ω - x'ε,   ε = K̂ω,
//
// but a dot product with k* and one over the few rows in x. S probes made once
// serve every row, and Σ_s (ω_s'ρ)² / (ρ'K̂⁻¹ρ) has the χ² distribution with S degrees
// of freedom: the gap is known from both sides with a probability that does not
// depend on data or kernel.
//
// The probes are ω = F⁻ᵀ A^-1/2 z, A = F⁻¹K̂F⁻ᵀ, z standard normal, by block Lanczos;
// their ε is one exact product, so that an error in the root changes the
// covariance of ω and nothing else: by a few per cent (rootSlack), and along an eigenvector
// of A that the process has not found, of which a residual of all n directions tells nothing, by
// what the ends of H are off. A row may be all along one. So the process goes on until its smallest
// eigenvalue is at most endSlack times the lower end of A, or has come to rest, and what is left
// of that makes the bounds wider, as does what the largest has grown by of late.
//
// Where the function is smooth, nearest rows explain too little. Then a basis V,
// n×m, V'K̂V = I, of the span of the low-rank factor takes part: f* is regressed on
// V'y and on nearest rows. With B = K̂V, what V leaves has the covariance K̂ - BB',
// k* - B V'k*, σ_f² - |V'k*|², and the probes ω - V V'ε. Rounding: rounding.go.
//
// The residual r of the weights goes the same way: the error of a mean is
// k*'K̂⁻¹r = x'r + ρ'K̂⁻¹r, |ρ'K̂⁻¹r| <= (ρ'K̂⁻¹ρ r'K̂⁻¹r)^1/2, far less than σ_f (r'K̂⁻¹r)^1/2.

const (
	probeCount = cost.ProbeCount
	// probeRisk is the probability that one bound of one gap does not hold.
	probeRisk = 1e-6
	// probeTol ends the Lanczos process: largest residual of A⁻¹z, relative.
	probeTol    = 0.1
	rootSlack   = 1.05
	probePasses = 64
	// endSlack is how much larger the smallest Ritz value may be than the spectrum, restSlack what it may
	// have lost in the last of at least three passes where it is taken to be at rest.
	endSlack, restSlack = 1.3, 1.1
	nodeSlack           = 1e-3
	// probeFormTol is the tolerance of products below n² by which probes are drawn. probeForm
	// bounds what it may do to their covariance, relative, by probeFormCols of them.
	probeFormTol  = 2e-7
	probeForm     = 0.01
	probeFormCols = 8
)

// gapProbes holds the probes, and V where it is used.
type gapProbes struct {
	size        cost.Deviations
	rank        int
	cols        linalg.Matrix // n×(m+S): V and Ω - V V'ε
	low         linalg.Matrix // B, n×m, with room for rows to predict
	noise       []float64     // of these, enlarged (ridge), and zeros
	own         linalg.Matrix // n×(S+1): ε - B V'ε, and r - B V'r
	vr          []float64     // V'r, m
	rest        float64       // bound of r'K̂⁻¹r
	least, most float64       // gap / Σ_s (ω_s'ρ)² lies between, but for probeRisk
	below       float64       // times as small as it should be, and
	above       float64       // as large, the variance of ω may be along an end of the spectrum
	passes      int

	reach      float64 // σ_f² n^1/2 (|ω| + ‖V‖_F |s|), the largest
	norm       float64 // ‖V‖_F
	offH, offB float64 // ‖E_H‖, max_i |E_B,i|
	round      *rounding
}

var (
	errNoProbes  = errors.New("the probes for the variance do not converge")
	errProbeForm = errors.New("the products of the probes are not exact enough")
)

// checkCount random vectors measure E_H and E_B: of checkCount numbers that are normal
// with variance e², none is larger than e/checkSure with a probability of 2e-10.
const (
	checkCount = 7
	checkSure  = 20
)

// newGapProbes makes the probes, and V if basis is set and P is of low rank alone. It
// returns errNoProbes where too many passes would be needed, or rounding does not let
// the probes be made.
func (p *Posterior) newGapProbes(ctx context.Context, basis bool) (*gapProbes, error) {
	prec := kernelmv.F64
	if _, h2, err := p.op.Work(ctx, prec); err != nil {
		return nil, err
	} else if h2 {
		prec = kernelmv.Coarse
	}
	if p.params.Variance <= float32Variance*p.params.Noise {
		prec = kernelmv.F32
	}
	if prec == kernelmv.Coarse {
		p.op.SetForm(kernelmv.FormAuto, probeFormTol, predictTol64)
		defer p.op.SetForm(kernelmv.FormAuto, predictTol32, predictTol64)
	}
	g, err := p.gapProbesBy(ctx, basis, prec)
	if prec == kernelmv.Coarse && (errors.Is(err, errProbeForm) || errors.Is(err, errNoProbes)) {
		return p.gapProbesBy(ctx, basis, kernelmv.F64)
	}
	return g, err
}

// gapProbesBy is newGapProbes with probes drawn by products in prec. It returns errProbeForm
// where these are seen not to be exact enough.
func (p *Posterior) gapProbesBy(ctx context.Context, basis bool, prec kernelmv.Precision) (*gapProbes, error) {
	n := p.N()
	g := &gapProbes{round: p.round, size: p.sizes()}
	g.above, g.below = 1, 1
	omega, err := p.drawProbes(ctx, g, prec)
	lowQ, highQ := chiSquareBounds(probeCount, probeRisk)
	g.least, g.most = 1/(highQ*rootSlack*g.above), rootSlack*g.below/lowQ
	if errors.Is(err, krylov.ErrNotDefinite) {
		return nil, fmt.Errorf("%w: %w", errNoProbes, err)
	}
	if err != nil {
		return nil, err
	}
	g.cols = omega
	if basis && g.size.Rank > 0 && p.pre.NodeIsOne() {
		if err := p.spanBasis(ctx, g); err != nil {
			return nil, err
		}
	}
	// Products with [Ω, α, VT] in float64: ε, the residual of the weights, and a check of B.
	src, dst := linalg.NewMatrix(n, probeCount+1+checkCount), linalg.NewMatrix(n, probeCount+1+checkCount)
	src.Sub(0, n, 0, probeCount).CopyFrom(omega)
	for i, v := range p.weights {
		src.Set(i, probeCount, v)
	}
	t := p.checkVectors(g)
	v := g.cols.Sub(0, n, 0, g.rank)
	p.e.GemmTo(src.Sub(0, n, probeCount+1, src.Cols), 1, v, false, t, false, 0)
	op := p.op.With(kernelmv.F64)
	at := src.Cols // columns at a time
	if g.size.Probes < probeCount {
		at = g.size.Probes
	}
	for c := 0; c < src.Cols; c += at {
		to := min(c+at, src.Cols)
		if err := op.MulTo(ctx, dst.Sub(0, n, c, to), src.Sub(0, n, c, to)); err != nil {
			return nil, err
		}
	}
	if prec == kernelmv.Coarse {
		if err := p.checkForm(ctx, src, dst); err != nil {
			return nil, err
		}
	}
	r := linalg.NewMatrix(n, 1)
	for i, y := range p.data.Y {
		r.Data[i] = y - p.params.Mean - dst.At(i, probeCount)
		dst.Set(i, probeCount, r.Data[i])
	}
	pr := linalg.NewMatrix(n, 1)
	p.pre.SolveTo(pr, r)
	g.rest = max(p.e.Dot(r.Data, pr.Data), 0) / p.node
	g.own = dst.Sub(0, n, 0, probeCount+1)
	g.takeOut(p, t, dst.Sub(0, n, probeCount+1, dst.Cols))
	return g, nil
}

// checkForm returns errProbeForm where coarse products differ too much from exact ones, K̂Ω:
// with E what they differ by and a the lower end of the spectrum of A, K̂ >= aP, so that the mean of
//
//	|F⁻¹Eω|²/a,   tr P⁻¹E K̂⁻¹E/a in expectation,
//
// is ‖K̂^-1/2 E K̂^-1/2‖_F² at least.
func (p *Posterior) checkForm(ctx context.Context, omega, exact linalg.Matrix) error {
	n := p.N()
	diff := linalg.NewMatrix(n, probeFormCols)
	if err := p.op.With(kernelmv.Coarse).MulTo(ctx, diff, omega.Sub(0, n, 0, probeFormCols)); err != nil {
		return err
	}
	for i := range n {
		for c := range probeFormCols {
			diff.Set(i, c, diff.At(i, c)-exact.At(i, c))
		}
	}
	p.pre.FInvTo(diff, diff)
	mean := 0.0
	for _, square := range linalg.ColumnDots(diff, diff) {
		mean += square / probeFormCols / p.node
	}
	if !(mean <= probeForm*probeForm) {
		return errProbeForm
	}
	return nil
}

// spanBasis makes V and B. Where the span of the factor is degenerate, the probes does
// without.
func (p *Posterior) spanBasis(ctx context.Context, g *gapProbes) error {
	n := p.N()
	v, _, _, err := precond.PivotedCholesky(ctx, p.e, p.op,
		precond.PivotOptions{MaxRank: g.size.Rank, Seed: p.spec.Seed})
	if err != nil || v.Cols == 0 {
		return err
	}
	rank := v.Cols
	if _, full := p.e.ThinQR(v); full < rank {
		return nil
	}
	low := linalg.NewMatrix(n+g.size.Rows, rank)
	b, h := low.Sub(0, n, 0, rank), linalg.NewMatrix(rank, rank)
	if err := p.op.With(kernelmv.F64).MulTo(ctx, b, v); err != nil {
		return err
	}
	p.e.GemmTo(h, 1, v, true, b, false, 0)
	chol, err := p.e.NewCholesky(h)
	if err != nil {
		return nil
	}
	p.e.SolveRight(v, chol.Factor(), true)
	p.e.SolveRight(b, chol.Factor(), true)
	cols := linalg.NewMatrix(n, rank+probeCount)
	cols.Sub(0, n, 0, rank).CopyFrom(v)
	cols.Sub(0, n, rank, cols.Cols).CopyFrom(g.cols)
	g.rank, g.cols, g.low = rank, cols, low
	return nil
}

// checkVectors returns T, m×checkCount, standard normal.
func (p *Posterior) checkVectors(g *gapProbes) linalg.Matrix {
	t := linalg.NewMatrix(g.rank, checkCount)
	rng := rand.New(rand.NewPCG(p.spec.Seed, 0x636865636b)) // the second word is the stream of this use
	for i := range t.Data {
		t.Data[i] = rng.NormFloat64()
	}
	return t
}

// takeOut takes V out of the probes and of the residual, s = V'ε and V'r, measures E_H
// and E_B by kvt = K̂VT, and sets what rounding may do.
func (g *gapProbes) takeOut(p *Posterior, t, kvt linalg.Matrix) {
	n, m, r := g.own.Rows, g.rank, g.round
	s := linalg.NewMatrix(m, probeCount+1)
	probes := g.cols.Sub(0, n, m, m+probeCount)
	g.noise = make([]float64, n+g.size.Rows)
	copy(g.noise, p.op.Noise())
	largest := slices.Max(linalg.ColumnDots(probes, probes))
	g.reach = math.Sqrt(largest)
	if m > 0 {
		v, b := g.cols.Sub(0, n, 0, m), g.low.Sub(0, n, 0, m)
		p.e.GemmTo(s, 1, v, true, g.own, false, 0)
		for i := range m {
			g.vr = append(g.vr, s.At(i, probeCount))
		}
		for _, x := range linalg.ColumnDots(v, v) {
			g.norm += x
		}
		g.norm = math.Sqrt(g.norm)
		p.e.GemmTo(g.own, -1, b, false, s, false, 1)
		p.e.GemmTo(probes, -1, v, false, s.Sub(0, m, 0, probeCount), false, 1)
		g.reach += g.norm * math.Sqrt(slices.Max(linalg.ColumnDots(s, s)[:probeCount]))
		h := t.Clone()
		p.e.GemmTo(h, 1, v, true, kvt, false, -1)
		g.offH = checkSure * math.Sqrt(slices.Max(linalg.ColumnDots(h, h)))
		p.e.GemmTo(kvt, -1, b, false, t, false, 1)
		for i := range n {
			for _, x := range kvt.Row(i) {
				g.offB = max(g.offB, checkSure*math.Abs(x))
			}
		}
		for i := range g.noise {
			g.noise[i] *= 1 + ridge
		}
	}
	g.reach *= r.variance * math.Sqrt(r.n)
}

// slackV is (2): what the rounding of V and B may do to a variance, for f* with rounding
// e of its entries.
func (g *gapProbes) slackV(size, e float64) float64 {
	if g.rank == 0 {
		return 0
	}
	r := g.round
	top := math.Sqrt(r.top)
	c := (r.sum + e) * r.variance * math.Sqrt(r.n) * g.norm
	return 2*top*size*c + r.top*size*size*g.offH + 2*top*size*size*g.offB
}

// between returns the bounds of a variance, from the variance of a combination, known to
// off, and sum = Σ_s (ω_s'ρ)², each ω_s'ρ known to offProbe.
//
// Rounding may be all of sum, so that no gap is sure. But it does not hide a gap: an error
// with a correlation c to the S numbers ω_s'ρ leaves at least 1 - c² of their squares, and
// where it does not follow them |c| > 3^1/2/2 has a probability below 1e-18 (S = 64).
// So |ω'ρ| is at most 2 |ω'ρ + error|.
func (g *gapProbes) between(variance, off, sum, offProbe float64) (lo, hi float64) {
	w, d := math.Sqrt(sum), math.Sqrt(probeCount)*offProbe
	most := min(w+d, 2*w)
	return variance - off - g.most*most*most, variance + off - g.least*max(w-d, 0)*max(w-d, 0)
}

// chiSquareBounds returns x and y with P(χ² < x) = P(χ² > y) = risk, for s degrees
// of freedom, s even:
//
//	P(χ² > x) = e^(-x/2) Σ_{k < s/2} (x/2)^k / k!
func chiSquareBounds(s int, risk float64) (low, high float64) {
	above := func(x float64) float64 {
		term, sum := math.Exp(-x/2), 0.0
		for k := range s / 2 {
			sum += term
			term *= x / 2 / float64(k+1)
		}
		return sum
	}
	below := func(x float64) float64 { // the rest of the series: no cancellation
		term, sum := math.Exp(-x/2), 0.0
		for k := 0; k < s/2 || term > 1e-17*sum; k++ {
			if k >= s/2 {
				sum += term
			}
			term *= x / 2 / float64(k+1)
		}
		return sum
	}
	find := func(lo, hi float64, left func(x float64) bool) float64 {
		for range 60 {
			if mid := (lo + hi) / 2; left(mid) {
				lo = mid
			} else {
				hi = mid
			}
		}
		return (lo + hi) / 2
	}
	mean := float64(s)
	return find(0, mean, func(x float64) bool { return below(x) < risk }),
		find(mean, 4*mean+100, func(x float64) bool { return above(x) > risk })
}
