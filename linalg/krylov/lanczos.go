package krylov

import (
	"context"
	"math"
	"time"

	"bbgp.dev/linalg"
)

// LanczosOptions holds the settings of a Lanczos process.
type LanczosOptions struct {
	// Wide stores the basis in float64; the default is float32.
	Wide bool
	// MaxCols bounds the columns that are stored, 0 not at all, a negative value to
	// none. Blocks that find no room are orthogonalised against the stored ones
	// and the two before them only, and MulBasisTo makes them a second time.
	MaxCols int
}

// LanczosTimes are the seconds that a process has spent.
type LanczosTimes struct{ Product, Precond, Orth float64 }

// A Lanczos is a block Lanczos process for A = F^-1 Khat F^-T with full
// re-orthogonalisation (Golub and Underwood 1977):
//
//	W0 = T_1 R0,   A T_j = T_j-1 B_j-1' + T_j A_j + T_j+1 B_j
//
// T has orthonormal columns, n×k, H = T'A T is block tridiagonal. Blocks get
// smaller where directions run out; once a block is empty, T spans an invariant
// subspace that holds W0, and everything read off H is exact.
//
// It holds 4 n×p float64 blocks and the basis, 4nk bytes (8nk if Wide); 3 blocks
// more once MaxCols is reached. Over ranks, each holds its own rows of all of them
// (Engine.OwnRows), and two blocks whole where products are not by rows (pass.go).
type Lanczos struct {
	H     *BlockTri
	Times LanczosTimes

	e    *linalg.Engine
	opt  LanczosOptions
	n, p int
	op   linalg.SymOp
	f    linalg.Preconditioner

	lo, rows int // of each block on this rank: lo..lo+rows-1 of n
	t        krylovBasis
	orth     *orthWork

	bufs      [4][]float64
	whole     [2][]float64  // see pass.go
	cur, prev linalg.Matrix // T_j, T_j-1
	r1, r2    []float64     // p×p
	diag      []float64
	norm      float64 // of A, so far

	spill    spill
	replayed int
	saved    saved
	again    *again // nil, but while steps of an earlier run are made from what it kept
}

// A spill is where the process stopped to store its basis: enough to go on from
// there once more.
type spill struct {
	on        bool
	blocks    int // of H at that moment
	cur, prev linalg.Matrix
	norm      float64
}

// NewLanczos returns a process for n×n operators and start blocks of p columns.
// It can be started many times and reuses its memory.
func NewLanczos(e *linalg.Engine, n, p int, opt LanczosOptions) *Lanczos {
	if n < 1 || p < 1 {
		panic("krylov: NewLanczos: n and p must be positive")
	}
	e.Check()
	l := &Lanczos{e: e, opt: opt, n: n, p: p, orth: newOrthWork(e, p, true), t: newBasis(e, n, opt.Wide)}
	lo, hi := e.OwnRows(n)
	l.lo, l.rows = lo, hi-lo
	for i := range l.bufs {
		l.bufs[i] = make([]float64, l.rows*p)
	}
	l.r1, l.r2, l.diag = make([]float64, p*p), make([]float64, p*p), make([]float64, p*p)
	return l
}

// Start begins a process with the start block w0, n×p, which is not changed; over ranks, with the rows of each.
func (l *Lanczos) Start(op linalg.SymOp, f linalg.Preconditioner, w0 linalg.Matrix) {
	if f == nil {
		f = linalg.Identity(l.n)
	}
	if op.Dim() != l.n || f.Dim() != l.n || w0.Rows != l.rows || w0.Cols != l.p {
		panic("krylov: Lanczos.Start: shapes differ")
	}
	l.op, l.f, l.norm, l.Times = op, f, 0, LanczosTimes{}
	l.spill, l.replayed, l.saved, l.again = spill{}, 0, saved{}, nil
	l.t.Reset()
	l.prev = linalg.Matrix{Rows: l.rows}
	w := view(l.bufs[0], l.rows, l.p)
	w.CopyFrom(w0)
	q, r := view(l.bufs[1], l.rows, l.p), view(l.r1, l.p, l.p)
	rank := l.orth.run(q, r, w, l.n, 0)
	l.H = NewBlockTri(r.Sub(0, rank, 0, l.p))
	l.accept(q, rank, 1)
}

