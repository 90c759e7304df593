package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// addSums adds the sums across the lanes of acc[i][0..3] to the four float64
// at y, for row i after row i, y going on by stride each time (nil: y stays,
// and there is one row). It uses up the vectors.
func (e *emitter) addSums(acc [][]vec, y, stride reg.GPVirtual) {
	next := func() {
		if stride != nil {
			e.ADDQ(stride, y)
		}
	}
	if !e.wide() {
		for _, row := range acc {
			s := e.sum4(row)
			e.VADDPD(at(y, 0), s, s)
			e.VMOVUPD(s, at(y, 0))
			next()
		}
		return
	}
	for len(acc) > 0 {
		n := min(len(acc), 2)
		if e.size == 4 {
			n = min(len(acc), 4)
		}
		for i, s := range e.sumRows(acc[:n]) {
			pair := []vec{s.AsY().(vec), e.YMM()}
			if 2*i+1 < n {
				e.VEXTRACTF64X4(operand.Imm(1), s, pair[1])
			} else {
				pair = pair[:1]
			}
			for _, sum := range pair {
				e.VADDPD(at(y, 0), sum, sum)
				e.VMOVUPD(sum, at(y, 0))
				next()
			}
		}
		acc = acc[n:]
	}
}

// sum4 returns the sums across the lanes of four vectors as four float64, the
// low half of a vector where it is wide. It uses up the vectors.
func (e *emitter) sum4(a []vec) vec {
	if e.wide() {
		return e.sumRows([][]vec{a})[0]
	}
	if e.size == 4 {
		e.VHADDPS(a[1], a[0], a[0])
		e.VHADDPS(a[3], a[2], a[2])
		e.VHADDPS(a[2], a[0], a[0])
		high := e.XMM()
		e.VEXTRACTF128(operand.Imm(1), a[0], high)
		e.VADDPS(a[0].AsX(), high, high)
		e.VCVTPS2PD(high, a[0])
		return a[0]
	}
	e.VHADDPD(a[1], a[0], a[0])
	e.VHADDPD(a[3], a[2], a[2])
	e.VPERM2F128(operand.Imm(0x20), a[2], a[0], a[1])
	e.VPERM2F128(operand.Imm(0x31), a[2], a[0], a[0])
	e.VADDPD(a[1], a[0], a[0])
	return a[0]
}

// sumRows transposes while it adds: each step halves the number of vectors,
// the lanes of which then belong to twice as many sums. It returns vectors of
// eight float64, two rows each, for 1, 2 or 4 rows of float32 and 1 or 2 of
// float64; a missing second row repeats the first.
func (e *emitter) sumRows(rows [][]vec) []vec {
	var v []vec
	for _, a := range rows {
		if e.size == 4 {
			e.fold(a[0], a[1], e.VUNPCKLPS, e.VUNPCKHPS)
			e.fold(a[2], a[3], e.VUNPCKLPS, e.VUNPCKHPS)
			e.fold(a[0], a[2], e.VUNPCKLPD, e.VUNPCKHPD)
		} else {
			e.fold(a[0], a[1], e.VUNPCKLPD, e.VUNPCKHPD)
			e.fold(a[2], a[3], e.VUNPCKLPD, e.VUNPCKHPD)
			e.foldLanes(a[0], a[2])
		}
		v = append(v, a[0])
	}
	// Quarters of the vectors: a row of float32, half a row of float64.
	half := func() {
		for i := 0; i < len(v); i += 2 {
			e.foldLanes(v[i], v[min(i+1, len(v)-1)])
			v[i/2] = v[i]
		}
		v = v[:(len(v)+1)/2]
	}
	half()
	if e.size == 8 {
		return v
	}
	half()
	out := e.newVecs((len(rows) + 1) / 2)
	e.VCVTPS2PD(v[0].AsY(), out[0])
	if len(out) == 2 {
		e.VEXTRACTF64X4(operand.Imm(1), v[0], v[0].AsY())
		e.VCVTPS2PD(v[0].AsY(), out[1])
	}
	return out
}

// fold sets a = low(a, b) + high(a, b).
func (e *emitter) fold(a, b vec, low, high func(...operand.Op)) {
	t := e.newVec()
	low(b, a, t)
	high(b, a, a)
	e.add(t, a, a)
}

// foldLanes adds neighbouring 128-bit lanes: a = [a0+a1, a2+a3, b0+b1, b2+b3].
func (e *emitter) foldLanes(a, b vec) {
	t := e.newVec()
	e.VSHUFF64X2(operand.Imm(0x88), b, a, t)
	e.VSHUFF64X2(operand.Imm(0xdd), b, a, a)
	e.add(t, a, a)
}
