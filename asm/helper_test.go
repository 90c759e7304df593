package asm

import (
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// forEach runs f on every implementation that this CPU can run. Under -short,
// which emulated CPUs use, it leaves out the reference where there is another:
// the reference is tested wherever tests run at full speed.
func forEach(t *testing.T, f func(*testing.T, *Impl)) {
	all := All()
	for _, im := range all {
		if testing.Short() && len(all) > 1 && im.Name == "generic" {
			continue
		}
		t.Run(im.Name, func(t *testing.T) { f(t, im) })
	}
}

// forEachKit runs a generic test on both kits of every implementation. The two
// functions are instances of the same one.
func forEachKit(t *testing.T, f32 func(*testing.T, *Kit[float32]), f64 func(*testing.T, *Kit[float64])) {
	forEach(t, func(t *testing.T, im *Impl) {
		t.Run("f32", func(t *testing.T) { f32(t, &im.F32) })
		t.Run("f64", func(t *testing.T) { f64(t, &im.F64) })
	})
}

// TestRequired fails where BBGP_REQUIRE_ISA names an implementation that this
// CPU cannot run, so that a broken emulation does not pass for a success.
func TestRequired(t *testing.T) {
	for _, name := range strings.Fields(os.Getenv("BBGP_REQUIRE_ISA")) {
		if _, err := Lookup(name); err != nil {
			t.Error(err)
		}
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// normals returns n normal values times scale.
func normals[T Float](r *rand.Rand, n int, scale float64) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = T(scale * r.NormFloat64())
	}
	return v
}

// A guarded slice lies between two areas of NaN that must stay as they are.
type guarded[T Float] struct {
	all, data []T
}

const guardLen = 64

// guard copies v to a place between guards, off elements from alignment.
func guard[T Float](v []T, off int) guarded[T] {
	all := make([]T, off+len(v)+2*guardLen)
	for i := range all {
		all[i] = nan[T]()
	}
	data := all[guardLen+off : guardLen+off+len(v) : guardLen+off+len(v)]
	copy(data, v)
	return guarded[T]{all, data}
}

func (g guarded[T]) check(t *testing.T) {
	t.Helper()
	n := (len(g.all) - len(g.data) - 2*guardLen) + guardLen
	for i, x := range g.all {
		if (i < n || i >= n+len(g.data)) && x == x {
			t.Fatalf("wrote element %d of a slice of %d", i-n, len(g.data))
		}
	}
}

func nan[T Float]() T { return T(math.NaN()) }

func eps[T Float]() float64 {
	if unsafe.Sizeof(T(0)) == 4 {
		return 0x1p-23
	}
	return 0x1p-52
}

// sameBits compares bit by bit; all NaN are the same.
func sameBits[T Float](t *testing.T, what string, got, want []T) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: length %d, want %d", what, len(got), len(want))
	}
	for i := range got {
		g, w := float64(got[i]), float64(want[i])
		if math.Float64bits(g) != math.Float64bits(w) && (g == g || w == w) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// A sum collects products in about twice the precision of float64.
type sum struct {
	n       int
	hi, lo  float64
	largest float64 // Σ|terms|
}

// add adds a·b.
func (s *sum) add(a, b float64) {
	p := a * b
	e := math.FMA(a, b, -p)
	t := s.hi + p
	v := t - s.hi
	s.lo += (s.hi - (t - v)) + (p - v) + e
	s.hi = t
	s.largest += math.Abs(p)
	s.n++
}

// near tells whether got keeps the contract of reductions: n eps Σ|terms|.
func (s *sum) near(got, eps float64) bool {
	return math.Abs(got-(s.hi+s.lo)) <= float64(s.n)*eps*s.largest
}

// packI lays out row-major points (n×d) as XI, packJ as XJ.
func packI[T Float](x []T, n, d int) []T {
	out := make([]T, n*d)
	for i := range n {
		for k := range d {
			out[i/Panel*Panel*d+k*Panel+i%Panel] = x[i*d+k]
		}
	}
	return out
}

func packJ[T Float](x []T, n, d int) []T {
	out, b := make([]T, n*d), Block[T]()
	for i := range n {
		for k := range d {
			out[i/b*b*d+k*b+i%b] = x[i*d+k]
		}
	}
	return out
}

// panics tells whether f panics with a message of this package.
func panics(f func()) (yes bool) {
	defer func() {
		msg, _ := recover().(string)
		yes = strings.HasPrefix(msg, "asm: ")
	}()
	f()
	return false
}

// sizes returns the first list, or under -short the second.
func sizes[E any](all, short []E) []E {
	if testing.Short() {
		return short
	}
	return all
}

// span is first, first+step, ..., at most last.
func span(first, last, step int) (v []int) {
	for i := first; i <= last; i += step {
		v = append(v, i)
	}
	return v
}
