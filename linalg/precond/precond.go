package precond

import (
	"context"
	"math"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// The preconditioner P = L L' + (W'W)^-1 of K + diag(noise).
//
// L is a partial Cholesky factor of K (PivotedCholesky), W the Vecchia factor of
// what it leaves, K - L L' + diag(noise); without that part, W is
// diag(noise)^-1/2. With the thin QR W L = Q R and the Cholesky factor
// C C' = I + R R',
//
//	W P W' = I + Q R R' Q' = I + Q (C C' - I) Q' = (I + Q (C - I) Q') (I + Q (C - I) Q')',
//
// so that, Q being orthonormal,
//
//	P = F F',   F^-1 = (I + Q (C^-1 - I) Q') W,   log det P = log det (W'W)^-1 + 2 log det C,
//	P^-1 = W' (I + Q (C^-T C^-1 - I) Q') W.
//
// No eigenvalues, and no difference of large numbers: R may be as large as
// (K_ii / noise)^1/2 without harm.

// Options says which parts P has.
type Options struct {
	Rank       int    // most columns of L; 0 for none
	Neighbours int    // nn of the Vecchia part; 0 for none
	Greedy     bool   // pivots as in PivotOptions
	Seed       uint64 // of the pivots and of the ordering
	TraceTol   float64
	// Latents, if not 0, makes P of about so many of the rows and nothing else (latent.go); K is a linalg.Placed then.
	Latents int
	More    func(rank int, trace float64) bool // as in PivotOptions
	// Decide, if not nil, sees the trace of the residual after the low-rank part
	// and its rank, and returns how many columns of L and how many neighbours P
	// takes, in place of Neighbours.
	Decide func(rank int, trace float64) (columns, neighbours int)
}

// A Precond is P = F F'. F maps R^n with an ordering of its own (that of W) to
// R^n. One product at a time.
type Precond struct {
	e       *linalg.Engine
	n, rank int
	lo, hi  int       // rows that this rank has of blocks
	latent  *latent   // P, where it is of that form, which has nothing else
	vecchia *Vecchia  // nil if there is no such part
	scale   []float64 // noise^-1/2 otherwise
	q       *tiled    // n×rank
	middle  *tiled    // (C^-1 - I)', rank×rank, both padded to cp
	logDet  float64
	trace   float64

	tall, small    []float64 // n×q and cp×q
	flat, one, two []float64 // cp×q
	cols, colsUsed int       // of the block that the work areas are padded for
}

// NewPrecond builds P for K = k and the given noise, n m² + n·nn³/3 multiply-adds
// and more (PivotedCholesky, NewVecchia). Memory while it is built: 2 n m numbers
// beside the Vecchia part, divided by the ranks. It returns ctx.Err() if ctx ends first, and a
// *NotPDError if a noise is not positive where there is no Vecchia part, or
// from NewVecchia.
func New(ctx context.Context, e *linalg.Engine, k linalg.ColOp, noise []float64, opt Options) (*Precond, error) {
	n := k.Dim()
	if len(noise) != n {
		panic("precond: NewPrecond: shapes do not fit")
	}
	e.Check()
	p := emptyPrecond(e, n)
	if opt.Latents > 0 {
		var err error
		if p.latent, err = newLatent(ctx, e, k.(linalg.Placed), noise, min(opt.Latents, n), opt.Seed); err != nil {
			return nil, err
		}
		p.logDet = p.latent.logDet
		return p, nil
	}
	l, _, trace, err := pivotedRows(ctx, e, k, PivotOptions{
		MaxRank: opt.Rank, TraceTol: opt.TraceTol, More: opt.More, Greedy: opt.Greedy, Seed: opt.Seed,
	})
	if err != nil {
		return nil, err
	}
	if opt.Decide != nil {
		columns, near := opt.Decide(l.Cols, trace)
		lost := []float64{trace}
		e.InTurn(lost, func() {
			for i := range l.Rows {
				for _, v := range l.Row(i)[columns:] {
					lost[0] += v * v
				}
			}
		})
		trace = lost[0]
		few := 2*columns <= l.Cols
		l = l.Sub(0, l.Rows, 0, columns)
		if few {
			l = l.Clone() // so that all of the columns are not held
		}
		opt.Neighbours = near
	}
	p.trace, p.rank = trace, l.Cols
	if err := p.buildW(ctx, k, l, noise, opt); err != nil {
		return nil, err
	}
	if p.rank > 0 {
		if err := p.buildQ(l); err != nil {
			return nil, err
		}
	}
	return p, ctx.Err()
}

// emptyPrecond returns a Precond of no parts.
func emptyPrecond(e *linalg.Engine, n int) *Precond {
	p := &Precond{e: e, n: n}
	p.lo, p.hi = e.OwnRows(n)
	return p
}

func (p *Precond) buildW(ctx context.Context, k linalg.ColOp, l linalg.Matrix, noise []float64,
	opt Options) (err error) {
	switch {
	case opt.Neighbours > 0:
		var near *Neighbours
		lo, hi := p.e.OwnRows(p.n)
		if near, err = findNeighbours(ctx, k, opt.Neighbours, opt.Seed, lo, hi); err == nil {
			p.vecchia, err = ownVecchia(ctx, p.e, k, l, noise, near)
		}
	default:
		p.scale = make([]float64, p.n)
		for i, v := range noise {
			if !(v > 0) || math.IsInf(v, 1) {
				return &linalg.NotPDError{Pivot: i, Value: v}
			}
			p.scale[i] = 1 / math.Sqrt(v)
			p.logDet += math.Log(v)
		}
		return nil
	}
	if err != nil {
		return err
	}
	p.logDet = p.vecchia.LogDet()
	return nil
}

// preLoss: log det P is off by no more than rank ‖C‖ ‖Q'Q - I‖, C as large as W L. That
// bound is pessimistic: where it says 1e-7, one round leaves 1e-9 (elevators, pol, bike).
const preLoss = 1e-6

// buildQ overwrites l, this rank's rows of L, with those of W L = Q R, keeps Q and C^-1 - I.
func (p *Precond) buildQ(l linalg.Matrix) error {
	m := p.rank
	p.whiten(l)
	r, _ := p.e.ThinQRRows(l, p.n, preLoss)
	c := linalg.NewMatrix(m, m)
	p.e.GemmTo(c, 1, r, false, r, true, 0)
	for i := range m {
		c.Data[i*m+i]++
	}
	chol, err := p.e.NewCholesky(c)
	if err != nil {
		return err // NaN in K or the noise
	}
	p.logDet += chol.LogDet()
	p.q = newTiled(p.e, p.n, m, true)
	p.q.set(l)
	p.e.InvertLower(c)
	p.middle = newTiled(p.e, p.q.cp, p.q.cp, false)
	for i := range m {
		c.Data[i*m+i]--
		for j := range i + 1 { // transposed: row j of (C^-1 - I)' is column j
			p.middle.data[(i/tileCols*p.middle.rp+j)*tileCols+i%tileCols] = c.At(i, j)
		}
	}
	return nil
}

// whiten overwrites l, this rank's rows of L, with those of W L.
func (p *Precond) whiten(l linalg.Matrix) {
	if p.vecchia == nil {
		lo, _ := p.e.OwnRows(p.n)
		p.e.Par.ForRows(l.Rows, func(i int) {
			row := l.Row(i)
			for j := range row {
				row[j] *= p.scale[lo+i]
			}
		})
		return
	}
	// Few columns at a time, so that what W picks rows from stays near the processor.
	most := min(l.Cols, 2*asm.SparseCols)
	work := linalg.NewMatrix(l.Rows, most)
	for j := 0; j < l.Cols; j += most {
		part := l.Sub(0, l.Rows, j, min(j+most, l.Cols))
		out := work.Sub(0, l.Rows, 0, part.Cols)
		p.vecchia.rowsTo(out, part, true)
		part.CopyFrom(out)
	}
	p.vecchia.apply.block = nil // blocks to come have fewer columns
}

// Dim returns n.
func (p *Precond) Dim() int { return p.n }

// LogDet returns log det P.
func (p *Precond) LogDet() float64 { return p.logDet }

// Rank returns m, the number of columns of L.
func (p *Precond) Rank() int { return p.rank }

// Neighbours returns nn of the Vecchia part, 0 without one.
func (p *Precond) Neighbours() int {
	if p.vecchia == nil {
		return 0
	}
	return p.vecchia.NeighbourCount()
}

// Latents returns the number of latents, 0 where P has another form.
func (p *Precond) Latents() int {
	if p.latent == nil {
		return 0
	}
	return p.latent.m
}

// ResidualTrace returns tr(K - L L').
func (p *Precond) ResidualTrace() float64 { return p.trace }

// NodeIsOne says whether K + diag(noise) >= P for certain, so that no eigenvalue
// of F^-1 (K + diag(noise)) F^-T is below 1: so it is for low rank alone.
func (p *Precond) NodeIsOne() bool { return p.vecchia == nil && p.latent == nil }

// Bytes returns the memory that P holds on this rank, work areas included.
func (p *Precond) Bytes() int64 {
	b := int64(8 * (len(p.scale) + len(p.tall) + len(p.small) + len(p.flat) + len(p.one) + len(p.two)))
	if p.q != nil {
		b += int64(8 * (len(p.q.data) + len(p.middle.data)))
	}
	if p.vecchia != nil {
		b += p.vecchia.Bytes()
	}
	if p.latent != nil {
		b += p.latent.bytes()
	}
	return b
}
