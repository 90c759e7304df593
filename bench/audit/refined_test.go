package main

import (
	"math"
	"testing"

	"bbgp.dev/bbgp"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// TestRefined: solutions and determinants by refinement are those of a factor in twice the
// precision, for matrices with conditions of 1e2 to 1e12.
func TestRefined(t *testing.T) {
	e, err := linalg.NewEngine(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for i := range 40 {
		p := draw(7, i, 60, 110)
		scaling := gp.Standardise(p.data.X, p.data.Y, gp.PaperFloor)
		if !p.plain {
			scaling = gp.Identity(p.data.X.Cols)
		}
		truth, err := newTruth(p, &bbgp.Model{Parameters: p.params, Scaling: scaling})
		if err != nil {
			t.Fatal(err)
		}
		r := newRefined(e, truth.k)
		if r == nil {
			continue
		}
		tried++
		x, ok := r.try(truth.y)
		if !ok {
			continue
		}
		if a, b := r.logDet(), truth.f.logDet(); math.Abs(a-b) > 1e-11*math.Abs(b)+1e-9 {
			t.Errorf("%s: log det %v, is %v", p.recipe(), a, b)
		}
		for j, form := range r.forms([][]twice{truth.k[0], truth.y}) {
			want := []float64{truth.k[0][0].float(), dot(truth.y, truth.alpha).float()}[j]
			if a := form.float(); math.Abs(a-want) > 1e-13*math.Abs(want) {
				t.Errorf("%s: a form is %v, is %v", p.recipe(), a, want)
			}
		}
		size, off := 0.0, 0.0
		for j, v := range truth.alpha {
			size, off = max(size, math.Abs(v.hi)), max(off, math.Abs(v.sub(x[j]).float()))
		}
		if off > 1e-17*size {
			t.Errorf("%s: a solution is off by %.2g of its size", p.recipe(), off/size)
		}
	}
	if tried < 30 {
		t.Errorf("float64 had a factor for %d of 40 problems", tried)
	}
}
