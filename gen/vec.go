package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// vectors emits the routines on plain vectors, whose length is a multiple of 32.
func vectors(e *emitter) {
	e.narrow()
	e.widen("Widen", false)
	e.widen("WidenAdd", true)
	e.dot()
	e.axpy()
}

// unroll is the number of vectors of float64 in a turn of 32 elements or fewer.
const unroll = 4

func (e *emitter) narrow() {
	e.begin("Narrow", "func(dst *float32, src *float64, n int)", "works like genericNarrow.")
	dst, src := e.arg("dst"), e.arg("src")
	n := e.quotient(e.arg("n"), unroll*e.lanes())
	e.loop("loop", n, func() {
		for i := range unroll {
			v := e.newVec()
			e.load(at(src, i*e.bytes), v)
			if e.wide() {
				e.VCVTPD2PS(v, v.AsY())
				e.VMOVUPS(v.AsY(), at(dst, i*e.bytes/2))
			} else {
				e.VCVTPD2PSY(v, v.AsX())
				e.VMOVUPS(v.AsX(), at(dst, i*e.bytes/2))
			}
		}
		e.inc(unroll*e.bytes, src)
		e.inc(unroll*e.bytes/2, dst)
	})
	e.end()
}

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

func (e *emitter) dot() {
	e.begin("Dot", "func(x, y *float64, n int) float64", "works like genericDot.")
	x, y := e.arg("x"), e.arg("y")
	n := e.quotient(e.arg("n"), unroll*e.lanes())
	acc := e.newVecs(unroll)
	e.zero(acc...)
	e.loop("loop", n, func() {
		for i, a := range acc {
			v := e.newVec()
			e.load(at(x, i*e.bytes), v)
			e.VFMADD231PD(at(y, i*e.bytes), v, a)
		}
		e.inc(unroll*e.bytes, x)
		e.inc(unroll*e.bytes, y)
	})
	e.Comment("sum across accumulators, then across lanes")
	s := e.sum4(acc)
	high := e.XMM()
	e.VEXTRACTF128(operand.Imm(1), s.AsY(), high)
	e.VADDPD(s.AsX(), high, high)
	e.VHADDPD(high, high, high)
	e.Store(high, e.ReturnIndex(0))
	e.end()
}

func (e *emitter) axpy() {
	e.begin("Axpy", "func(a float64, x, y *float64, n int)", "works like genericAxpy.")
	a := e.newVec()
	m, err := e.Param("a").Resolve()
	if err != nil {
		panic(err)
	}
	e.VBROADCASTSD(m.Addr, a)
	x, y := e.arg("x"), e.arg("y")
	n := e.quotient(e.arg("n"), unroll*e.lanes())
	e.loop("loop", n, func() {
		for i := range unroll {
			v := e.newVec()
			e.load(at(y, i*e.bytes), v)
			e.VFMADD231PD(at(x, i*e.bytes), a, v)
			e.store(v, at(y, i*e.bytes))
		}
		e.inc(unroll*e.bytes, x)
		e.inc(unroll*e.bytes, y)
	})
	e.end()
}