// accept makes the first rank columns of q, in buffer number at, the current
// block, compact in its own buffer, and stores them.
func (l *Lanczos) accept(q linalg.Matrix, rank, at int) {
	buf := l.bufs[at]
	for i := range l.rows {
		copy(buf[i*rank:(i+1)*rank], q.Data[i*q.Stride:i*q.Stride+rank])
	}
	l.cur = view(buf, l.rows, rank)
	if l.H.Blocks()%basisCols == 0 {
		l.H.reserve(basisCols*l.p, l.p)
	}
	room := l.opt.MaxCols == 0 || l.t.Cols()+rank <= l.opt.MaxCols
	if room && !l.spill.on {
		l.t.Append(l.cur)
	} else {
		l.t.Round(l.cur)
		if !l.spill.on {
			l.spill = spill{true, l.H.Blocks(), l.cur.Clone(), l.prev.Clone(), l.norm}
		}
	}
	// Buffers in the order current, previous, free, free.
	l.bufs[0], l.bufs[at] = l.bufs[at], l.bufs[0]
}

// GoOn counts Times and what SaveTo writes as after Start, for passes that are made on behalf of something else.
func (l *Lanczos) GoOn() { l.Times, l.saved = LanczosTimes{}, saved{} }

// Spilt says that the basis did not fit: after MulBasisTo the process cannot go on.
func (l *Lanczos) Spilt() bool { return l.spill.on }

// Exhausted reports that T spans an invariant subspace: there is no next block.
func (l *Lanczos) Exhausted() bool { return l.cur.Cols == 0 }

// Width returns the columns of the current block, which the next Step multiplies.
func (l *Lanczos) Width() int { return l.cur.Cols }

// Bytes returns the memory held by the basis and the blocks, on this rank.
func (l *Lanczos) Bytes() int64 {
	blocks := 4*l.rows*l.p + len(l.spill.cur.Data) + len(l.spill.prev.Data)
	return int64(blocks)*8 + l.t.Bytes() + l.WholeBytes()
}

// Replayed returns the passes that MulBasisTo has made again for lack of memory.
func (l *Lanczos) Replayed() int { return l.replayed }

// Step makes one pass: one product with Khat, one application of F^-1 and F^-T,
// and one more block in H. It is an error to call it when Exhausted.
func (l *Lanczos) Step(ctx context.Context) error {
	if l.Exhausted() {
		panic("krylov: Lanczos.Step: the space is exhausted")
	}
	if l.again != nil {
		l.stepAgain()
		return ctx.Err()
	}
	p := l.cur.Cols
	z, w := view(l.bufs[2], l.rows, p), view(l.bufs[3], l.rows, p)
	if err := l.pass(ctx, w, z); err != nil {
		return err
	}
	start := time.Now()
	// The three-term recurrence in float64: H must not feel the float32 sums.
	a := view(l.diag, p, p)
	l.e.GramRowsTo(a, l.cur, w, l.n)
	for i := range p {
		for j := range i {
			v := (a.At(i, j) + a.At(j, i)) / 2
			a.Set(i, j, v)
			a.Set(j, i, v)
		}
	}
	l.e.MulSubTo(w, l.cur, a)
	if l.prev.Cols > 0 {
		l.e.MulSubTo(w, l.prev, l.transposed(l.H.Coupling()))
	}
	b, q, rank, inW := l.direction(w, z, a)
	l.H.Push(a, b)
	// The free buffer that q is in takes the new block; the old current one becomes previous.
	at := 2
	if inW { // buffer 3
		at = 3
	}
	l.prev = l.cur
	old := l.bufs[0]
	l.accept(q, rank, at)
	l.bufs[at], l.bufs[1] = l.bufs[1], old
	lap(start, &l.Times.Orth)
	return nil
}

