package evidence

import (
	"encoding/binary"
	"math"
	"slices"

	"bbgp.dev/internal/gp"
)

// A Stateful objective is one whose value depends on more than the last Rebuild
// and the arguments of Evaluate.
type Stateful interface {
	State() []byte
	Restore([]byte)
}

// mostSane bounds what is believed of a file: a search multiplies a few such numbers, and
// must not overflow. A true evaluation beyond it is computed again.
const mostSane = 1e60

func allSane(v ...float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return !(math.Abs(x) <= mostSane) })
}

func AllFinite(v ...float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return !gp.Finite(x) })
}

// FloatState and StateFloats are the form of a state that is some numbers.
func FloatState(v ...float64) []byte { return AppendFloats(nil, v) }

func StateFloats(b []byte) []float64 {
	v := make([]float64, len(b)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return v
}

func AppendFloats(b []byte, v []float64) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}
