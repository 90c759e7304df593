package bbgp_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

var freeze = flag.Bool("freeze", false, "write the bits of this program to testdata/frozen")

// frozenFit is a case of TestFrozen.
type frozenFit struct {
	name string
	n, d int
	opt  bbgp.Options
}

var frozenFits = []frozenFit{
	{"exact", 40, 2, bbgp.Options{}},
	{"few-rows", 12, 3, bbgp.Options{}},
	{"bbgp", 250, 2, bbgp.Options{Method: "bbgp", MaxSteps: 8, NoDense: true, LMLStdErr: 0.1}},
	{"one-input", 80, 1, bbgp.Options{Method: "bbgp", MaxSteps: 8, NoDense: true, LMLStdErr: 0.1}},
	{"f64-levenberg", 100, 3, bbgp.Options{Method: "bbgp", Optimizer: "levenberg", Precision: "f64", MaxSteps: 8,
		PrefitRows: -1, LMLStdErr: 0.1}},
	{"sgpr", 200, 2, bbgp.Options{Method: "sgpr", Rank: 20, MaxSteps: 8, PrefitRows: -1}},
	{"cglb", 200, 2, bbgp.Options{Method: "cglb", Rank: 20, MaxSteps: 8, PrefitRows: -1}},
	{"iterative", 150, 2, bbgp.Options{Method: "iterative", MaxSteps: 5, PrefitRows: -1}},
	{"rr", 150, 2, bbgp.Options{Method: "rr", MaxSteps: 5, PrefitRows: -1}},
}

// frozenCalls is the number of calls that testdata/frozen/checkpoint holds.
const frozenCalls = 3

// frozenData are rows of a wavy function, some of them twice, in units of their own.
func frozenData(n, d int, seed uint64) *bbgp.Data {
	r := rand.New(rand.NewPCG(seed, 77))
	x, y := linalg.NewMatrix(n, d), make([]float64, n)
	for i := range n {
		for j := range d {
			x.Set(i, j, 3+r.Float64()*4)
			if i%17 == 16 {
				x.Set(i, j, x.At(i-1, j))
			}
		}
		y[i] = 20 + 5*math.Sin(2*x.At(i, 0)) + x.At(i, d-1) + 0.3*r.NormFloat64()
	}
	return &bbgp.Data{X: x, Y: y}
}

// A frozenLog collects numbers by name, as they are to the last bit.
type frozenLog struct{ strings.Builder }

func (l *frozenLog) add(name string, v ...float64) {
	fmt.Fprintf(l, "%s", name)
	for _, x := range v {
		fmt.Fprintf(l, " %x", x)
	}
	l.WriteByte('\n')
}