func lap(start time.Time, sum *float64) time.Time {
	now := time.Now()
	*sum += now.Sub(start).Seconds()
	return now
}

func (l *Lanczos) transposed(b linalg.Matrix) linalg.Matrix {
	t := view(l.r1, b.Cols, b.Rows)
	for i := range b.Rows {
		for j, v := range b.Row(i) {
			t.Set(j, i, v)
		}
	}
	return t
}

// direction turns w, what the recurrence left, into the next block q and its
// coupling b: projections on everything before alternate with factorisations
// until no column of q loses more than half of itself (Kahan's "twice is
// enough", with as many turns as it takes). w and z are free buffers; q is one, and inW
// tells which.
func (l *Lanczos) direction(w, z, a linalg.Matrix) (b, q linalg.Matrix, rank int, inW bool) {
	const floor, turns = 1e-12, 6
	p := w.Cols
	l.norm = max(l.norm, maxNorm(a))
	b = view(l.r1, p, p)
	b.Zero()
	for i := range p {
		b.Set(i, i, 1)
	}
	cols := p
	inW = true
	for turn := range turns {
		l.project(w.Sub(0, l.rows, 0, cols))
		r := view(l.r2, cols, cols)
		least := floor * l.norm
		if turn > 0 {
			least = 0
		}
		rank = l.orth.run(z.Sub(0, l.rows, 0, cols), r, w.Sub(0, l.rows, 0, cols), l.n, least)
		w, z, inW = z, w, !inW
		kept := 1.0
		for i := range rank {
			kept = min(kept, math.Abs(r.At(i, i)))
		}
		l.chain(b, r, rank, cols)
		cols = rank
		if rank == 0 || turn > 0 && kept > 0.5 {
			break
		}
	}
	// A direction that the coupling does not use is rounding error made unit.
	rank = l.compress(b, w, rank, floor*l.norm)
	b = b.Sub(0, rank, 0, p)
	l.norm = max(l.norm, maxNorm(b))
	return b, w, rank, inW
}

// chain sets b = r b, where r is rank×cols.
func (l *Lanczos) chain(b, r linalg.Matrix, rank, cols int) {
	p := b.Cols
	t := view(l.orth.mix, rank, p)
	t.Zero()
	addMul(t, 0, r.Sub(0, rank, 0, cols), b, 0, 1)
	b.Zero()
	b.Sub(0, rank, 0, p).CopyFrom(t)
}

// compress drops the columns of q whose row of b is below least.
func (l *Lanczos) compress(b, q linalg.Matrix, rank int, least float64) int {
	kept := 0
	for j := range rank {
		s := 0.0
		for _, v := range b.Row(j) {
			s += float64(v * v)
		}
		if !(math.Sqrt(s) > least) {
			continue
		}
		if kept < j {
			copy(b.Row(kept), b.Row(j))
			for i := range l.rows {
				q.Data[i*q.Stride+kept] = q.Data[i*q.Stride+j]
			}
		}
		kept++
	}
	return kept
}

// project removes the basis from w, and the last two blocks where they are not
// in it.
func (l *Lanczos) project(w linalg.Matrix) {
	l.t.ProjectOut(w)
	if !l.spill.on {
		return
	}
	for _, t := range [2]linalg.Matrix{l.prev, l.cur} {
		if t.Cols > 0 {
			c := view(l.orth.mix, t.Cols, w.Cols)
			l.e.GramRowsTo(c, t, w, l.n)
			l.e.MulSubTo(w, t, c)
		}
	}
}

func maxNorm(m linalg.Matrix) float64 {
	big := 0.0
	for i := range m.Rows {
		s := 0.0
		for _, v := range m.Row(i) {
			s += math.Abs(v)
		}
		big = max(big, s)
	}
	return big
}
