package posterior

import (
	"context"
	"errors"
	"math"
	"slices"

	"bbgp.dev/internal/cost"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/precond"
)

// Leaving one row out, at the parameters of the model: the prediction of y_i from
// all other rows has
//
//	v_i = 1/(K̂⁻¹)_ii,   mean_i = y_i - α_i v_i,   α = K̂⁻¹(y - c)
//
// (Dubrule 1983). The dense method inverts K̂. Otherwise y_i is regressed on its
// nearest rows, which bounds v_i from above by u_i, and the gap u_i - v_i is measured
// by the probes of probes.go: with x = (1, -coefficients) and ε = K̂ω, x'ε and ω_i are
// normal with the covariance [u_i 1; 1 1/v_i], hence
//
//	Σ_s (ω_is - x'ε_s/u_i)² = (1/v_i - 1/u_i) χ²_S.

// looTiers are the numbers of rows to regress on.
var looTiers = []int{80, 256}

// A LeftOut holds bounds of what all other rows say of the target of each training row,
// standardised: of its mean, and of its variance, noise included.
type LeftOut struct {
	MeanLo, MeanHi, Lo, Hi []float64
	// Kind tells what the bounds rest on, exact or probable.
	Kind string
}

// LeaveOneOut predicts the target of each row from all others; e nil means the engine of
// the last call, or the default one. The cost is n³ with a dense factor, that of some
// passes over the kernel matrix otherwise.
func (p *Posterior) LeaveOneOut(ctx context.Context, e *linalg.Engine) (*LeftOut, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.solved(ctx, e); err != nil {
		return nil, err
	}
	if err := p.prepare(ctx, e, true); err != nil {
		return nil, err
	}
	n := p.N()
	l := &LeftOut{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), "probable"}
	if p.chol != nil {
		return l, p.looDense(ctx, l)
	}
	return l, p.looProbes(ctx, l)
}

func (p *Posterior) looDense(ctx context.Context, l *LeftOut) error {
	n, round := p.N(), p.round
	round.weigh(p.weights)
	if err := p.needDelta(ctx); err != nil {
		return err
	}
	if err := cost.Fits("leaving out by a dense factor", n, p.D(), 16*float64(n)*float64(n)); err != nil {
		return err
	}
	inverse := linalg.NewMatrix(n, n)
	done := p.e.Par.Until(ctx)
	p.chol.InverseTo(inverse)
	done()
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := 1 / inverse.At(i, i)
		c := round.alone(round.entry[i])
		for j, a := range inverse.Row(i) {
			if j != i {
				round.add(&c, j, a*v)
			}
		}
		off := 2 * round.top * c.size * c.loud
		l.set(i, p.data.Y[i], p.weights[i]+p.delta[i], round.residual*c.size, max(v-off, p.op.Noise()[i]), v+off)
	}
	l.Kind = "exact"
	return nil
}

// looProbes leaves out one row after the other by regressions.
func (p *Posterior) looProbes(ctx context.Context, l *LeftOut) error {
	n, round := p.N(), p.round
	round.weigh(p.weights)
	g, err := p.newGapProbes(ctx, false) // V has seen the row that is left out
	if errors.Is(err, errNoProbes) {
		if err = p.factor(ctx); err == nil {
			return p.looDense(ctx, l)
		}
	}
	if err != nil {
		return errors.Join(errors.New("leaving one out"), err)
	}
	b := &looBounds{lo: slices.Clone(p.op.Noise()), hi: make([]float64, n), size: make([]float64, n),
		gap: make([]float64, n)}
	at := make([]int, n)
	for i := range at {
		at[i], b.hi[i] = i, math.Inf(1)
	}
	for _, nn := range looTiers {
		nn = min(nn, n-1)
		for i := 0; i < len(at); i += g.size.Rows {
			if err := p.looRegress(ctx, g, at[i:min(i+g.size.Rows, len(at))], nn, b); err != nil {
				return err
			}
		}
		left := at[:0]
		for _, i := range at {
			if !narrow(0.02, b.lo[i], b.hi[i]) {
				left = append(left, i)
			}
		}
		at = left
	}
	for i := range n {
		// α_i is known to ((K̂⁻¹)_ii r'K̂⁻¹r)^1/2, but for rounding.
		w := math.Sqrt(b.hi[i]*g.rest) + round.mean(b.size[i], b.gap[i])
		l.set(i, p.data.Y[i], p.weights[i], w, b.lo[i], b.hi[i])
	}
	return nil
}

// set sets row i, of target y, from bounds of the variance of its target, α_i, and what
// the mean y - α_i v may be off by at any v.
func (l *LeftOut) set(i int, y, alpha, off, lo, hi float64) {
	a, b := y-alpha*lo, y-alpha*hi
	off += 0x1p-50 * (math.Abs(y) + math.Abs(alpha)*hi)
	l.MeanLo[i], l.MeanHi[i], l.Lo[i], l.Hi[i] = min(a, b)-off, max(a, b)+off, lo, hi
}

// looBounds are those of the variances of the targets, v_i.
type looBounds struct {
	lo, hi    []float64
	size, gap []float64 // of the combination that gave them, and what it leaves
}

// looRegress bounds v_i for the given training rows by a regression on nn others.
func (p *Posterior) looRegress(ctx context.Context, g *gapProbes, rows []int, nn int, out *looBounds) error {
	near, err := p.op.Nearest(ctx, pickRows(p.data.X, rows), nn+1)
	if err != nil {
		return err
	}
	lists := make([]int32, 0, len(rows)*(1+nn))
	for a, i := range rows {
		lists = append(lists, int32(i))
		for _, r := range near[a*(nn+1) : (a+1)*(nn+1)] {
			if int(r) != i && len(lists) < (a+1)*(1+nn) {
				lists = append(lists, r)
			}
		}
	}
	coef, upper := linalg.NewMatrix(len(rows), nn), make([]float64, len(rows))
	if err := precond.Regress(ctx, p.e, p.op, linalg.Matrix{Rows: p.N()}, p.op.Noise(), lists, coef,
		upper); err != nil {
		return err
	}
	p.e.Par.For(len(rows), func(_, a int) {
		i, u, round := rows[a], upper[a], p.round
		e := append([]float64{}, g.own.Row(i)[:probeCount]...)
		c := round.alone(round.entry[i])
		for t, b := range coef.Row(a) {
			k := int(lists[a*(1+nn)+1+t])
			round.add(&c, k, b)
			p.e.Axpy(-b, g.own.Row(k)[:probeCount], e)
		}
		sum, most := 0.0, 0.0
		for s, w := range g.cols.Row(i) {
			sum += (w - e[s]/u) * (w - e[s]/u)
			most = max(most, math.Abs(e[s]))
		}
		off := round.regression(c, 0, nn)
		if !(off < u/2) {
			return
		}
		// Each of these is off by d: of x'ε, and of u.
		d := math.Sqrt(probeCount) * (c.loud*g.reach/u + most*off/(u*(u-off)))
		w := math.Sqrt(sum)
		lo := 1 / (1/(u-off) + g.most*(w+d)*(w+d))
		hi := 1 / (1/(u+off) + g.least*max(w-d, 0)*max(w-d, 0))
		out.lo[i], out.hi[i] = max(out.lo[i], lo), max(min(out.hi[i], hi), out.lo[i])
		out.size[i], out.gap[i] = c.size, max(u+off-out.lo[i], 0)
	})
	return ctx.Err()
}
