// Package bench measures the pieces of bbgp against the limits of the machine.
package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

// A ProductReport is the result of a measurement: the best times, and the
// middle share.
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
	FMAPerPair float64 `json:"fma_per_pair"`
	Products   int     `json:"products"`
}

// Product measures Y = K V for n standard normal points with D inputs.
//
// FMAShare is the FMA-port bound over the CPU time. The bound counts, for an
// ordered pair of points, (D + 8 + 2p)/2 multiply-adds (the kernel is evaluated
// once per unordered pair, with 8 for the covariance function), at the peak
// rate of the same cores, measured between the products of the same run.
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
	return s.measure(e, fma, func() error { return mul.MulTo(ctx, y, v) })
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

// measure runs body and the peak routine in turns. A share is taken within one
// turn, against the peak just before and just after, and the middle one of all
// turns is reported: what else runs on the machine slows both alike.
func (s *ProductSpec) measure(e *linalg.Engine, fmaPerPair float64, body func() error) (*ProductReport, error) {
	if err := body(); err != nil { // packs, and allocates
		return nil, err
	}
	limit := s.Time
	if limit == 0 {
		limit = time.Second
	}
	meter := newPeak(e, s.Precision)
	r := &ProductReport{
		N: s.N, D: s.D, P: s.P, Kernel: s.Kernel.String(), Precision: s.Precision.String(),
		Threads: e.Par.Threads(), ISA: e.Impl.Name, FMAPerPair: fmaPerPair,
		Seconds: math.Inf(1), CPUSeconds: math.Inf(1),
	}
	var flops []float64 // that the peak routine would do in the time of body
	before := meter.run()
	for start := time.Now(); r.Products < 3 || time.Since(start) < limit; r.Products++ {
		w0, c0 := time.Now(), cpuSeconds()
		if err := body(); err != nil {
			return nil, err
		}
		wall, cpu := time.Since(w0).Seconds(), cpuSeconds()-c0
		r.Seconds, r.CPUSeconds = min(r.Seconds, wall), min(r.CPUSeconds, cpu)
		after := meter.run()
		flops = append(flops, cpu*(before.flops+after.flops)/(before.cpu+after.cpu))
		r.PeakGFlops = max(r.PeakGFlops, after.flops/after.wall/1e9)
		before = after
	}
	slices.Sort(flops)
	pairs, middle := float64(s.N)*float64(s.N), flops[len(flops)/2]
	r.PairsPerS = pairs / r.Seconds
	r.FMAShare = 2 * fmaPerPair * pairs / middle
	r.CyclesPair = middle / meter.flopsPerCycle / pairs
	return r, nil
}

// A peak measures the rate of fused multiply-adds on all threads.
type peak struct {
	e             *linalg.Engine
	call          func(n int) float64
	flopsPerCycle float64
	done          []float64
	body          func(worker, i int)
}

const (
	peakRounds = 2000 // a call of some 10 µs
	peakCalls  = 1000 // calls of a thread in one measurement: some 10 ms
)

func newPeak(e *linalg.Engine, prec kernelmv.Precision) *peak {
	p := &peak{e: e, done: make([]float64, e.Par.Threads())}
	p.call = e.Impl.F32.Peak
	if prec == kernelmv.F64 {
		p.call = e.Impl.F64.Peak
	}
	// Two multiply-adds of a vector a cycle; a round of Peak is 12 of them.
	p.flopsPerCycle = p.call(1) / 6
	p.body = func(_, i int) {
		for range peakCalls {
			p.done[i] += p.call(peakRounds)
		}
	}
	return p
}

// A rate is a number of operations with the wall and CPU seconds they took.
type rate struct{ flops, wall, cpu float64 }

// run measures once.
func (p *peak) run() (r rate) {
	clear(p.done)
	w0, c0 := time.Now(), cpuSeconds()
	p.e.Par.For(len(p.done), p.body)
	r.wall, r.cpu = time.Since(w0).Seconds(), cpuSeconds()-c0
	for _, f := range p.done {
		r.flops += f
	}
	return r
}
