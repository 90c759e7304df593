package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"bbgp.dev/asm"
	"bbgp.dev/internal/cost"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// A DenseReport is one measurement of a dense factorisation or product.
type DenseReport struct {
	Op         string  `json:"op"`
	N          int     `json:"n"`
	M          int     `json:"m"` // the other size, 0 if there is none
	Precision  string  `json:"precision"`
	Threads    int     `json:"threads"`
	Gflops     float64 `json:"gflops"`      // Flops / Seconds, the best
	FMAShare   float64 `json:"fma_share"`   // of the peak, for the CPU time used: the middle one
	CPUSeconds float64 `json:"cpu_seconds"` // of one run, all threads, the best
	ISA        string  `json:"-"`
	Seconds    float64 `json:"-"` // wall time of one run, the best
	PeakGflops float64 `json:"-"` // of one thread, by CPU time, the best of a run
	Flops      float64 `json:"-"` // that one run needs
	Runs       int     `json:"-"`
}

// A DenseSpec says what Dense measures.
type DenseSpec struct {
	Impl    *asm.Impl     // nil: asm.Default
	Threads []int         // nil: 1 and GOMAXPROCS
	Ops     []string      // nil: those of DenseOps that take less than a second or two
	Scale   float64       // multiplies the sizes; 0: 1
	Time    time.Duration // for each measurement; 0: a second
}

// A denseCase prepares one operation of size n (and m). flops are those of the
// textbook; reset restores what run overwrites, outside the time.
type denseCase struct {
	op      string
	n, m    int
	flops   float64
	prepare prepareFunc
	flopsOf func(n, m float64) float64
	once    bool // takes long: run once, and only where it is asked for
}

type prepareFunc func(e *linalg.Engine, rng *rand.Rand, n, m int) (reset func(), run func(context.Context) error)

// The micro-kernel alone, on the same operands all the time, at the depth of a
// product: no product is faster.
const (
	kernelDepth = 500
	kernelCalls = 3500
)

func prepareKernel(e *linalg.Engine, rng *rand.Rand, n, _ int) (func(), func(context.Context) error) {
	return microKernel(&e.Impl.F64, normal(rng, n, asm.GemmRows).Data, normal(rng, n, asm.GemmCols).Data)
}

func microKernel(kit *asm.Kit[float64], a, b []float64) (func(), func(context.Context) error) {
	const width = asm.GemmCols
	c := make([]float64, asm.GemmRows*width)
	return nothing, func(context.Context) error {
		for range kernelCalls {
			kit.GemmPanels(c, width, 1, a, b, a, len(b)/width, false)
		}
		return nil
	}
}

// denseCases are the operations at sizes that fits have.
var denseCases = []denseCase{
	{op: "micro-kernel", n: kernelDepth, flopsOf: kernelFlops, prepare: prepareKernel},
	{op: "gemm", n: 2000, flopsOf: gemmFlops, prepare: prepareGemm},
	{op: "syrk", n: 2000, m: 2000, flopsOf: func(n, m float64) float64 { return n * (n + 1) * m },
		prepare: prepareSyrk},
	{op: "cholesky", n: 5000, flopsOf: func(n, _ float64) float64 { return n * n * n / 3 }, prepare: prepareCholesky},
	{op: "inverse", n: 5000, flopsOf: func(n, _ float64) float64 { return n * n * n * 2 / 3 }, prepare: prepareInverse},
	{op: "trsm", n: 2000, m: 2000, flopsOf: func(n, m float64) float64 { return n * n * m }, prepare: prepareTrsm},
	{op: "qr", n: 11121, m: 1000, flopsOf: func(n, m float64) float64 { return 4 * n * m * m }, prepare: prepareQR},
	{op: "syrk-tall", n: 11121, m: 1000, flopsOf: func(n, m float64) float64 { return n * m * (m + 1) },
		prepare: prepareTallSyrk},
}

func kernelFlops(n, _ float64) float64 { return 2 * asm.GemmRows * asm.GemmCols * n * kernelCalls }

func gemmFlops(n, _ float64) float64 { return 2 * n * n * n }

// DenseOps returns the names of the operations that Dense knows: products and
// factorisations of order n, the tall ones of n×m, and what precondCases says.
func DenseOps() []string {
	var names []string
	for _, c := range allCases() {
		names = append(names, c.op)
	}
	return names
}

func allCases() []denseCase { return append(slices.Clone(denseCases), precondCases...) }

