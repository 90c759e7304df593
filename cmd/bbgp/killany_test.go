package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bbgp.dev/bbgp"
)

// A killable is a command with a file that it writes. whole says whether the file is what
// an undisturbed run writes.
type killable struct {
	args  []string
	out   string
	whole func(got []byte) bool
	took  time.Duration
}

// killables are the commands that write, each run once undisturbed. The fits have a
// model whose predictions are known; the last goes on from a checkpoint.
func killables(t *testing.T, dir string) []killable {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	d, model := sample(t, dir, "d.csv", 60, 6), at("m.bbgp")
	fit := []string{"fit", d, "--target", "y", "--quiet"}
	want(t, exitOK, append(fit, "--out", model)...)
	modelIsWhole := func(d, model string) func(got []byte) bool {
		means := func(path string) string { return want(t, exitOK, "predict", path, d, "--quiet").out }
		truth := means(model)
		return func(got []byte) bool {
			copied := at("copy.bbgp")
			if err := os.WriteFile(copied, got, 0o600); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(copied)
			return means(copied) == truth
		}
	}
	all := []killable{
		{args: fit, out: at("fit.bbgp"), whole: modelIsWhole(d, model)},
		{args: append(slices.Clone(fit), "--checkpoint", at("point"), "--resume"),
			out: at("resumed.bbgp"), whole: modelIsWhole(d, model)},
	}
	if os.Getenv("BBGP_KILLS") != "" { // a map takes seconds: products below n², from the checkpoint of another kill
		places, model := sampleMap(t, dir, "map.csv", 2500), at("mapm.bbgp")
		fit := []string{"fit", places, "--target", "y", "--quiet", "--method", "bbgp", "--product", "h2",
			"--max-steps", "3"}
		want(t, exitOK, append(slices.Clone(fit), "--out", model)...)
		all = append(all, killable{args: append(fit, "--checkpoint", at("mappoint"), "--resume"), out: at("map.bbgp"),
			whole: modelIsWhole(places, model)})
	}
	all = append(all, killable{args: []string{"predict", model, d, "--sd", "--quiet"}, out: at("p.csv")},
		killable{args: []string{"sample", model, d, "--draws", "2", "--quiet"}, out: at("s.csv")})
	for i := range all {
		k := &all[i]
		k.args = append(slices.Clone(k.args), "--out", k.out)
		began := time.Now()
		c, errw := play(t, "bbgp", k.args...)
		if err := c.Wait(); err != nil {
			t.Fatalf("%q: %v: %s", k.args, err, errw)
		}
		k.took = time.Since(began)
		content, err := os.ReadFile(k.out)
		if err != nil {
			t.Fatal(err)
		}
		if k.whole == nil {
			k.whole = func(got []byte) bool { return string(got) == string(content) }
		}
	}
	return all
}

// sampleMap writes a table of places in the unit square.
func sampleMap(t *testing.T, dir, name string, n int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 2))
	var b strings.Builder
	b.WriteString("lon,lat,y\n")
	for range n {
		u, v := rng.Float64(), rng.Float64()
		fmt.Fprintf(&b, "%.5f,%.5f,%.5f\n", u, v, math.Sin(9*u)*math.Cos(7*v)+0.2*rng.NormFloat64())
	}
	return write(t, dir, name, b.String())
}

// Whatever writes is killed at a random moment: its file is the old one or the whole new
// one, and the next run leaves what it writes and nothing else.
func TestKilledAnywhere(t *testing.T) {
	dir := t.TempDir()
	all, point := killables(t, dir), filepath.Join(dir, "point")
	const old = "what was there before"
	rng := rand.New(rand.NewPCG(9, 1))
	var killed, kept, replaced int
	for i := range kills(t, 24) {
		k := all[i%len(all)]
		if err := os.WriteFile(k.out, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(3) == 0 {
			os.Remove(point) // or the fit goes on from its end, or from where it was killed
			os.Remove(filepath.Join(dir, "mappoint"))
		}
		c, errw := play(t, "bbgp", k.args...)
		time.Sleep(time.Duration(rng.Float64() * 1.3 * float64(k.took)))
		_ = c.Process.Kill() // it may have ended
		if c.Wait() != nil {
			killed++
		}
		got, err := os.ReadFile(k.out)
		switch {
		case err != nil || errw.Len() > 0:
			t.Fatalf("%q: %v: %s", k.args, err, errw)
		case string(got) == old:
			kept++
		case k.whole(got):
			replaced++
		default:
			t.Fatalf("%q left %d bytes that are neither the old nor the new file", k.args, len(got))
		}
	}
	t.Logf("%d killed; %d files were the old ones, %d the new ones", killed, kept, replaced)
	if killed == 0 {
		t.Error("nothing was killed")
	}
	names := []string{"d.csv", "m.bbgp", "point", "map.csv", "mapm.bbgp", "mappoint"}
	for _, k := range all {
		c, errw := play(t, "bbgp", k.args...)
		if err := c.Wait(); err != nil || errw.Len() > 0 {
			t.Fatalf("%q after the kills: %v: %s", k.args, err, errw)
		}
		if got, err := os.ReadFile(k.out); err != nil || !k.whole(got) {
			t.Errorf("%q after the kills: %v, another result", k.args, err)
		}
		names = append(names, filepath.Base(k.out))
	}
	if _, err := bbgp.Load(all[0].out); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(names, e.Name()) {
			t.Errorf("%s is left", e.Name())
		}
	}
}
