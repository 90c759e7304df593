package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// A family numbers the covariance functions as asm.Family does.
type family int

const (
	matern12 family = iota
	matern32
	matern52
	gaussian
	families
)

func (f family) String() string {
	return [...]string{"Matern12", "Matern32", "Matern52", "Gaussian"}[f]
}

// root tells whether the function needs r rather than the squared distance.
func (f family) root() bool { return f != gaussian }

// value returns h for the vectors r (Gaussian: the squared distance), which it
// uses up.
func (f family) value(t table, r []vec) []vec {
	switch f {
	case matern32:
		return t.exp2neg(r, constOne, constLn2)
	case matern52:
		return t.exp2neg(r, constOne, constLn2, constLn2sq3)
	}
	return t.exp2neg(r)
}

// gradWeight returns the weight of the derivative by the log lengthscales.
func (f family) gradWeight(t table, r []vec) []vec {
	if f == matern52 {
		return t.exp2neg(r, constOne, constLn2)
	}
	p := t.exp2neg(r)
	if f == matern12 {
		f.divideGuarded(t, r, p)
	}
	return p
}

// divideGuarded sets p = p/r, or 0 where r < minR.
func (f family) divideGuarded(t table, r, p []vec) {
	const notLess = 5 // predicate NLT_US: true for NaN
	e := t.e
	for i := range r {
		m := e.newVec()
		if e.wide() {
			k := e.K()
			t.load(constMinR, m)
			e.pick(e.VCMPPS, e.VCMPPD)(operand.Imm(notLess), m, r[i], k)
			if e.size == 4 {
				e.VDIVPS_Z(r[i], p[i], k, p[i])
			} else {
				e.VDIVPD_Z(r[i], p[i], k, p[i])
			}
			continue
		}
		e.pick(e.VCMPPS, e.VCMPPD)(operand.Imm(notLess), t.mem(constMinR), r[i], m)
		e.div(p[i], r[i], p[i])
		e.pick(e.VANDPS, e.VANDPD)(m, p[i], p[i])
	}
}

// cov and weight read squared distances, or where early is not 0 what distRoot
// left.
func (e *emitter) cov(f family, early int) { e.functionOf("Cov", f, early, f.value) }

func (e *emitter) weight(f family, early int) { e.functionOf("Weight", f, early, f.gradWeight) }

func (e *emitter) functionOf(name string, f family, early int, fn func(table, []vec) []vec) {
	if early == 0 {
		e.begin(name+f.String(), "func(buf *T, n int)", "works like generic"+name+".")
		e.elementwise(f.root(), fn)
		return
	}
	e.begin(name+f.suffix(early), "func(buf *T, rows, cols int)", "works like generic"+name+f.reads(early))
	width := 2
	if name == "Weight" && f == matern12 {
		width = 1 // the division needs r, and with it more registers
	}
	e.elementwiseRoots(early, width, fn)
}

// suffix is the end of a routine's name.
func (f family) suffix(early int) string {
	if early == 0 {
		return f.String()
	}
	return rootName("Radii", early) + f.String()
}

// reads ends the comment of a routine.
func (f family) reads(early int) string {
	if early == 0 {
		return "."
	}
	return rootName(", but reads what DistRoot", early) + " left."
}

// group is the number of vectors that elementwise takes in step, by measurement;
// asm.Pad elements are whole groups.
func (e *emitter) group(root bool) int {
	switch {
	case e.wide() && !root:
		return 6 // 3 takes 1.11 (float32) to 1.18 (float64) of the time
	case !e.wide() && root && e.size == 8:
		return 2 // 3 takes 1.13
	}
	return 3
}

// elementwise replaces the n elements of buf by fn of them, or of their square
// roots. The roots of the next vectors are taken one turn ahead, so that the
// divider works while the polynomials are evaluated.
func (e *emitter) elementwise(root bool, fn func(table, []vec) []vec) {
	group := e.group(root)
	buf, n := e.arg("buf"), e.arg("n")
	t := e.table()
	count := e.quotient(n, group*e.lanes())
	ahead := e.newVecs(group)
	fetch := func(turn int) {
		for i := range ahead {
			m := at(buf, (turn*group+i)*e.bytes)
			if root {
				e.sqrt(m, ahead[i])
			} else {
				e.load(m, ahead[i])
			}
		}
	}
	finish := func(next bool) {
		r := e.newVecs(group)
		for i := range r {
			e.move(ahead[i], r[i])
		}
		if next {
			e.Comment("roots of the next turn")
			fetch(1)
		}
		for i, k := range fn(t, r) {
			e.store(k, at(buf, i*e.bytes))
		}
	}
	last := e.label("last")
	fetch(0)
	e.DECQ(count)
	e.JE(operand.LabelRef(last))
	e.loop("loop", count, func() {
		finish(true)
		e.inc(group*e.bytes, buf)
	})
	e.Label(last)
	finish(false)
	e.end()
}
