package lanczos

import (
	"errors"
	"math"
	"time"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
)

// The weights of predictions. Means need α = K̂⁻¹(y - c) to far more digits than the likelihood does:
// what is left of r'K̂⁻¹r goes into each mean with σ_f. While the process is there, it has what solves for
// that soonest: on its basis T the inverse of A is H⁻¹, and joined with P elsewhere (knownInverse) it leaves
// conjugate gradients a matrix without the outer eigenvalues. They run in the precision of the process, and
// residuals y - c - K̂α are computed anew in float64 between.

const (
	// A solution in float32 goes on from a new residual once it has gained roughGain in r'P⁻¹r, and
	// in float64 where that gains less than roughLeast.
	roughGain, roughLeast = 1e-5, 1e-1
	// slack is how far below what is asked for a solution goes, for what rounding adds; leftTol is to what
	// the weights of a residual are known, relative, in squares.
	slack, leftTol = 0.25, 1e-2
	weightPasses   = 400
	// Means at training rows are off by about r. Where |r| is below rowPart of what means may be off by, all that
	// counts is r'K̂⁻¹r, and a solution that leaves as much of that as rounding is not followed by another.
	rowPart = 0.1
)

// A knownInverse is F⁻ᵀ(T H⁻¹T' + I - TT')F⁻¹, or P⁻¹ where the basis is not stored.
type knownInverse struct {
	r      *process
	white  linalg.Matrix // F⁻¹ of what came last, n×1
	square float64       // |white|²
}

func (k *knownInverse) Dim() int { return k.r.o.n }

func (k *knownInverse) SolveTo(dst, src linalg.Matrix) {
	o := k.r.o
	o.pre.FInvTo(k.white, src)
	k.square = o.e.Dot(k.white.Data, k.white.Data)
	if !o.lanczos.InverseTo(dst, k.white, &o.b.ldl) {
		dst.CopyFrom(k.white)
	}
	o.pre.FInvTransTo(dst, dst)
}

// A solvedFor is α with its residual r, computed from it in float64.
type solvedFor struct {
	alpha, r linalg.Matrix
	rest     float64 // r'P⁻¹r/a
	square   float64 // r'r, which alone sees rounding of smooth functions
}

// better says whether s is nearer than b, and far: so much so that it pays to go on. Rounding makes both sizes of a
// residual go up and down. Of r'r no more is asked than fine.
func (s *solvedFor) better(b *solvedFor, fine float64) (better, far bool) {
	const scatter, enough = 2, 4
	product, was := s.rest*s.square, b.rest*b.square
	better = product < was && s.rest <= scatter*b.rest && s.square <= scatter*b.square
	if b.square <= fine {
		return better, better && s.rest < b.rest/enough
	}
	return better, better && product < was/enough
}

// solveWeights brings the weights of ev to r'K̂⁻¹r <= opt.Weights, as far as rounding allows.
func (r *process) solveWeights(ev *evidence.Value) error {
	if !(r.opt.Weights > 0) || r.h2 {
		return nil
	}
	best, left, err := r.solveTo(linalg.Column(ev.Alpha), r.opt.Weights, weightPasses)
	if best != nil {
		ev.Alpha, ev.AlphaRest, ev.AlphaLeft = best.alpha.Data, best.rest, left
	}
	return err
}

// solveTo brings α to r'K̂⁻¹r <= most, as far as rounding and so many passes from one residual to the next allow,
// and returns what rounding leaves of it, if it is that which ended it; nothing where α cannot be judged.
func (r *process) solveTo(alpha linalg.Matrix, most float64, passes int) (best *solvedFor, left []float64, err error) {
	o := r.o
	known := &knownInverse{r: r, white: linalg.NewMatrix(o.n, 1)}
	cg, opt := krylov.NewCG(o.e, o.n, 1), krylov.CGOptions{MaxPasses: passes}
	best, err = r.solvedAt(alpha, known)
	op, rough := r.op, r.own != kernelmv.F64
	for err == nil && best.rest > most {
		goal := min(slack*most, leftTol*best.rest)
		if rough {
			goal = max(goal, roughGain*best.rest)
		}
		next, step, sound, fault := r.towards(best, op, cg, opt, known, goal)
		if err = fault; err != nil {
			break
		}
		better, far := next.better(best, rowPart*rowPart*r.p.Variance*most)
		if rough && !(next.rest < roughLeast*best.rest) {
			op, rough, far = o.op.With(kernelmv.F64), false, true
		}
		if better && far || next.rest <= most {
			best, left = next, nil
			continue
		}
		left = nil
		if sound {
			left = step.Data // what rounding leaves of α, and no more
		}
		if !far {
			break
		}
	}
	if errors.Is(err, krylov.ErrNotDefinite) || r.ctx.Err() != nil {
		err = nil // the value is known, and what there is of weights is judged by its residual, if any
	}
	return best, left, err
}

// solvedAt judges α.
func (r *process) solvedAt(alpha linalg.Matrix, known *knownInverse) (*solvedFor, error) {
	o, s := r.o, &solvedFor{alpha: alpha, r: linalg.NewMatrix(r.o.n, 1)}
	if err := r.exactly(s.r, alpha); err != nil {
		return nil, err
	}
	for i, y := range r.resid.Data {
		s.r.Data[i] = y - s.r.Data[i]
	}
	o.pre.FInvTo(known.white, s.r)
	s.rest, s.square = o.e.Dot(known.white.Data, known.white.Data)/o.b.node, o.e.Dot(s.r.Data, s.r.Data)
	if math.IsNaN(s.rest) {
		return nil, krylov.ErrNotDefinite
	}
	return s, nil
}

// towards solves K̂δ = r until r'P⁻¹r/a is at most goal, and judges α + δ; sound: it has come there.
func (r *process) towards(from *solvedFor, op linalg.SymOp, cg *krylov.CG, opt krylov.CGOptions, known *knownInverse,
	goal float64) (next *solvedFor, step linalg.Matrix, sound bool, err error) {
	o, start := r.o, time.Now()
	step = linalg.NewMatrix(o.n, 1)
	opt.OnPass = func(_ int, _, _ linalg.Matrix, _ []float64) bool {
		sound = known.square <= o.b.node*goal
		return sound
	}
	res, err := cg.Solve(r.ctx, op, known, step, from.r, opt)
	addSince(start, &o.phases.product)
	r.products += res.Passes
	if err != nil && !errors.Is(err, krylov.ErrNotDefinite) {
		return nil, step, false, err
	}
	alpha := from.alpha.Clone()
	o.e.Axpy(1, step.Data, alpha.Data)
	next, err = r.solvedAt(alpha, known)
	return next, step, sound, err
}
