package iterative

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
	"bbgp.dev/linalg/precond"
)

// The estimators without a bound on their bias, for comparison.
//
// "iterative" (Gardner et al. 2018): conjugate gradients to a fixed relative
// residual for y and for each probe, log det K̂ by stochastic Lanczos
// quadrature of the same processes, the gradient estimated on its own:
//
//	log det K̂ ≈ log det P + mean_i w_i' log(A) w_i,
//	tr(K̂⁻¹ dK̂) ≈ mean_i a_i' dK̂ b_i,  a_i = F⁻ᵀ A⁻¹ w_i, b_i = F⁻ᵀ w_i.
//
// "rr" (Potapczynski et al. 2021): the number of passes J is drawn at random and
// the increment of pass j is divided by P(J > j), which takes the bias of the
// log determinant, of its gradient and of the solve away, for a larger variance.
//
// P is the greedy low-rank preconditioner, made anew at every evaluation.

const (
	iterativeRank   = 100  // of P by default
	iterativeTol    = 1    // mean relative residual that ends the solves in training
	iterativeMin    = 10   // passes at least
	iterativeMax    = 1000 // passes at most
	rouletteMin     = 20   // passes that are always done
	rouletteSurvive = 0.95 // chance of each further pass
)

// An Estimator evaluates "iterative" or, with roulette set, "rr".
type Estimator struct {
	e        *linalg.Engine
	op       *kernelmv.Op
	d        *gp.Table // standardised
	roulette bool
	src      *rand.PCG  // probes and J of the next evaluation
	rng      *rand.Rand // on src
}

func New(e *linalg.Engine, d *gp.Table, p gp.Params, roulette bool) (*Estimator, error) {
	op, err := kernelmv.NewOp(e, d.X, gp.KernelOf(p), gp.NoiseOf(p, d))
	if err != nil {
		return nil, err
	}
	src := rand.NewPCG(0, 0)
	return &Estimator{e: e, op: op, d: d, roulette: roulette, src: src, rng: rand.New(src)}, nil
}

// Rebuild restarts the stream of probes from opt.Seed.
func (s *Estimator) Rebuild(_ context.Context, _ gp.Params, opt evidence.Options) error {
	s.src.Seed(opt.Seed, 0x17e7a71e)
	return nil
}

// Evaluate returns the estimate; Lower and Upper are infinite, for nothing
// bounds its bias. Every call draws new probes.
func (s *Estimator) Evaluate(ctx context.Context, p gp.Params, opt evidence.Options) (*evidence.Value, error) {
	start := time.Now()
	noise := gp.NoiseOf(p, s.d)
	if err := s.op.Reset(gp.KernelOf(gp.DropFar(p)), noise); err != nil {
		return nil, err
	}
	s.op.SetPrecision(kernelmv.F32)
	if opt.Precision == "f64" {
		s.op.SetPrecision(kernelmv.F64)
	}
	rank := opt.Rank
	if rank < 0 {
		rank = iterativeRank
	}
	f, err := precond.New(ctx, s.e, s.op, noise, precond.Options{Rank: rank, Greedy: true})
	if err != nil {
		return nil, err
	}
	b := s.block(p, f, opt.Probes)
	weight, cg := s.schedule()
	res, err := krylov.MultiCG(ctx, s.e, s.op, f, b, cg)
	if err != nil {
		return nil, err
	}
	ev := &evidence.Value{
		Lower: math.Inf(-1), Upper: math.Inf(1), BoundKind: "none", Precision: s.op.Precision().String(),
		Passes: res.Passes, Products: res.Passes * b.Cols, Rank: f.Rank(), Probes: opt.Probes,
	}
	if err := s.value(ev, f, b, res, weight); err != nil {
		return nil, err
	}
	x := res.X
	f.FInvTransTo(x, x)
	ev.Alpha = make([]float64, b.Rows)
	for i := range ev.Alpha {
		ev.Alpha[i] = x.At(i, opt.Probes)
	}
	if opt.Gradient {
		f.FInvTransTo(b, b)
		if ev.Gradient, err = s.gradient(ctx, p, noise, x, b); err != nil {
			return nil, err
		}
		ev.Passes++
		ev.GradColumns = 2*opt.Probes + 1
	}
	ev.Seconds = time.Since(start).Seconds()
	return ev, nil
}

// block returns [w_1 .. w_s, F⁻¹(y - c)] with sign vectors w.
func (s *Estimator) block(p gp.Params, f *precond.Precond, probes int) linalg.Matrix {
	n := s.d.X.Rows
	b, r := linalg.NewMatrix(n, probes+1), linalg.NewMatrix(n, 1)
	for i, y := range s.d.Y {
		r.Data[i] = y - p.Mean
	}
	f.FInvTo(r, r)
	for i := range n {
		row := b.Row(i)
		for c := range probes {
			row[c] = float64(1 - 2*int(s.rng.Uint64()>>63))
		}
		row[probes] = r.Data[i]
	}
	return b
}

