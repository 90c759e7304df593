package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// A counter is an estimator whose values depend on all that it was asked before.
type counter struct {
	base  float64 // of the last Rebuild
	count float64
	calls []string
}

var errCounter = errors.New("the disk of the counter is full")

func (c *counter) Rebuild(_ context.Context, p gp.Params, _ evidence.Options) error {
	c.calls = append(c.calls, fmt.Sprintf("P %v", p.Noise))
	if p.Noise < 0 {
		return fmt.Errorf("noise %v: %w", p.Noise, gp.ErrNotFinite)
	}
	c.base = p.Noise
	return nil
}

func (c *counter) Evaluate(_ context.Context, p gp.Params, _ evidence.Options) (*evidence.Value, error) {
	c.calls = append(c.calls, fmt.Sprintf("L %v", p.Variance))
	if p.Variance < 0 {
		return nil, errCounter
	}
	c.count++
	v := 100*c.base + p.Variance + c.count/8
	return &evidence.Value{LML: v, Lower: v, Upper: v, Node: 1, Alpha: []float64{v, -v}}, nil
}

func (c *counter) State() []byte    { return evidence.FloatState(c.base, c.count) }
func (c *counter) Restore(b []byte) { s := evidence.StateFloats(b); c.base, c.count = s[0], s[1] }

// climb is a search: it asks for values and goes on behind faults. It returns what it was answered.
func climb(t *testing.T, e evidence.Estimator, steps int) (seen []string) {
	t.Helper()
	ctx := context.Background()
	at := func(noise, variance float64) gp.Params {
		return gp.Params{Kernel: "matern32", Variance: variance, Noise: noise, Lengthscales: []float64{1}}
	}
	for i := range steps {
		noise, variance := float64(i/2), float64(i)
		if i == 2 {
			noise = -1
		}
		if i == 3 {
			variance = -1
		}
		if err := e.Rebuild(ctx, at(noise, 1), evidence.Options{}); err != nil {
			seen = append(seen, fmt.Sprintf("%v, not finite: %v", err, evidence.NotFinite(err)))
			continue
		}
		v, err := e.Evaluate(ctx, at(noise, variance), evidence.Options{Gradient: i == 99})
		if err != nil {
			seen = append(seen, fmt.Sprintf("%v, not finite: %v", err, evidence.NotFinite(err)))
			continue
		}
		seen = append(seen, fmt.Sprint(v.LML))
	}
	return seen
}

// started opens the journal of a fit.
func started(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := ResumeJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.f.Close() })
	if err := j.Begin([]byte(`{"rows":2,"memory":5000}`)); err != nil {
		t.Fatal(err)
	}
	return j
}

// A search that is resumed, wherever it was cut, is answered as it was before, its faults with their kind, computes
// nothing twice, and goes on from the state behind the last answer.
func TestReplay(t *testing.T) {
	whole := climb(t, &counter{}, 8)
	for cut := range 9 {
		path := filepath.Join(t.TempDir(), "j")
		j := started(t, path)
		first := &counter{}
		climb(t, &Estimator{Of: first, Journal: j, Rows: 2}, cut)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j = started(t, path)
		second := &counter{}
		if got := climb(t, &Estimator{Of: second, Journal: j, Rows: 2}, 8); !slices.Equal(got, whole) {
			t.Errorf("cut after %d:\n%q\nwant\n%q", cut, got, whole)
		}
		for _, c := range second.calls {
			if c[0] == 'L' && slices.Contains(first.calls, c) {
				t.Errorf("cut after %d: %s is computed again", cut, c)
			}
		}
		if want := cut; j.Replayed() != want || !j.Open() {
			t.Errorf("cut after %d: %d answers", cut, j.Replayed())
		}
	}
}

// A value without a gradient is an answer where it was refused, and else none.
func TestReplayRefused(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "j"), context.Background()
	p := gp.Params{Kernel: "matern32", Variance: 7, Noise: 0, Lengthscales: []float64{1}}
	for k, refuse := range []bool{true, true, false} {
		c, j := &counter{}, started(t, path)
		e := &Estimator{Of: c, Journal: j, Rows: 2}
		opt := evidence.Options{Gradient: true, Reject: func(float64) bool { return refuse }}
		if _, err := e.Evaluate(ctx, p, opt); err != nil {
			t.Fatal(err)
		}
		j.Close()
		if answered := len(c.calls) == 0; answered != (k == 1) {
			t.Errorf("call %d: answered from the journal: %v", k, answered)
		}
	}
}

// Another search than the journal's is computed from where it differs; entries of another table are no answers.
func TestReplayOfAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := started(t, path)
	climb(t, &Estimator{Of: &counter{}, Journal: j, Rows: 2}, 2)
	j.Close()
	ctx, p := context.Background(), gp.Params{Kernel: "matern32", Variance: 7, Noise: 0, Lengthscales: []float64{1}}
	for _, what := range []string{"parameters", "rows"} { // in this order: each leaves the journal its own entry
		e := &Estimator{Of: &counter{}, Journal: started(t, path), Rows: 2}
		if what == "rows" {
			e.Rows = 3
		}
		if err := e.Rebuild(ctx, p, evidence.Options{}); err != nil {
			t.Fatal(err)
		}
		if v, err := e.Evaluate(ctx, p, evidence.Options{}); err != nil || v.LML != p.Variance+0.125 {
			t.Errorf("other %s: %v, %v", what, v, err)
		}
		if e.Journal.Replayed() != 0 {
			t.Errorf("other %s: answered from the file", what)
		}
	}
}

// A journal that cannot be written says so when it is closed, and the search goes on.
func TestLostFile(t *testing.T) {
	j := started(t, filepath.Join(t.TempDir(), "j"))
	j.f.Close()
	want := climb(t, &counter{}, 5)
	if got := climb(t, &Estimator{Of: &counter{}, Journal: j, Rows: 2}, 5); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := j.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the loss is not told: %v", err)
	}
	lost := &Journal{f: j.f}
	if err := lost.Begin([]byte("{}")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a journal that cannot begin: %v", err)
	}
}

// What is no journal of this fit is refused by name, and stays as it is.
func TestWrongFiles(t *testing.T) {
	dir := t.TempDir()
	in := func(name string, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		dir:                            "no regular file",
		in("table", "a,b\n1,2\n3,4\n"): "not a checkpoint",
		in("short", "a"):               "not a checkpoint",
		in("old", JournalMagic+"\x01\x00\x00\x00"): "version 1",
	} {
		_, err := ResumeJournal(path)
		if bad := (*gp.FileError)(nil); !errors.As(err, &bad) || !strings.Contains(bad.Reason, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := ResumeJournal(filepath.Join(dir, "none", "j")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, err := CreateJournal(in("there", "x")); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	path := filepath.Join(dir, "j")
	j, err := CreateJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Begin([]byte(`{"rows":2,"memory":5000}`)), j.Close()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		`{"rows":3,"memory":5000}`: "rows was 2 and is 3",
		`{"data":"x","rows":2}`:    "the data differ",
		`x`:                        "damaged",
	} {
		j, err := ResumeJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Begin([]byte(id)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
		j.Close()
	}
	if b, ok := Memory(path); b != 5000 || !ok {
		t.Errorf("the budget is %d, %v", b, ok)
	}
	for _, path := range []string{dir, filepath.Join(dir, "none"), in("empty", ""), in("other", "0123456789ab{}")} {
		if b, ok := Memory(path); b != 0 || ok {
			t.Errorf("%s has a budget of %d", path, b)
		}
	}
}
