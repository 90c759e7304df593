package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const nosplit = attr.NOSPLIT

// The function 2^-r for 0 <= r <= clamp, without tables:
//
//	t = r + magic     the low bits of t hold n = round(r)
//	f = (t - magic) - r = n - r, exact, |f| <= 1/2
//	2^-r = 2^f 2^-n: polynomial in f by Horner's rule, n subtracted from its exponent
const (
	ln2    = 0.693147180559945309417232121458176568
	ln2sq3 = ln2 * ln2 / 3
)

// exp2Coef are the minimax coefficients of 2^f for |f| <= 1/2, by bytes of an element.
func exp2Coef(size int) []float64 {
	if size == 4 {
		return []float64{
			1, 0.6931472149680392, 0.2402265278287590, 0.05550310550996589,
			0.009617692974921842, 0.001340664390478938, 0.0001559467753985015,
		}
	}
	return []float64{
		1, 0.6931471805599516162, 0.2402265069591047216, 0.05550410866434658354, 0.009618129107380713245,
		0.001333355824648078606, 1.540353080081950714e-4, 1.525264774766342992e-5, 1.321523563418560257e-6,
		1.021050646431343299e-7, 7.111758783757878126e-9,
	}
}

// Places of the constants in the table; those of the polynomial follow.
const (
	constMagic = iota
	constLn2
	constLn2sq3
	constMinR
	constPoly // coefficient 0, which is 1
)

const constOne = constPoly

// constValues is the table of an element type. With reduced, the polynomial is
// one in -f.
func constValues(size int, reduced bool) []float64 {
	v := []float64{3 << 22, ln2, ln2sq3, 1.0 / 1024}
	if size == 8 {
		v[constMagic], v[constMinR] = 3<<51, 1.0/(1<<20)
	}
	for k, c := range exp2Coef(size) {
		if reduced && k%2 == 1 {
			c = -c
		}
		v = append(v, c)
	}
	return v
}

// constTable writes the table: each constant once where the target can
// broadcast an operand from memory, else repeated to a whole vector.
func (e *emitter) constTable() {
	e.StaticGlobal(e.tableName())
	e.DataAttributes(attr.RODATA | attr.NOPTR)
	for _, x := range constValues(e.size, e.wide()) {
		for range e.constBytes() / e.size {
			if e.size == 4 {
				e.AppendDatum(operand.U32(math.Float32bits(float32(x))))
			} else {
				e.AppendDatum(operand.U64(math.Float64bits(x)))
			}
		}
	}
}

func (e *emitter) tableName() string { return fmt.Sprint(e.target.name, "Const", e.bits()) }

func (e *emitter) constBytes() int {
	if e.wide() {
		return e.size
	}
	return e.bytes
}

// A table is the constant table with its address in a register.
type table struct {
	e    *emitter
	base reg.GPVirtual
}

func (e *emitter) table() table {
	t := table{e, e.GP64()}
	e.LEAQ(operand.NewDataAddr(operand.NewStaticSymbol(e.tableName()), 0), t.base)
	return t
}

func (t table) mem(i int) operand.Mem { return at(t.base, i*t.e.constBytes()) }

// load sets v to constant i in all lanes.
func (t table) load(i int, v vec) {
	if t.e.wide() {
		t.e.bcast(t.mem(i), v)
	} else {
		t.e.load(t.mem(i), v)
	}
}

// op chooses the form of an instruction whose first operand is a constant.
func (t table) op(single, double, singleBcst, doubleBcst func(...operand.Op)) func(...operand.Op) {
	if t.e.wide() {
		return t.e.pick(singleBcst, doubleBcst)
	}
	return t.e.pick(single, double)
}

// add sets dst = x + constant.
func (t table) add(i int, x, dst vec) {
	e := t.e
	t.op(e.VADDPS, e.VADDPD, e.VADDPS_BCST, e.VADDPD_BCST)(t.mem(i), x, dst)
}

// sub sets dst = x - constant.
func (t table) sub(i int, x, dst vec) {
	e := t.e
	t.op(e.VSUBPS, e.VSUBPD, e.VSUBPS_BCST, e.VSUBPD_BCST)(t.mem(i), x, dst)
}

// fmaAdd sets acc = acc x + constant.
func (t table) fmaAdd(i int, x, acc vec) {
	e := t.e
	t.op(e.VFMADD213PS, e.VFMADD213PD, e.VFMADD213PS_BCST, e.VFMADD213PD_BCST)(t.mem(i), x, acc)
}

// fmaMul sets acc += constant x.
func (t table) fmaMul(i int, x, acc vec) {
	e := t.e
	t.op(e.VFMADD231PS, e.VFMADD231PD, e.VFMADD231PS_BCST, e.VFMADD231PD_BCST)(t.mem(i), x, acc)
}

// exp2neg returns 2^-r (c0 + c1 r + c2 r² ...) for several vectors in step,
// where coef are the places of the c, Horner's rule is used and no coef means
// 1. It uses up r. The power of two goes into the second factor, so that only
// three registers a vector are in use while the first one is summed.
func (t table) exp2neg(r []vec, coef ...int) []vec {
	e, top := t.e, len(exp2Coef(t.e.size))-1
	n, f, p := e.newVecs(len(r)), e.newVecs(len(r)), e.newVecs(len(r))
	stage := func(do func(i int)) {
		for i := range r {
			do(i)
		}
		e.fillIn()
	}
	e.Comment("n = round(r), f = n - r")
	stage(func(i int) { t.add(constMagic, r[i], n[i]) })
	if e.wide() {
		// The instruction gives r - n = -f.
		stage(func(i int) { e.pick(e.VREDUCEPS, e.VREDUCEPD)(operand.Imm(8), r[i], f[i]) })
	} else {
		stage(func(i int) { t.sub(constMagic, n[i], f[i]) })
		stage(func(i int) { e.sub(f[i], r[i], f[i]) })
	}
	stage(func(i int) { e.shiftToExponent(n[i]) })
	if len(coef) > 0 {
		e.Comment("the other factor, times 2^-n")
		last := e.newVec()
		t.load(coef[len(coef)-1], last)
		stage(func(i int) {
			q, x := r[i], last
			for k := len(coef) - 2; k >= 0; k-- {
				if k > 0 {
					q = e.newVec()
					e.move(r[i], q)
				}
				t.fmaAdd(coef[k], x, q)
				x, r[i] = r[i], q
			}
		})
		stage(func(i int) { e.subInt(n[i], r[i]) })
	}
	e.Comment("2^f")
	for i := range r {
		t.load(constPoly+top-1, p[i])
	}
	stage(func(i int) { t.fmaMul(constPoly+top, f[i], p[i]) })
	for k := top - 2; k >= 0; k-- {
		stage(func(i int) { t.fmaAdd(constPoly+k, f[i], p[i]) })
	}
	stage(func(i int) {
		if len(coef) > 0 {
			e.mul(r[i], p[i], p[i])
		} else {
			e.subInt(n[i], p[i])
		}
	})
	return p
}

// subInt sets v -= n, both as integers.
func (e *emitter) subInt(n, v vec) {
	if e.size == 4 {
		e.VPSUBD(n, v, v)
	} else {
		e.VPSUBQ(n, v, v)
	}
}

// shiftToExponent moves the low bits of v to the place of the exponent.
func (e *emitter) shiftToExponent(v vec) {
	if e.size == 4 {
		e.VPSLLD(operand.Imm(23), v, v)
	} else {
		e.VPSLLQ(operand.Imm(52), v, v)
	}
}