// schedule returns the weight of each pass and the settings of the solves.
func (s *Estimator) schedule() (weight func(j int) float64, opt krylov.MultiCGOptions) {
	if !s.roulette {
		return func(int) float64 { return 1 }, krylov.MultiCGOptions{Tol: iterativeTol, MinPasses: iterativeMin,
			MaxPasses: iterativeMax}
	}
	passes := rouletteMin
	for s.rng.Float64() < rouletteSurvive {
		passes++
	}
	weight = func(j int) float64 { // 1/P(J > j)
		return math.Pow(rouletteSurvive, -float64(max(0, j+1-rouletteMin)))
	}
	return weight, krylov.MultiCGOptions{Tol: 1e-14, MaxPasses: passes, Weight: weight}
}

// value sets the estimate and its standard error.
func (s *Estimator) value(ev *evidence.Value, f *precond.Precond, b linalg.Matrix, res *krylov.MultiCGResult,
	weight func(int) float64) error {
	n, probes := b.Rows, b.Cols-1
	var quad krylov.Quad
	sum, sq := 0.0, 0.0
	for c := range probes {
		h, v, last := res.Tri[c], 0.0, 0.0
		first := 1
		if !s.roulette {
			first = h.Blocks()
		}
		for t := first; t <= h.Blocks(); t++ {
			var g [1]float64
			if err := quad.GaussTo(g[:], h.Truncated(t)); err != nil {
				return fmt.Errorf("%w: %w", gp.ErrNotFinite, err)
			}
			w := 1.0
			if s.roulette {
				w = weight(t - 1)
			}
			v += w * (g[0] - last)
			last = g[0]
		}
		v *= res.Norm2[c]
		sum += v
		sq += v * v
	}
	mean := sum / float64(probes)
	ry := 0.0
	for i := range n {
		ry += b.At(i, probes) * res.X.At(i, probes)
	}
	ev.LML = -0.5 * (float64(n)*math.Log(2*math.Pi) + f.LogDet() + mean + ry)
	if probes > 1 {
		ev.StdErr = 0.5 * math.Sqrt(max(0, sq/float64(probes)-mean*mean)/float64(probes-1))
	}
	if !gp.Finite(ev.LML) {
		return fmt.Errorf("%w: value %v", gp.ErrNotFinite, ev.LML)
	}
	return nil
}

// gradient contracts ∂K̂ with v v'/2 - mean_i (a_i b_i' + b_i a_i')/4, where
// x = [a, v] and b = [b_i, ·]; a b' + b a' = [(a+b)(a+b)' - (a-b)(a-b)']/2.
func (s *Estimator) gradient(ctx context.Context, p gp.Params, noise []float64, x,
	b linalg.Matrix) (*evidence.Gradient, error) {
	n, probes := x.Rows, x.Cols-1
	u, w := linalg.NewMatrix(n, 2*probes+1), make([]float64, 2*probes+1)
	for c := range probes {
		w[c] = -1 / (8 * float64(probes))
		w[probes+c] = -w[c]
	}
	w[2*probes] = 0.5
	kx := linalg.NewMatrix(n, probes+1)
	if err := s.op.MulTo(ctx, kx, x); err != nil {
		return nil, err
	}
	g := &evidence.Gradient{Lengthscales: make([]float64, len(p.Lengthscales))}
	mk := 0.0
	for i := range n {
		xr, br, ur, kr := x.Row(i), b.Row(i), u.Row(i), kx.Row(i)
		v := xr[probes]
		ur[2*probes] = v
		g.Mean += v
		trace, kinner := 0.0, 0.0
		for c := range probes {
			ur[c], ur[probes+c] = xr[c]+br[c], xr[c]-br[c]
			trace += xr[c] * br[c]
			kinner += kr[c] * br[c]
		}
		di := 0.5*v*v - trace/(2*float64(probes))
		mk += 0.5*v*kr[probes] - kinner/(2*float64(probes)) - noise[i]*di
		if s.d.NoiseScale != nil {
			di *= s.d.NoiseScale[i]
		}
		g.Noise += di
	}
	g.Variance = mk / p.Variance
	if err := s.op.Reset(gp.KernelOf(p), noise); err != nil { // with what may come back
		return nil, err
	}
	if err := s.op.GradTo(ctx, g.Lengthscales, u, w); err != nil {
		return nil, err
	}
	g.Natural(p)
	return g, nil
}

func (s *Estimator) State() []byte {
	b, err := s.src.MarshalBinary()
	if err != nil {
		panic("bbgp: state: " + err.Error()) // that of a PCG cannot fail
	}
	return b
}

func (s *Estimator) Restore(b []byte) {
	// A state of another kind is of a damaged journal, whose checksum was right:
	// the generator keeps its seed.
	_ = s.src.UnmarshalBinary(b)
}
