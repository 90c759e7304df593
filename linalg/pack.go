package linalg

// packAlong packs columns j .. j+width-1 and rows k0 .. k0+depth-1 of m as
// [depth][w], w = len(dst)/depth >= width, zero beyond width.
func packAlong(dst []float64, m Matrix, j, width, k0, depth int) {
	w := len(dst) / depth
	if width < w {
		clear(dst)
		if width == 0 {
			return
		}
		for k := range depth {
			copy(dst[k*w:][:width], m.Data[(k0+k)*m.Stride+j:])
		}
		return
	}
	src := m.Data[k0*m.Stride+j:]
	switch w {
	case 8:
		for k := range depth {
			v := *(*[8]float64)(src[k*m.Stride:]) // a copy: operands that may overlap cost a call
			*(*[8]float64)(dst[k*8:]) = v
		}
	case 12:
		for k := range depth {
			v := *(*[12]float64)(src[k*m.Stride:])
			*(*[12]float64)(dst[k*12:]) = v
		}
	default:
		panic("linalg: packAlong: no such width")
	}
}

// packAcross packs rows j .. j+width-1 and columns k0 .. k0+depth-1 of m as
// [depth][w], w = len(dst)/depth >= width, zero beyond width.
func packAcross(dst []float64, m Matrix, j, width, k0, depth int) {
	w := len(dst) / depth
	if width < w {
		clear(dst)
		for i := range width {
			for k, v := range m.Data[(j+i)*m.Stride+k0:][:depth] {
				dst[k*w+i] = v
			}
		}
		return
	}
	i := 0
	for ; i+4 <= w; i += 4 {
		packFour(dst[i:], w, m.Data[(j+i)*m.Stride+k0:], m.Stride, depth)
	}
	for ; i < w; i++ {
		for k, v := range m.Data[(j+i)*m.Stride+k0:][:depth] {
			dst[k*w+i] = v
		}
	}
}

// packFour transposes four rows of src, 4×4 numbers at a time, to dst[k*w : k*w+4].
func packFour(dst []float64, w int, src []float64, stride, depth int) {
	r0, r1, r2, r3 := src[:depth], src[stride:][:depth], src[2*stride:][:depth], src[3*stride:][:depth]
	k := 0
	for ; k+4 <= depth; k += 4 {
		a, b, c, d := (*[4]float64)(r0[k:]), (*[4]float64)(r1[k:]), (*[4]float64)(r2[k:]), (*[4]float64)(r3[k:])
		o := dst[k*w:]
		o0, o1 := (*[4]float64)(o), (*[4]float64)(o[w:])
		o2, o3 := (*[4]float64)(o[2*w:]), (*[4]float64)(o[3*w:])
		o0[0], o0[1], o0[2], o0[3] = a[0], b[0], c[0], d[0]
		o1[0], o1[1], o1[2], o1[3] = a[1], b[1], c[1], d[1]
		o2[0], o2[1], o2[2], o2[3] = a[2], b[2], c[2], d[2]
		o3[0], o3[1], o3[2], o3[3] = a[3], b[3], c[3], d[3]
	}
	for ; k < depth; k++ {
		o := (*[4]float64)(dst[k*w:])
		o[0], o[1], o[2], o[3] = r0[k], r1[k], r2[k], r3[k]
	}
}

// unpackAcross is the inverse of packAcross: m[i][k] = src[k*w+i].
func unpackAcross(m Matrix, src []float64, w int) {
	i := 0
	for ; i+4 <= m.Rows; i += 4 {
		r0, r1, r2, r3 := m.Row(i), m.Row(i+1), m.Row(i+2), m.Row(i+3)
		for k := range m.Cols {
			s := (*[4]float64)(src[k*w+i:])
			r0[k], r1[k], r2[k], r3[k] = s[0], s[1], s[2], s[3]
		}
	}
	for ; i < m.Rows; i++ {
		for k := range m.Row(i) {
			m.Data[i*m.Stride+k] = src[k*w+i]
		}
	}
}

// reserve returns a slice of length n, s itself if it is large enough. Its
// contents are undefined.
func reserve(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}

// roundUp is the smallest multiple of unit that is at least n.
func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// reserveParts returns n numbers of scratch memory that lives until the next call.
func (e *Engine) reserveParts(n int) []float64 {
	e.parts = reserve(e.parts, n)
	return e.parts
}
