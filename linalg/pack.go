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
			*(*[8]float64)(dst[k*8:]) = *(*[8]float64)(src[k*m.Stride:])
		}
	case 12:
		for k := range depth {
			*(*[12]float64)(dst[k*12:]) = *(*[12]float64)(src[k*m.Stride:])
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
	// Four rows at a time: a store of four neighbours for each step in depth.
	for i := 0; i < w; i += 4 {
		r0 := m.Data[(j+i)*m.Stride+k0:][:depth]
		r1 := m.Data[(j+i+1)*m.Stride+k0:][:depth]
		r2 := m.Data[(j+i+2)*m.Stride+k0:][:depth]
		r3 := m.Data[(j+i+3)*m.Stride+k0:][:depth]
		out := dst[i:]
		for k, v := range r0 {
			o := out[k*w:][:4]
			o[0], o[1], o[2], o[3] = v, r1[k], r2[k], r3[k]
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
