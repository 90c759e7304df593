package krylov

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"bbgp.dev/linalg"
)

// What a process has reached, in numbers of 8 bytes, little-endian, but for the columns of the basis:
//
//	n, p, bytes of a stored number, blocks of H and columns of the basis behind this part
//	for each new block of H: rows of B_j, A_j, B_j
//	for each few new columns: their scales, their rows as stored
//	norm, 1 if blocks are no longer stored; if so: blocks of H and norm when that began, and four blocks
//
// Parts follow each other. Blocks of H are few and small; the columns are the memory of the basis.

// savedCols of the basis are brought together at a time.
const savedCols = 8

// errSaved is of a file whose contents cannot be what SaveTo has written of such a process.
var errSaved = errors.New("krylov: what is kept is not of this process")

// A saved is what has been written of a process.
type saved struct{ blocks, cols int }

// An again is a process that makes the steps of an earlier one from what is kept.
type again struct {
	h         *BlockTri // with all blocks
	steps     int       // that are to be made, all but these are made
	cur, prev linalg.Matrix
	norm      float64
	spill     spill
}

// SaveTo writes what the process has reached since the last SaveTo, if there was one after Start. All ranks call it
// and write the same. It does not see errors of w. A process that Repeats, or is Exhausted, has nothing to be saved.
func (l *Lanczos) SaveTo(w io.Writer) {
	out := bufio.NewWriterSize(w, 1<<20)
	number := func(v ...float64) {
		for _, x := range v {
			out.Write(binary.LittleEndian.AppendUint64(out.AvailableBuffer(), math.Float64bits(x)))
		}
	}
	block := func(m linalg.Matrix) {
		number(float64(m.Cols))
		for i := range m.Rows {
			number(m.Row(i)...)
		}
	}
	blocks, cols := l.H.Blocks(), l.t.Cols()
	number(float64(l.n), float64(l.p), float64(l.t.Bits()), float64(blocks), float64(cols))
	for j := l.saved.blocks; j < blocks; j++ {
		number(float64(l.H.b[j].Rows))
		block(l.H.a[j])
		block(l.H.b[j])
	}
	for j := l.saved.cols; j < cols; j += savedCols {
		l.t.SaveTo(out, j, min(j+savedCols, cols))
	}
	on := 0.0
	if l.spill.on {
		on = 1
	}
	number(l.norm, on)
	if l.spill.on {
		number(float64(l.spill.blocks), l.spill.norm)
		for _, m := range []linalg.Matrix{l.spill.cur, l.spill.prev, l.cur, l.prev} {
			block(l.e.AllRows(m, l.n))
		}
	}
	out.Flush()
	l.saved = saved{blocks, cols}
}

// ResumeFrom makes the Steps that follow a Start give again what those before a SaveTo gave, the Start being of the
// same operator, preconditioner and block: until these are used up, none takes a product. It fails where r is not
// that; Start is to be called again then.
func (l *Lanczos) ResumeFrom(r io.Reader) error {
	in := &reader{in: bufio.NewReaderSize(r, 1<<20), most: l.p}
	a := &again{h: NewBlockTri(l.H.R0)}
	l.t.Reset()
	width := l.cur.Cols
	for {
		if _, err := in.in.Peek(1); err == io.EOF {
			break
		}
		width = l.resumePart(in, a, width)
		if in.err != nil {
			return in.err
		}
	}
	if a.h.Blocks() == 0 || !a.spill.on && l.t.Cols() != a.h.Dim()+width {
		return errSaved
	}
	if !a.spill.on {
		a.cur = linalg.NewMatrix(l.rows, width)
		l.t.ColsTo(a.cur, l.t.Cols()-width)
		last := a.h.Diag(a.h.Blocks() - 1).Rows
		a.prev = linalg.NewMatrix(l.rows, last)
		l.t.ColsTo(a.prev, l.t.Cols()-width-last)
	}
	if a.cur.Cols != width {
		return errSaved
	}
	l.again, l.saved = a, saved{a.h.Blocks(), l.t.Cols()}
	return nil
}

// resumePart reads one part; width is that of the block that follows those of h, before and after.
func (l *Lanczos) resumePart(in *reader, a *again, width int) int {
	ok := in.number() == float64(l.n) && in.number() == float64(l.p) && in.number() == float64(l.t.Bits())
	blocks, cols := in.count(l.n), in.count(l.n)
	if !ok || blocks < a.h.Blocks() || cols < l.t.Cols() {
		in.fail()
	}
	for in.err == nil && a.h.Blocks() < blocks {
		rows := in.count(width)
		diag, next := in.block(width), in.block(rows)
		if diag.Cols != width || next.Cols != width {
			in.fail()
			return width
		}
		a.h.Push(diag, next)
		width = rows
	}
	for in.err == nil && l.t.Cols() < cols {
		in.keep(l.t.ResumeFrom(in.in, min(savedCols, cols-l.t.Cols())))
	}
	a.norm = in.number()
	if a.spill.on = in.number() == 1; a.spill.on && in.err == nil {
		a.spill.blocks, a.spill.norm = in.count(blocks), in.number()
		for _, m := range []*linalg.Matrix{&a.spill.cur, &a.spill.prev, &a.cur, &a.prev} {
			all := in.block(l.n)
			*m = all.Sub(l.lo, l.lo+l.rows, 0, all.Cols).Clone()
		}
	}
	return width
}