// TestFrozen: what the program computes has the bits that it had. They are those of the
// plain Go routines on amd64, where the compiler fuses no product with a sum; a change that
// is meant to alter them renews testdata/frozen by -freeze and says why. The model and
// the checkpoint there are of an earlier program: their formats can still be read.
func TestFrozen(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the bits are those of amd64")
	}
	if testing.Short() {
		t.Skip("an emulated CPU may round exp in another way")
	}
	im, err := asm.Lookup("generic")
	if err != nil {
		t.Fatal(err)
	}
	e, err := linalg.NewEngine(im, 1)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("testdata", "frozen")
	var log frozenLog
	for _, c := range frozenFits {
		c.opt.Engine, c.opt.Seed = e, 5
		log.fit(t, c, dir)
	}
	log.likelihoods(e)
	file := filepath.Join(dir, "bits.txt")
	if *freeze {
		if err := os.WriteFile(file, []byte(log.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	is, was := strings.Split(log.String(), "\n"), strings.Split(string(want), "\n")
	if len(is) != len(was) {
		t.Fatalf("%d lines, there were %d", len(is), len(was))
	}
	for i := range is {
		if is[i] != was[i] {
			t.Errorf("line %d is\n%s\nand was\n%s", i+1, is[i], was[i])
		}
	}
}

// fit logs a fit and what its model says; the first of method bbgp also goes on from the
// checkpoint and reads the model in dir.
func (l *frozenLog) fit(t *testing.T, c frozenFit, dir string) {
	ctx := context.Background()
	d, kept := frozenData(c.n, c.d, 1), c.name == "bbgp"
	if kept {
		c.opt.Journal = frozenJournal(t, filepath.Join(dir, "checkpoint"))
	}
	m, err := bbgp.Fit(ctx, d, c.opt)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	r := &m.Result
	if kept {
		if err := c.opt.Journal.Close(); err != nil {
			t.Fatal(err)
		}
		if n := c.opt.Journal.Replayed(); !*freeze && n != frozenCalls {
			t.Errorf("%s: %d calls were answered from the checkpoint, which holds %d", c.name, n, frozenCalls)
		}
	}
	l.params(c.name, m.Parameters)
	l.add(c.name+" lml", r.LML, float64(r.Lower), float64(r.Upper), r.StdErr, float64(r.Evaluations), float64(r.Passes),
		float64(r.Rank), float64(r.Neighbours))
	for _, s := range r.Starts {
		l.params(c.name+" start "+s.From, s.Parameters)
	}
	xs := frozenData(6, c.d, 2).X
	l.predictions(t, c.name, m, xs, c.opt.Engine)
	if !kept {
		return
	}
	old := filepath.Join(dir, "model")
	if *freeze {
		if err := m.Save(old); err != nil {
			t.Fatal(err)
		}
	}
	read, err := bbgp.Load(old)
	if err != nil {
		t.Fatal(err)
	}
	l.predictions(t, "file", read, xs, c.opt.Engine)
	left, err := m.LeaveOneOut(ctx, bbgp.LeaveOutOptions{Engine: c.opt.Engine})
	if err != nil {
		t.Fatal(err)
	}
	l.add(c.name+" loo", append(left.Mean[:10:10], left.SDObs[:10]...)...)
}

// frozenJournal is a copy of a checkpoint, or where it is to be made.
func frozenJournal(t *testing.T, path string) *bbgp.Journal {
	if *freeze {
		os.Remove(path)
	} else {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(t.TempDir(), "checkpoint")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, err := bbgp.ResumeJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func (l *frozenLog) params(name string, p bbgp.Params) {
	l.add(name+" parameters", append([]float64{p.Mean, p.Variance, p.Noise}, p.Lengthscales...)...)
}

// predictions logs means, deviations and draws at xs.
func (l *frozenLog) predictions(t *testing.T, name string, m *bbgp.Model, xs linalg.Matrix, e *linalg.Engine) {
	ctx := context.Background()
	p, err := m.Predict(ctx, xs, bbgp.PredictOptions{SD: true, Engine: e})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	s, err := m.Sample(ctx, xs, bbgp.SampleOptions{Draws: 2, Seed: 3, Engine: e})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	l.add(name+" mean", p.Mean...)
	l.add(name+" sd", p.SD...)
	l.add(name+" sd_obs", p.SDObs...)
	l.add(name+" draws", s.Values.Data...)
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := bbgp.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	q, err := again.Predict(ctx, xs, bbgp.PredictOptions{SD: true, Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	l.add(name+" written mean", q.Mean...)
	l.add(name+" written sd", q.SD...)
}

// likelihoods logs values and gradients at given parameters.
func (l *frozenLog) likelihoods(e *linalg.Engine) {
	d := frozenData(80, 2, 1)
	d.NoiseScale = make([]float64, 80)
	for i := range d.NoiseScale {
		d.NoiseScale[i] = 1 + float64(i%3)
	}
	for _, kernel := range gp.Families() {
		for _, noise := range []float64{0.1, 1e-4} {
			p := bbgp.Params{Kernel: kernel, Mean: 0.2, Variance: 1.5, Noise: noise, Lengthscales: []float64{0.7, 3}}
			for _, method := range enum.Methods() {
				r, err := bbgp.LogMarginalLikelihood(context.Background(), d, p,
					bbgp.Options{Method: method, Seed: 4, Engine: e})
				name := fmt.Sprintf("%s %g %s", kernel, noise, method)
				if err != nil {
					fmt.Fprintln(l, name, err)
					continue
				}
				g := r.Gradient
				l.add(name, append([]float64{r.LML, float64(r.Lower), float64(r.Upper), r.StdErr, float64(r.Passes),
					g.Mean, g.Variance, g.Noise}, g.Lengthscales...)...)
			}
		}
	}
}
