// Package bench measures the pieces of bbgp against the limits of the machine.
package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"bbgp.dev/asm"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// A ProductSpec says what Product and Gradient measure.
type ProductSpec struct {
	N, D      int
	P         int // columns of V; for a gradient the columns R of u
	Kernel    kernelmv.Family
	Precision kernelmv.Precision
	Impl      *asm.Impl     // nil: asm.Default
	Threads   int           // 0: GOMAXPROCS
	Skip      bool          // allow the O(n) form and the skipping of far tiles
	Time      time.Duration // about how long to measure; 0: a second
}

// A ProductReport is the result of a measurement: see ProductSpec.measure.
type ProductReport struct {
	N          int     `json:"n"`
	D          int     `json:"d"`
	P          int     `json:"p"`
	Kernel     string  `json:"kernel"`
	Precision  string  `json:"precision"`
	Threads    int     `json:"threads"`
	ISA        string  `json:"isa"`
	Seconds    float64 `json:"seconds"`     // wall time of one product
	CPUSeconds float64 `json:"cpu_seconds"` // of one product, all threads
	PairsPerS  float64 `json:"pairs_per_s"` // n² / seconds
	CyclesPair float64 `json:"cycles_per_pair"`
	FMAShare   float64 `json:"fma_share"`
	PeakGFlops float64 `json:"peak_gflops"` // of all threads
	FMAPerPair float64 `json:"-"`
	PortCycles float64 `json:"-"` // see portCycles; products only
	Products   int     `json:"-"`
}

// Product measures Y = K V for n standard normal points with D inputs.
//
// FMAShare is the FMA-port bound over the CPU time. The bound counts, for an
// ordered pair of points, (D + 8 + 2p)/2 multiply-adds (the kernel is evaluated
// once per unordered pair, with 8 for the covariance function), at the peak
// rate of the same cores, measured between the parts of the same products.
// CyclesPair takes a cycle to be the time of two vector multiply-adds at that
// peak. A processor without an adder of its own does the D subtractions on the
// same ports, which the bound leaves out.
func Product(ctx context.Context, s ProductSpec) (*ProductReport, error) {
	op, e, rng, err := s.operator()
	if err != nil {
		return nil, err
	}
	v, y := normal(rng, s.N, s.P), linalg.NewMatrix(s.N, s.P)
	mul := op.With(s.Precision)
	fma := (float64(s.D) + 8 + 2*float64(s.P)) / 2
	r, err := s.measure(e, fma, func() error { return mul.MulTo(ctx, y, v) })
	if err == nil {
		r.PortCycles = portCycles(e.Impl.Name, s.Precision, s.Kernel, s.D, s.P)
	}
	return r, err
}

// portCycles is what an Intel core with two ports for vector arithmetic needs
// for the instructions of an ordered pair of points, in cycles, if nothing else
// holds it up; 0 for implementations that are not made for it. For a vector of
// unordered pairs these are 2 D + 1 of the distance and its clamp, 2 p of the two
// accumulations and those of the covariance function, a root counting 1, or 3
// with AVX-512.
func portCycles(isa string, prec kernelmv.Precision, f kernelmv.Family, d, p int) float64 {
	bytes, root, reduce := 0, 0, 0
	switch isa {
	case "avx2":
		bytes, root, reduce = 32, 1, 2
	case "avx512":
		bytes, root, reduce = 64, 3, 1
	default:
		return 0
	}
	lanes, degree := bytes/4, 6
	if prec == kernelmv.F64 {
		lanes, degree = bytes/8, 10
	}
	cov := 3 + reduce + degree // round, fraction, polynomial, exponent
	switch f {
	case kernelmv.Matern32:
		cov += 2
	case kernelmv.Matern52:
		cov += 3
	}
	if f != kernelmv.Gaussian {
		cov += root
	}
	if p > 2 {
		p = (p + asm.ColUnit - 1) / asm.ColUnit * asm.ColUnit
	}
	return float64(2*d+1+cov+2*p) / float64(2*2*lanes)
}

// Gradient measures the gradient pass for M of rank P. Its bound counts
// (2D + 9 + R)/2 multiply-adds for an ordered pair.
func Gradient(ctx context.Context, s ProductSpec) (*ProductReport, error) {
	op, e, rng, err := s.operator()
	if err != nil {
		return nil, err
	}
	op.SetGradPrecision(s.Precision)
	u, g, dst := normal(rng, s.N, s.P), make([]float64, s.P), make([]float64, s.D)
	for i := range g {
		g[i] = 1
	}
	fma := (2*float64(s.D) + 9 + float64(s.P)) / 2
	return s.measure(e, fma, func() error { return op.GradTo(ctx, dst, u, g) })
}

func (s *ProductSpec) operator() (*kernelmv.Op, *linalg.Engine, *rand.Rand, error) {
	if s.N < 1 || s.D < 1 || s.P < 1 {
		return nil, nil, nil, fmt.Errorf("n = %d, d = %d, p = %d: each must be at least 1", s.N, s.D, s.P)
	}
	e, err := linalg.NewEngine(s.Impl, s.Threads)
	if err != nil {
		return nil, nil, nil, err
	}
	rng := rand.New(rand.NewPCG(1, uint64(s.N)))
	k := kernelmv.Kernel{Family: s.Kernel, Variance: 1, Lengthscales: make([]float64, s.D)}
	for d := range k.Lengthscales {
		k.Lengthscales[d] = 3
	}
	op, err := kernelmv.NewOp(e, normal(rng, s.N, s.D), k, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	op.SetTilesOnly(!s.Skip)
	return op, e, rng, nil
}

func normal(rng *rand.Rand, r, c int) linalg.Matrix {
	m := linalg.NewMatrix(r, c)
	for i := range m.Data {
		m.Data[i] = rng.NormFloat64()
	}
	return m
}

// measure runs body again and again. The peak is that of the time of a run, seen
// in slices between the parts of its work: see meter. Shares and cycles are the
// middle ones of the runs, times the best.
func (s *ProductSpec) measure(e *linalg.Engine, fmaPerPair float64, body func() error) (*ProductReport, error) {
	if err := body(); err != nil { // packs, and allocates
		return nil, err
	}
	limit := s.Time
	if limit == 0 {
		limit = time.Second
	}
	m := newMeter(e, s.Precision)
	r := &ProductReport{
		N: s.N, D: s.D, P: s.P, Kernel: s.Kernel.String(), Precision: s.Precision.String(),
		Threads: e.Par.Threads(), ISA: e.Impl.Name, FMAPerPair: fmaPerPair,
		Seconds: math.Inf(1), CPUSeconds: math.Inf(1),
	}
	var room []float64 // operations that the cores could have done in a run
	for start := time.Now(); r.Products < 3 || time.Since(start) < limit; r.Products++ {
		run, err := m.run(body)
		if err != nil {
			return nil, err
		}
		r.CPUSeconds, r.Seconds = min(r.CPUSeconds, run.cpu), min(r.Seconds, run.wall)
		r.PeakGFlops = max(r.PeakGFlops, run.peak*float64(r.Threads)/1e9)
		room = append(room, run.cpu*run.peak)
	}
	pairs, flops := float64(s.N)*float64(s.N), Median(room)
	r.PairsPerS = pairs / r.Seconds
	r.FMAShare = 2 * fmaPerPair * pairs / flops
	r.CyclesPair = flops / m.flopsPerCycle / pairs
	return r, nil
}
