package asm

import (
	"math"
	"testing"
)

// TestWithin compares with the reference, with every special value in every lane.
func TestWithin(t *testing.T) {
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), 1, 1 + 0x1p-23, 1 - 0x1p-24, 1e-40, -1}
	forEach(t, func(t *testing.T, im *Impl) {
		r := newRand(14)
		for _, s := range tileShapes() {
			for round := range 3 {
				data, most := normals[float32](r, s.rows*s.cols, 1), normals[float32](r, s.rows, 1)
				if round > 0 {
					for i := range data {
						data[i] = float32(special[(i+i/7+round)%len(special)])
					}
					for i := range most {
						most[i] = float32(special[(i+round)%len(special)])
					}
				}
				tile, limit := guard(data, round), guard(most, 1)
				words := s.rows * s.cols / WithinWord
				got, want := make([]uint32, words+1), make([]uint32, words)
				got[words] = 0xdead
				im.Within(got, tile.data, limit.data, s.rows, s.cols)
				genericWithin(&want[0], &tile.data[0], &limit.data[0], s.rows, s.cols)
				for i, w := range want {
					if got[i] != w {
						t.Fatalf("%v round %d: word %d is %#x, want %#x", s, round, i, got[i], w)
					}
				}
				if got[words] != 0xdead {
					t.Fatal("wrote behind the mask")
				}
			}
		}
		for name, f := range map[string]func(){
			"mask":  func() { im.Within(make([]uint32, 71), make([]float32, 24*96), make([]float32, 24), 24, 96) },
			"tile":  func() { im.Within(make([]uint32, 72), make([]float32, 24*96-1), make([]float32, 24), 24, 96) },
			"limit": func() { im.Within(make([]uint32, 72), make([]float32, 24*96), make([]float32, 23), 24, 96) },
			"rows":  func() { im.Within(make([]uint32, 72), make([]float32, 24*96), make([]float32, 24), 23, 96) },
		} {
			if !panics(f) {
				t.Errorf("%s: wrong lengths accepted", name)
			}
		}
	})
}
