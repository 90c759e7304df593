package linalg

import "math"

// A Matrix is a view of a row-major matrix: element (i, j) is Data[i*Stride+j].
type Matrix struct {
	Rows, Cols, Stride int
	Data               []float64
}

// NewMatrix returns a zero matrix with r rows and c columns.
func NewMatrix(r, c int) Matrix {
	if r < 0 || c < 0 || c > 0 && r > math.MaxInt/8/c {
		panic("linalg: NewMatrix: negative size, or one that no memory holds")
	}
	return Matrix{Rows: r, Cols: c, Stride: c, Data: make([]float64, r*c)}
}

// MatrixOf copies a matrix that is known by its elements, such as a gonum mat.Matrix; nil
// stands for one without any.
func MatrixOf(m interface {
	Dims() (rows, cols int)
	At(i, j int) float64
}) Matrix {
	if m == nil {
		return Matrix{}
	}
	c := NewMatrix(m.Dims())
	for i := range c.Rows {
		for j := range c.Cols {
			c.Set(i, j, m.At(i, j))
		}
	}
	return c
}

// Check panics, with a constant text, where m is not what it says: its data too short, or
// its rows overlapping. Whatever takes matrices does so for theirs.
func (m Matrix) Check() {
	switch {
	case m.Rows < 0 || m.Cols < 0:
		panic("linalg: Matrix: negative size")
	case m.Rows == 0 || m.Cols == 0:
	case m.Rows > 1 && m.Stride < m.Cols:
		panic("linalg: Matrix: rows overlap")
	case m.Cols > len(m.Data) || m.Rows > 1 && m.Rows-1 > (len(m.Data)-m.Cols)/m.Stride:
		panic("linalg: Matrix: too few numbers")
	}
}

// check checks several.
func check(ms ...Matrix) {
	for _, m := range ms {
		m.Check()
	}
}

// At returns element (i, j).
func (m Matrix) At(i, j int) float64 { return m.Data[i*m.Stride+j] }

// Set sets element (i, j).
func (m Matrix) Set(i, j int, v float64) { m.Data[i*m.Stride+j] = v }

// Row returns row i, which shares the matrix's memory.
func (m Matrix) Row(i int) []float64 { return m.Data[i*m.Stride : i*m.Stride+m.Cols] }

// Sub returns the view of rows i0..i1-1 and columns j0..j1-1.
func (m Matrix) Sub(i0, i1, j0, j1 int) Matrix {
	m.Check()
	if i0 < 0 || i1 < i0 || i1 > m.Rows || j0 < 0 || j1 < j0 || j1 > m.Cols {
		panic("linalg: Sub: bad range")
	}
	v := Matrix{Rows: i1 - i0, Cols: j1 - j0}
	if v.Rows > 0 && v.Cols > 0 { // an empty view has stride 0, so that Row works on it
		v.Stride, v.Data = m.Stride, m.Data[i0*m.Stride+j0:(i1-1)*m.Stride+j1]
	}
	return v
}

// Zero sets every element to 0.
func (m Matrix) Zero() {
	for i := range m.Rows {
		clear(m.Row(i))
	}
}

// CopyFrom sets m = a; the shapes are equal.
func (m Matrix) CopyFrom(a Matrix) {
	check(m, a)
	if m.Rows != a.Rows || m.Cols != a.Cols {
		panic("linalg: CopyFrom: shapes differ")
	}
	for i := range m.Rows {
		copy(m.Row(i), a.Row(i))
	}
}

// Clone returns a copy of m in memory of its own.
func (m Matrix) Clone() Matrix {
	c := NewMatrix(m.Rows, m.Cols)
	c.CopyFrom(m)
	return c
}

// Column returns v as a matrix of one column, which shares its numbers.
func Column(v []float64) Matrix { return Matrix{Rows: len(v), Cols: 1, Stride: 1, Data: v} }

// ColumnDots returns Σ_i a_ij b_ij for every column j of a and b, which have one shape.
func ColumnDots(a, b Matrix) []float64 {
	check(a, b)
	if a.Rows != b.Rows || a.Cols != b.Cols {
		panic("linalg: ColumnDots: shapes differ")
	}
	s := make([]float64, a.Cols)
	for i := range a.Rows {
		for j, v := range a.Row(i) {
			s[j] += v * b.At(i, j)
		}
	}
	return s
}
