package posterior

import (
	"context"
	"math"
	"math/rand/v2"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
)

// The root K̂^-1/2 of the probes, and how far it is known along single directions (probes.go).

// drawProbes returns Ω, n×S, by products in prec: of as many probes at a time as there is room for, which are
// halved where they take more passes than were foreseen.
func (p *Posterior) drawProbes(ctx context.Context, g *gapProbes, prec kernelmv.Precision) (linalg.Matrix, error) {
	n := p.N()
	rng := rand.New(rand.NewPCG(p.spec.Seed, 0x6761756765)) // the second word is the stream of this use
	z := linalg.NewMatrix(n, probeCount)
	for i := range z.Data {
		z.Data[i] = rng.NormFloat64()
	}
	for c := 0; c < probeCount; {
		some := z.Sub(0, n, c, c+g.size.Probes)
		fits, err := p.drawSome(ctx, g, some, prec)
		switch {
		case err != nil:
			return z, err
		case fits:
			c += g.size.Probes
		default:
			g.size.Halve(n)
		}
	}
	return z, nil
}

// drawSome makes probes of the standard normal z, n×s; without any change where they do not fit.
func (p *Posterior) drawSome(ctx context.Context, g *gapProbes, z linalg.Matrix, prec kernelmv.Precision) (fits bool,
	err error) {
	l := krylov.NewLanczos(p.e, p.N(), z.Cols, krylov.LanczosOptions{MaxCols: g.size.Columns})
	lo, hi := p.e.OwnRows(p.N())
	l.Start(p.op.With(prec), p.pre, z.Sub(lo, hi, 0, z.Cols))
	ends := rootEnds{node: p.node}
	for passes := 1; ; passes++ {
		if err := l.Step(ctx); err != nil {
			return false, err
		}
		g.passes = max(g.passes, passes)
		worst, err := krylov.SolveResidual(l.H)
		if err == nil {
			err = ends.see(l.H)
		}
		switch {
		case err != nil:
			return false, err
		case worst <= probeTol && ends.found() || l.Exhausted():
			if ends.refuted(ends.low) {
				p.node = ends.low / 2
			}
			if !l.Exhausted() {
				g.below, g.above = max(g.below, ends.below), max(g.above, ends.above)
			}
			root, err := krylov.InvSqrt(l.H, 1e-3)
			if err != nil {
				return false, err
			}
			if err := l.MulBasisTo(ctx, z, root); err != nil {
				return false, err
			}
			p.pre.FInvTransTo(z, z)
			return true, nil
		case passes == probePasses:
			return false, errNoProbes
		case passes >= g.size.Passes:
			return false, nil
		}
	}
}

// rootEnds follows the ends of H from pass to pass.
type rootEnds struct {
	node         float64 // below the spectrum of A, as far as is known
	low, high    float64 // of H
	seen         int     // passes
	below, above float64 // what the variance along an end may be off by, as a factor
}

func (e *rootEnds) see(h *krylov.BlockTri) error {
	low, high, err := krylov.Ends(h)
	if err != nil {
		return err
	}
	e.below, e.above = max(low/e.node, 1), math.Inf(1)
	if e.seen++; e.seen > 1 {
		e.above = max(high/e.high, 1)
	}
	if e.refuted(low) {
		e.below = math.Inf(1)
	}
	if fallen := e.low / low; e.seen > 2 && fallen <= restSlack {
		e.below = min(e.below, max(fallen, 1))
	}
	e.low, e.high = low, high
	return nil
}

// refuted reports that the node does not lie below the spectrum, but for the rounding of products.
func (e *rootEnds) refuted(low float64) bool { return low < (1-nodeSlack)*e.node }

// found reports that the smallest eigenvalue has been. Bounds from above do without the largest.
func (e *rootEnds) found() bool { return e.below <= endSlack }
