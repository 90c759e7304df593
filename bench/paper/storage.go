package main

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"bbgp.dev/bbgp"
	"bbgp.dev/bench"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
	"bbgp.dev/linalg/precond"
)

// gradColumns is the number of columns that a gradient takes from the basis, about.
const gradColumns = 32

// A process is a block Lanczos process on the study's rows, run as an evaluation
// runs it, with a basis of the cell's storage: what bbgp itself chooses is not asked.
type process struct {
	lanczos *krylov.Lanczos
	pre     *precond.Precond
	y       linalg.Matrix // F⁻¹(y - c) is the last column of the start block
	probes  int
}

// store runs a process until its bounds of the log determinant, in nats of the
// likelihood, are closer than 1, and multiplies its basis by as many columns as a gradient
// needs. Bound and estimate are of the log determinant's term and that of y.
func store(b *studyBench, c *cell) error {
	ctx := context.Background()
	e, err := linalg.NewEngine(nil, 0)
	if err != nil {
		return err
	}
	pr, op, err := newProcess(ctx, e, b.data, c)
	if err != nil {
		return err
	}
	began, cpu := time.Now(), bench.CPUSeconds()
	start := linalg.NewMatrix(c.N, c.Probes+1)
	rng := rand.New(rand.NewPCG(1, 0x73746f7265))
	for i := range c.N {
		row := start.Row(i)
		for j := range c.Probes {
			row[j] = float64(1 - 2*int(rng.Uint64()>>63))
		}
		row[c.Probes] = pr.y.At(i, 0)
	}
	pr.lanczos.Start(op, pr.pre, start)
	gauss, radau, err := pr.run(ctx, c)
	if err != nil {
		return err
	}
	k := pr.lanczos.H.Dim()
	coef, out := linalg.NewMatrix(k, gradColumns), linalg.NewMatrix(c.N, gradColumns)
	for i := range coef.Data {
		coef.Data[i] = rng.NormFloat64() / math.Sqrt(float64(k))
	}
	if err := pr.lanczos.MulBasisTo(ctx, out, coef); err != nil {
		return err
	}
	c.Wall, c.CPU = time.Since(began).Seconds(), bench.CPUSeconds()-cpu
	c.Replayed, c.BasisBytes = pr.lanczos.Replayed(), float64(pr.lanczos.Bytes())
	c.Used, c.Exact, c.StdErr = "f64, log det / 2", math.NaN(), math.NaN()
	c.LML, c.Lower, c.Upper = -0.5*(pr.pre.LogDet()+gauss), -0.5*(pr.pre.LogDet()+gauss), -0.5*(pr.pre.LogDet()+radau)
	return nil
}

func newProcess(ctx context.Context, e *linalg.Engine, d *bbgp.Data, c *cell) (*process, *kernelmv.Op, error) {
	s := gp.Standardise(d.X, d.Y, gp.PaperFloor)
	x := linalg.NewMatrix(d.X.Rows, d.X.Cols)
	s.XTo(x, d.X)
	p := studyParams(x.Cols, c.Noise)
	noise := make([]float64, x.Rows)
	for i := range noise {
		noise[i] = p.Noise
	}
	op, err := kernelmv.NewOp(e, x, kernelmv.Kernel{Family: kernelmv.Matern32, Variance: p.Variance,
		Lengthscales: p.Lengthscales}, noise)
	if err != nil {
		return nil, nil, err
	}
	op.SetPrecision(kernelmv.F64)
	pre, err := precond.New(ctx, e, op, noise, precond.Options{Rank: min(c.Rank, x.Rows/4), Seed: 1})
	if err != nil {
		return nil, nil, err
	}
	opt := krylov.LanczosOptions{Wide: c.Storage == "f64"}
	if c.Storage == "two-pass" {
		opt.MaxCols = -1
	}
	pr := &process{pre: pre, probes: c.Probes, y: linalg.NewMatrix(x.Rows, 1),
		lanczos: krylov.NewLanczos(e, x.Rows, c.Probes+1, opt)}
	s.YTo(pr.y.Data, d.Y)
	pre.FInvTo(pr.y, pr.y)
	return pr, op, nil
}

// run makes passes until Gauss and Gauss-Radau agree to 2 in the mean over the probes.
func (pr *process) run(ctx context.Context, c *cell) (gauss, radau float64, err error) {
	g, r := make([]float64, pr.probes), make([]float64, pr.probes)
	var quad krylov.Quad
	for next := 1; ; {
		if err := pr.lanczos.Step(ctx); err != nil {
			return 0, 0, err
		}
		c.Passes++
		done := pr.lanczos.Exhausted()
		if c.Passes < next && !done {
			continue
		}
		next = c.Passes + max(1, c.Passes/10)
		if err := quad.GaussTo(g, pr.lanczos.H); err != nil {
			return 0, 0, err
		}
		// A low-rank P alone: the node 1 is below the spectrum.
		if err := quad.RadauTo(r, pr.lanczos.H, min(krylov.NodeOne(quad.High), quad.Low*(1-1e-9))); err != nil {
			return 0, 0, err
		}
		gauss, radau = mean(g), mean(r)
		if done || gauss-radau <= 2 {
			return gauss, radau, nil
		}
	}
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