// Repeats says whether the next Step is one of an earlier run: until then there is nothing new to be saved.
func (l *Lanczos) Repeats() bool { return l.again != nil }

// stepAgain is Step where an earlier run has made it.
func (l *Lanczos) stepAgain() {
	a := l.again
	l.H.Push(a.h.a[a.steps], a.h.b[a.steps])
	l.cur = linalg.Matrix{Rows: l.rows, Cols: l.H.Coupling().Rows} // nobody asks for its entries
	if a.steps++; a.steps < a.h.Blocks() {
		return
	}
	l.restore(0, a.cur, &l.cur)
	l.restore(1, a.prev, &l.prev)
	l.norm, l.spill, l.again = a.norm, a.spill, nil
}

// A reader reads numbers until one is missing.
type reader struct {
	in   *bufio.Reader
	most int // columns of a block
	err  error
}

func (r *reader) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) fail() { r.keep(errSaved) }

func (r *reader) number() float64 {
	var b [8]byte
	if r.err == nil {
		_, err := io.ReadFull(r.in, b[:])
		r.keep(err)
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b[:]))
}

// count reads a whole number up to most.
func (r *reader) count(most int) int {
	v := r.number()
	if !(v >= 0 && v <= float64(most)) || v != math.Floor(v) {
		r.fail()
		return 0
	}
	return int(v)
}

// block reads a matrix of so many rows.
func (r *reader) block(rows int) linalg.Matrix {
	m := linalg.NewMatrix(rows, r.count(r.most))
	for i := range m.Data {
		m.Data[i] = r.number()
	}
	return m
}

// Bits is 32 or 64, of a stored number.
func (b *basis[F]) Bits() int {
	var z F
	if any(z) == any(float32(0)) {
		return 32
	}
	return 64
}

// rawTo sets dst to this rank's rows of stored columns from j on.
func (b *basis[F]) rawTo(dst linalg.Matrix, j int) {
	for i := range b.own {
		for c := range dst.Row(i) {
			dst.Set(i, c, float64(b.chunks[(j+c)/basisCols][i*basisCols+(j+c)%basisCols]))
		}
	}
}

// ColsTo sets dst to this rank's rows of the columns of T from j on.
func (b *basis[F]) ColsTo(dst linalg.Matrix, j int) {
	b.rawTo(dst, j)
	for i := range dst.Rows {
		for c := range dst.Row(i) {
			dst.Data[i*dst.Stride+c] *= b.scale[j+c]
		}
	}
}

// SaveTo writes columns j0..j1-1.
func (b *basis[F]) SaveTo(w *bufio.Writer, j0, j1 int) {
	for _, s := range b.scale[j0:j1] {
		w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), math.Float64bits(s)))
	}
	m := linalg.NewMatrix(b.n, j1-j0)
	b.rawTo(m.Sub(b.lo, b.lo+b.own, 0, m.Cols), j0)
	b.e.CompleteRows(m, linalg.Groups(b.n), linalg.GroupRows(b.n))
	for _, v := range m.Data {
		if b.Bits() == 32 {
			w.Write(binary.LittleEndian.AppendUint32(w.AvailableBuffer(), math.Float32bits(float32(v))))
		} else {
			w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), math.Float64bits(v)))
		}
	}
}

// ResumeFrom appends c columns that SaveTo has written.
func (b *basis[F]) ResumeFrom(r *bufio.Reader, c int) error {
	b.Reserve(c)
	scale := make([]float64, c)
	if err := binary.Read(r, binary.LittleEndian, scale); err != nil {
		return err
	}
	for j := range c {
		if (b.k+j)%basisCols == 0 {
			clear(b.chunks[(b.k+j)/basisCols])
		}
	}
	row := make([]F, c)
	for i := range b.n {
		if err := binary.Read(r, binary.LittleEndian, row); err != nil {
			return err
		}
		if i < b.lo || i >= b.lo+b.own {
			continue
		}
		for j, v := range row {
			b.chunks[(b.k+j)/basisCols][(i-b.lo)*basisCols+(b.k+j)%basisCols] = v
		}
	}
	b.scale = append(b.scale[:b.k], scale...)
	b.k += c
	return nil
}
