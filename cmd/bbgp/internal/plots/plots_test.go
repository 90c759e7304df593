package plots

import (
	"bytes"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"bbgp.dev/bbgp/score"
	"gonum.org/v1/plot"
)

func save(t *testing.T, p *plot.Plot, err error, name string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := Save(p, filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	im, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if b := im.Bounds(); b.Dx() < 400 || b.Dy() < 300 {
		t.Errorf("the picture is %v", b)
	}
	svg, err := os.ReadFile(paths[1])
	if err != nil || !bytes.Contains(svg, []byte("<svg")) {
		t.Errorf("no SVG: %v", err)
	}
}

func TestPictures(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var trace []TracePoint
	for i := range 30 {
		l := -4000*math.Exp(-float64(i)/4) + 500
		trace = append(trace, TracePoint{float64(i) / 3, l, l - 1, l + 0.5, 2})
	}
	p, err := Trace(trace)
	save(t, p, err, "trace")
	p, err = Trace(trace[:1])
	save(t, p, err, "one")
	var y, mean, sd []float64
	var laws []score.Law
	for range 500 {
		m := rng.NormFloat64()
		laws = append(laws, score.Normal(m, 0.2))
		mean, sd, y = append(mean, m), append(sd, 0.2), append(y, m+0.2*rng.NormFloat64())
	}
	p, err = Predicted("Held-out rows", "y", y, mean, sd)
	save(t, p, err, "predicted")
	p, err = Predicted("Held-out rows", "y", y[:1], mean[:1], nil)
	save(t, p, err, "one")
	for name, draw := range map[string]func() (*plot.Plot, error){
		"residuals":   func() (*plot.Plot, error) { return Residuals("Residuals", "y", mean, y, true) },
		"calibration": func() (*plot.Plot, error) { return Calibration(y, laws) },
		"effect": func() (*plot.Plot, error) {
			return Effect(&Curve{Input: "x", X: y[:3], Mean: mean[:3], SD: sd[:3], Data: y[:9]}, "y", -3, 3)
		},
		"levels": func() (*plot.Plot, error) {
			return Effect(&Curve{Input: "x", Levels: []string{"a", "b<c>", "long names are cut"}, Mean: mean[:3],
				SD: sd[:3]}, "y", -3, 3)
		},
		"interaction": func() (*plot.Plot, error) {
			return Interaction([]*Curve{{Input: "x", X: y[:3], Mean: mean[:3]}, {Input: "x", X: y[:3], Mean: y[:3]}},
				[]string{"a", "b"}, "text", "y")
		},
		"interaction of texts": func() (*plot.Plot, error) {
			return Interaction([]*Curve{{Input: "x", Levels: []string{"p", "q"}, Mean: mean[:2], Dates: true}},
				[]string{"a"}, "text", "y")
		},
		"quantiles": func() (*plot.Plot, error) { return Quantiles(y, laws) },
		"gaps":      func() (*plot.Plot, error) { return Gaps(trace) },
	} {
		p, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		if svg, err := SVG(p); err != nil || !bytes.HasPrefix(svg, []byte("<svg")) ||
			!bytes.Contains(svg, []byte("</svg>")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Gaps(trace[:0]); err == nil {
		t.Error("bounds of nothing")
	}
	if _, err := Trace(nil); err == nil {
		t.Error("a trace of nothing")
	}
	if _, err := Predicted("Held-out rows", "y", nil, nil, nil); err == nil {
		t.Error("predictions of nothing")
	}
}

// The first steps, far below, do not hide the end of the training.
func TestUsefulRange(t *testing.T) {
	lo, hi := usefulRange([]TracePoint{{0, -1e6, -1e6, -1e6, 0}, {1, 0, -1, 1, 0}, {2, 9, 8, 10, 0}, {3, 10, 9, 11, 0}})
	if lo < 7 || hi < 11 || hi > 12 {
		t.Errorf("%v to %v", lo, hi)
	}
	if lo, hi = usefulRange([]TracePoint{{0, 5, 5, 5, 0}}); !(lo < 5 && 5 < hi) {
		t.Errorf("one point: %v to %v", lo, hi)
	}
}

// Long numbers across a picture do not run into each other.
func TestTicksAcross(t *testing.T) {
	for _, r := range [][2]float64{{1.34, 1.354}, {0.30001, 0.3189}, {100.123, 100.129}, {0, 9}, {2e6, 3e6}} {
		letters := 0
		for _, k := range (ticks{across: true}).Ticks(r[0], r[1]) {
			letters += len(k.Label)
		}
		if letters > mostLetters || letters == 0 {
			t.Errorf("%v: %d letters", r, letters)
		}
	}
}