// Dense measures products and factorisations. FMAShare compares the flops of the
// textbook with what the peak routine does in the same CPU time, in slices all
// through the run (meter), so that other work on the machine slows both alike;
// with several threads it does not see one that waits. It returns ctx.Err() if
// ctx ends first.
func Dense(ctx context.Context, s DenseSpec) ([]DenseReport, error) {
	cases, ops, threads := allCases(), s.Ops, s.Threads
	if ops == nil {
		for _, c := range cases {
			if !c.once {
				ops = append(ops, c.op)
			}
		}
	}
	if threads == nil {
		all := linalg.NewPar(0).Threads()
		threads = slices.Compact([]int{1, all})
	}
	scale := s.Scale
	if scale == 0 {
		scale = 1
	}
	var reports []DenseReport
	for _, op := range ops {
		i := slices.IndexFunc(cases, func(c denseCase) bool { return c.op == op })
		if i < 0 {
			return nil, fmt.Errorf("no dense operation %q; there are %v", op, DenseOps())
		}
		c := cases[i]
		c.n, c.m = int(math.Ceil(float64(c.n)*scale)), int(math.Ceil(float64(c.m)*scale))
		c.flops = c.flopsOf(float64(c.n), float64(c.m))
		if err := cost.FitsMemory(op, 32*max(float64(c.n), float64(c.m))*float64(c.n)); err != nil {
			return nil, err
		}
		for _, t := range threads {
			e, err := linalg.NewEngine(s.Impl, t)
			if err != nil {
				return nil, err
			}
			r, err := c.measure(ctx, e, s.Time)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", op, err)
			}
			reports = append(reports, r)
		}
	}
	return reports, nil
}

func (c *denseCase) measure(ctx context.Context, e *linalg.Engine, limit time.Duration) (DenseReport, error) {
	if limit == 0 {
		limit = time.Second
	}
	r := DenseReport{
		Op: c.op, N: c.n, M: c.m, Precision: kernelmv.F64.String(), Threads: e.Par.Threads(),
		ISA:   e.Impl.Name,
		Flops: c.flops, CPUSeconds: math.Inf(1), Seconds: math.Inf(1),
	}
	reset, run := c.prepare(e, rand.New(rand.NewPCG(1, uint64(c.n))), c.n, c.m)
	m := newMeter(e, kernelmv.F64)
	var shares []float64
	least := 3
	if c.once {
		least, limit = 1, 0
	}
	for start := time.Now(); r.Runs < least || time.Since(start) < limit; r.Runs++ {
		reset()
		one, err := m.run(func() error { return run(ctx) })
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return r, err
		}
		r.CPUSeconds, r.Seconds = min(r.CPUSeconds, one.cpu), min(r.Seconds, one.wall)
		shares = append(shares, c.flops/(one.cpu*one.peak))
		r.PeakGflops = max(r.PeakGflops, one.peak/1e9)
	}
	r.FMAShare, r.Gflops = Median(shares), c.flops/r.Seconds/1e9
	return r, nil
}

func nothing() {}

func prepareGemm(e *linalg.Engine, rng *rand.Rand, n, _ int) (func(), func(context.Context) error) {
	a, b, c := normal(rng, n, n), normal(rng, n, n), linalg.NewMatrix(n, n)
	return nothing, func(context.Context) error {
		e.GemmTo(c, 1, a, false, b, false, 0)
		return nil
	}
}

func prepareSyrk(e *linalg.Engine, rng *rand.Rand, n, m int) (func(), func(context.Context) error) {
	a, c := normal(rng, n, m), linalg.NewMatrix(n, n)
	return nothing, func(context.Context) error {
		e.SyrkTo(c, 1, a, false, 0)
		return nil
	}
}

func prepareTallSyrk(e *linalg.Engine, rng *rand.Rand, n, m int) (func(), func(context.Context) error) {
	a, c := normal(rng, n, m), linalg.NewMatrix(m, m)
	return nothing, func(context.Context) error {
		e.SyrkTo(c, 1, a, true, 0)
		return nil
	}
}

// definite returns a symmetric positive definite matrix: its diagonal dominates.
func definite(rng *rand.Rand, n int) linalg.Matrix {
	a := normal(rng, n, n)
	a.Mirror()
	for i := range n {
		a.Set(i, i, float64(n))
	}
	return a
}

func prepareCholesky(e *linalg.Engine, rng *rand.Rand, n, _ int) (func(), func(context.Context) error) {
	a := definite(rng, n)
	l := a.Clone()
	return func() { l.CopyFrom(a) }, func(context.Context) error {
		_, err := e.NewCholesky(l)
		return err
	}
}

func prepareInverse(e *linalg.Engine, rng *rand.Rand, n, _ int) (func(), func(context.Context) error) {
	a := definite(rng, n)
	l := a.Clone()
	var chol *linalg.Cholesky
	var failure error
	reset := func() {
		l.CopyFrom(a)
		chol, failure = e.NewCholesky(l)
	}
	return reset, func(context.Context) error {
		if failure == nil {
			chol.InverseTo(l)
		}
		return failure
	}
}

func prepareTrsm(e *linalg.Engine, rng *rand.Rand, n, m int) (func(), func(context.Context) error) {
	l, b := definite(rng, n), normal(rng, m, n)
	x := b.Clone()
	return func() { x.CopyFrom(b) }, func(context.Context) error {
		e.SolveRight(x, l, true)
		return nil
	}
}

func prepareQR(e *linalg.Engine, rng *rand.Rand, n, m int) (func(), func(context.Context) error) {
	a := normal(rng, n, m)
	w := a.Clone()
	return func() { w.CopyFrom(a) }, func(context.Context) error {
		e.ThinQR(w)
		return nil
	}
}
