package main

import (
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// convert emits the conversions of plain vectors, whose length is a multiple of turn.
func convert(e *emitter) {
	e.widen("Widen", false)
	e.widen("WidenAdd", true)
	e.cut("Cut", "sum")
	e.cut("CutTwo", "high", "low")
}

const (
	turn   = 32 // elements that the routines on plain vectors take at a time, as in ../asm/impl.go
	unroll = 4  // vectors of float64 in a turn of a conversion
)

func (e *emitter) widen(name string, add bool) {
	e.begin(name, "func(dst *float64, src *float32, n int)", "works like generic"+name+".")
	dst, src := e.arg("dst"), e.arg("src")
	n := e.quotient(e.arg("n"), unroll*e.lanes())
	e.loop("loop", n, func() {
		for i := range unroll {
			v := e.newVec()
			e.VCVTPS2PD(at(src, i*e.bytes/2), v)
			if add {
				e.VADDPD(at(dst, i*e.bytes), v, v)
			}
			e.store(v, at(dst, i*e.bytes))
		}
		e.inc(unroll*e.bytes/2, src)
		e.inc(unroll*e.bytes, dst)
	})
	e.end()
}

// cut: the part of x above place goes to sums; with two of them, so does what is left of x above below.
func (e *emitter) cut(name string, sums ...string) {
	args, from := "sum", []string{"place"}
	if len(sums) == 2 {
		args, from = "high, low", []string{"place", "below"}
	}
	e.begin(name, "func("+args+", x *float64, "+strings.Join(from, ", ")+" float64, n int)",
		"works like generic"+name+".")
	var places []reg.VecVirtual
	for _, p := range from {
		m, err := e.Param(p).Resolve()
		if err != nil {
			panic(err)
		}
		places = append(places, e.newVec())
		e.bcast(m.Addr, places[len(places)-1])
	}
	var to []reg.GPVirtual
	for _, s := range sums {
		to = append(to, e.arg(s))
	}
	x := e.arg("x")
	n := e.quotient(e.arg("n"), unroll*e.lanes())
	e.loop("loop", n, func() {
		for i := 0; i < unroll*e.bytes; i += e.bytes {
			v := e.newVec()
			e.load(at(x, i), v)
			for k, place := range places {
				part := e.newVec()
				e.VADDPD(v, place, part)
				e.VSUBPD(place, part, part)
				if k+1 < len(places) {
					e.VSUBPD(part, v, v)
				}
				e.VADDPD(at(to[k], i), part, part)
				e.store(part, at(to[k], i))
			}
		}
		for _, p := range append(to, x) {
			e.inc(unroll*e.bytes, p)
		}
	})
	e.end()
}

// dot sums in turn lanes of float64, whatever the target: element i belongs to
// lane i mod turn, and the lanes are added by halves.
func (e *emitter) dot() {
	e.begin("Dot", "func(x, y *T, n int) float64", "works like genericDot.")
	x, y := e.arg("x"), e.arg("y")
	n := e.quotient(e.arg("n"), turn)
	acc := e.newVecs(turn * 8 / e.bytes)
	e.zero(acc...)
	step := e.bytes * e.size / 8 // of memory, for a vector of float64
	e.loop("loop", n, func() {
		for i, a := range acc {
			v := e.newVec()
			if e.size == 8 {
				e.load(at(x, i*step), v)
				e.VFMADD231PD(at(y, i*step), v, a)
				continue
			}
			w := e.newVec()
			e.VCVTPS2PD(at(x, i*step), v)
			e.VCVTPS2PD(at(y, i*step), w)
			e.VFMADD231PD(w, v, a)
		}
		e.inc(turn*e.size, x)
		e.inc(turn*e.size, y)
	})
	for n := len(acc) / 2; n > 0; n /= 2 {
		for i, a := range acc[:n] {
			e.VADDPD(acc[n+i], a, a)
		}
	}
	e.Store(e.foldHalves(acc[0]), e.ReturnIndex(0))
	e.end()
}

// foldHalves adds the lanes of float64 by halves. It uses up the vector.
func (e *emitter) foldHalves(v vec) reg.Register {
	y, high := v.AsY(), e.newVec()
	if e.wide() {
		e.VEXTRACTF64X4(operand.Imm(1), v, high.AsY())
		e.VADDPD(high.AsY(), y, y)
		e.VEXTRACTF64X2(operand.Imm(1), y, high.AsX())
	} else {
		e.VEXTRACTF128(operand.Imm(1), v, high.AsX())
	}
	x := v.AsX()
	e.VADDPD(high.AsX(), x, x)
	e.VUNPCKHPD(x, x, high.AsX())
	e.VADDSD(high.AsX(), x, x)
	return x
}

// axpy: y += a x, each element by one fused multiply-add.
func (e *emitter) axpy() {
	e.begin("Axpy", "func(a T, x, y *T, n int)", "works like genericAxpy.")
	a := e.newVec()
	m, err := e.Param("a").Resolve()
	if err != nil {
		panic(err)
	}
	e.bcast(m.Addr, a)
	x, y := e.arg("x"), e.arg("y")
	n := e.quotient(e.arg("n"), turn)
	e.loop("loop", n, func() {
		for i := 0; i < turn*e.size; i += e.bytes {
			v := e.newVec()
			e.load(at(y, i), v)
			e.fma(at(x, i), a, v)
			e.store(v, at(y, i))
		}
		e.inc(turn*e.size, x)
		e.inc(turn*e.size, y)
	})
	e.end()
}
