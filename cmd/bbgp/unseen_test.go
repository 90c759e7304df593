package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/score"
)

// Where one text alone is known the deviations of another are infinite, no NaN.
func TestUnseenOfOneLevel(t *testing.T) {
	one := []float64{0.5}
	p := &bbgp.Prediction{Mean: one, SD: one, SDObs: one, MeanLower: one, MeanUpper: one, SDLower: one, SDUpper: one,
		Laws: []score.Law{{Mean: 0.5, Fixed: 0.25}}}
	q := (&standIns{row: []int{0}, levels: []int{1}, lone: []float64{math.Inf(1)}}).gather(p)
	for name, v := range map[string][]float64{"sd": q.SD, "sd_obs": q.SDObs, "lower": q.SDLower, "upper": q.SDUpper} {
		if !math.IsInf(v[0], 1) {
			t.Errorf("%s %v", name, v[0])
		}
	}
}

// A text that only rows of the fold left out, or held out, have is an unseen one there: with one text that
// the others have, and with many.
func TestUnseenInFolds(t *testing.T) {
	const n, rare = 90, 6
	for _, c := range []struct {
		common int
		flags  []string
	}{{4, nil}, {4, []string{"--no-scale"}}, {1, nil}} {
		rng := rand.New(rand.NewPCG(3, uint64(c.common)))
		var rows strings.Builder
		rows.WriteString("x,k,y\n")
		effect := make([]float64, 4+rare)
		for i := range effect {
			effect[i] = 3 * rng.NormFloat64()
		}
		for i := range n {
			x, level := rng.Float64(), i%c.common
			if i >= n-rare {
				level = 4 + i - (n - rare)
				if c.common == 1 {
					level = 4
				}
			}
			fmt.Fprintf(&rows, "%v,L%d,%v\n", x, level, math.Sin(5*x)+effect[level]+0.1*rng.NormFloat64())
		}
		dir := t.TempDir()
		data, out := write(t, dir, "d.csv", rows.String()), filepath.Join(dir, "rows.csv")
		fold := []string{"--out", out, "--folds", "3"}
		if c.common == 1 { // all of the second text in one fold
			fold = []string{"--out", out, "--group", "k", "--features", "x,k"}
		}
		args := append(append([]string{"cv", data, "--target", "y", "--json", "--quiet"}, fold...), c.flags...)
		var r struct{ All score.Score }
		if err := json.Unmarshal([]byte(want(t, exitOK, args...).out), &r); err != nil {
			t.Fatal(err)
		}
		number, z := column(t, out, "row"), column(t, out, "z")
		for k, v := range z {
			if int(number[k]) > n-rare && math.Abs(v) > 4 {
				t.Errorf("%+v: row %v, of a rare text: z %v", c, number[k], v)
			}
		}
		if !(r.All.NLPD < 4) {
			t.Errorf("%+v: NLPD %v", c, r.All.NLPD)
		}
		if c.common > 1 {
			f := fitCase(t, data, append([]string{"--holdout", "30%"}, c.flags...)...)
			within(t, "NLPD of held-out rows", f.report.Holdout.NLPD, -2, 1)
			r := want(t, exitData, "sample", f.model, data, "--quiet")
			if !strings.Contains(r.err, "column k: training had not seen this text") {
				t.Error(r.err)
			}
		}
	}
}
