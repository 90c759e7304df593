package kernelmv

import (
	"math"
	"math/bits"
)

// limbs of 32 bits hold any sum of float64s.
const limbs = 67

// An exactSum is a sum of float64s without any rounding, so it does not depend on their order: a whole number of
// 2^-1074 in limbs, limb k counting 2^(32k). Each may be beyond 32 bits until carry.
type exactSum struct {
	limb     [limbs]int64
	adds     int
	infinite float64 // what was not finite
}

func (s *exactSum) add(x float64) {
	b := math.Float64bits(x)
	at, m := int(b>>52)&0x7ff, b&(1<<52-1)
	if at == 0x7ff {
		s.infinite += x
		return
	}
	if at > 0 {
		m |= 1 << 52
		at--
	}
	high, low := bits.Mul64(m, 1<<(at%32))
	k, parts := at/32, [3]int64{int64(low & (1<<32 - 1)), int64(low >> 32), int64(high)}
	for i, p := range parts {
		if x < 0 {
			p = -p
		}
		s.limb[k+i] += p
	}
	if s.adds++; s.adds == 1<<30 {
		s.carry()
	}
}

// merge adds the sum t, after its carry.
func (s *exactSum) merge(t *exactSum) {
	for k, v := range t.limb {
		s.limb[k] += v
	}
	s.infinite += t.infinite
	s.adds++
}

// carry leaves all limbs but the last within 0 and 2^32.
func (s *exactSum) carry() {
	for k := range limbs - 1 {
		s.limb[k+1] += s.limb[k] >> 32
		s.limb[k] &= 1<<32 - 1
	}
	s.adds = 0
}

// value returns the sum, off by less than a unit of its last bit.
func (s *exactSum) value() float64 {
	s.carry()
	if s.infinite != 0 {
		return s.infinite
	}
	if s.limb[limbs-1] < 0 {
		negative := exactSum{}
		for k, v := range s.limb {
			negative.limb[k] = -v
		}
		return -negative.value()
	}
	top := limbs - 1
	for top > 2 && s.limb[top] == 0 {
		top--
	}
	part := func(k int) float64 { return math.Ldexp(float64(s.limb[k]), 32*k-1074) }
	return part(top) + (part(top-1) + part(top-2))
}
