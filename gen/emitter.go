package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An emitter writes routines for one target and one element type. Its methods
// choose the instruction for the type; operands stand in Go's order, the
// destination last.
type emitter struct {
	*build.Context
	target
	size   int      // bytes of an element: 4 or 8
	labels int      // labels written so far, which keeps them apart
	spread []func() // see fillIn
}

type vec = reg.VecVirtual

// wide tells whether the target has AVX-512: 32 registers, masks, operands
// broadcast from memory.
func (e *emitter) wide() bool { return e.bytes == 64 }

// lanes is the number of elements in a vector.
func (e *emitter) lanes() int { return e.bytes / e.size }

func (e *emitter) bits() int { return 8 * e.size }

// elem is the Go type of an element.
func (e *emitter) elem() string { return fmt.Sprintf("float%d", e.bits()) }

// begin starts the routine target+Name+F32 or F64. T in the signature stands for the element.
func (e *emitter) begin(name, signature, doc string) {
	full := e.target.name + name
	if strings.Contains(signature, "T") {
		full += fmt.Sprintf("F%d", e.bits())
	}
	e.Function(full)
	e.Attributes(nosplit)
	e.SignatureExpr(strings.ReplaceAll(signature, "T", e.elem()))
	e.Pragma("noescape")
	e.Doc(full + " " + doc)
}

// end returns to Go, which expects the upper halves of the registers clear.
func (e *emitter) end() {
	e.VZEROUPPER()
	e.RET()
}

// arg loads a pointer or an integer argument.
func (e *emitter) arg(name string) reg.GPVirtual {
	return e.Load(e.Param(name), e.GP64()).(reg.GPVirtual)
}

// label returns a label name that the function does not have yet.
func (e *emitter) label(name string) string {
	e.labels++
	return fmt.Sprint(name, e.labels)
}

// loop emits body n times, n > 0, counting n down to zero.
func (e *emitter) loop(name string, n reg.GPVirtual, body func()) {
	top := e.label(name)
	e.Label(top)
	body()
	e.DECQ(n)
	e.JNE(operand.LabelRef(top))
}

// unrolled emits n turns of step, n > 0: first n mod width turns one by one,
// then the others width at a time. step gets its number among the turns that
// share the addresses; advance moves the addresses on by k turns. width is a
// power of two.
func (e *emitter) unrolled(name string, n reg.GPVirtual, width int, step, advance func(k int)) {
	single, done := e.label(name+"Odd"), e.label(name+"Done")
	rest := e.copyOf(n)
	e.ANDQ(operand.U32(width-1), rest)
	e.JE(operand.LabelRef(single))
	e.loop(name+"Single", rest, func() {
		step(0)
		advance(1)
	})
	e.Label(single)
	e.SHRQ(operand.Imm(uint64(log2(width))), n)
	e.JE(operand.LabelRef(done))
	e.loop(name, n, func() {
		for k := range width {
			step(k)
		}
		advance(width)
	})
	e.Label(done)
}

// fillIn emits the next step of spread, which holds slow instructions that go
// between the stages of a computation: many of them in a row would wait for
// their unit together, and the processor, which chooses a port for an
// instruction long before it starts, would use the other ports too much.
func (e *emitter) fillIn() {
	if len(e.spread) > 0 {
		next := e.spread[0]
		e.spread = e.spread[1:]
		next()
	}
}

// flush emits the rest of spread.
func (e *emitter) flush() {
	for len(e.spread) > 0 {
		e.fillIn()
	}
}

// newVecs returns n new vector registers.
func (e *emitter) newVecs(n int) []vec {
	v := make([]vec, n)
	for i := range v {
		v[i] = e.target.vec(e.Context)
	}
	return v
}

func (e *emitter) newVec() vec { return e.target.vec(e.Context) }

// zero clears registers.
func (e *emitter) zero(v ...vec) {
	for _, x := range v {
		if e.wide() {
			e.VPXORD(x, x, x)
		} else {
			e.VXORPS(x, x, x)
		}
	}
}

// pick chooses the instruction for the element type.
func (e *emitter) pick(single, double func(...operand.Op)) func(...operand.Op) {
	if e.size == 4 {
		return single
	}
	return double
}

func (e *emitter) load(m operand.Mem, v vec)  { e.VMOVUPS(m, v) }
func (e *emitter) store(v vec, m operand.Mem) { e.VMOVUPS(v, m) }
func (e *emitter) move(from, to vec)          { e.VMOVAPS(from, to) }

// bcast loads one element into all lanes.
func (e *emitter) bcast(m operand.Op, v vec) { e.pick(e.VBROADCASTSS, e.VBROADCASTSD)(m, v) }

func (e *emitter) add(a, b operand.Op, dst vec) { e.pick(e.VADDPS, e.VADDPD)(a, b, dst) }
func (e *emitter) mul(a, b operand.Op, dst vec) { e.pick(e.VMULPS, e.VMULPD)(a, b, dst) }

// sub sets dst = a - b.
func (e *emitter) sub(a, b operand.Op, dst vec) { e.pick(e.VSUBPS, e.VSUBPD)(b, a, dst) }

// div sets dst = a / b.
func (e *emitter) div(a, b operand.Op, dst vec) { e.pick(e.VDIVPS, e.VDIVPD)(b, a, dst) }

func (e *emitter) sqrt(a operand.Op, dst vec) { e.pick(e.VSQRTPS, e.VSQRTPD)(a, dst) }

// fma sets acc += a b.
func (e *emitter) fma(a, b operand.Op, acc vec) { e.pick(e.VFMADD231PS, e.VFMADD231PD)(a, b, acc) }

// at is the memory at base + disp.
func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// atIdx is the memory at base + scale index + disp.
func atIdx(base, index reg.Register, scale uint8, disp int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale, Disp: disp}
}

// inc adds a constant to a register.
func (e *emitter) inc(n int, r reg.GPVirtual) { e.ADDQ(operand.U32(n), r) }

// copyOf returns a new register with the value of r.
func (e *emitter) copyOf(r reg.Register) reg.GPVirtual {
	c := e.GP64()
	e.MOVQ(r, c)
	return c
}

// times returns a new register with r·n.
func (e *emitter) times(r reg.GPVirtual, n int) reg.GPVirtual {
	c := e.GP64()
	e.IMUL3Q(operand.U32(n), r, c)
	return c
}

// quotient returns a new register with r/n, for r a multiple of n = 2^a or 3·2^a.
func (e *emitter) quotient(r reg.GPVirtual, n int) reg.GPVirtual {
	c := e.copyOf(r)
	for n%2 == 0 {
		e.SHRQ(operand.Imm(1), c)
		n /= 2
	}
	if n == 3 {
		// The inverse of 3 modulo 2^64 divides a multiple of 3 exactly.
		inv := e.GP64()
		e.MOVQ(operand.U64(0xaaaaaaaaaaaaaaab), inv)
		e.IMULQ(inv, c)
	} else if n != 1 {
		panic("quotient: not 2^a or 3·2^a")
	}
	return c
}
