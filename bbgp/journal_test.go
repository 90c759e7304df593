package bbgp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/gptest"
)

// journalFit fits d with a journal at path, which is resumed.
func journalFit(t *testing.T, ctx context.Context, path string, d *Data, opt Options) (*Model, int, error) {
	t.Helper()
	j, err := ResumeJournal(path)
	if err != nil {
		return nil, 0, err
	}
	opt.Journal = j
	m, err := Fit(ctx, d, opt)
	if e := j.Close(); e != nil {
		t.Error(e)
	}
	return m, j.Replayed(), err
}

func sameFit(t *testing.T, what string, a, b *Model) {
	t.Helper()
	if a.Result.LML != b.Result.LML || a.Result.StdErr != b.Result.StdErr || a.Result.Lower != b.Result.Lower ||
		len(a.Result.Trace) != len(b.Result.Trace) ||
		a.Parameters.Noise != b.Parameters.Noise || a.Parameters.Variance != b.Parameters.Variance {
		t.Fatalf("%s: L %v after %d steps, want %v after %d", what, b.Result.LML,
			len(b.Result.Trace), a.Result.LML, len(a.Result.Trace))
	}
	other := b.post.Weights().Alpha
	for i, w := range a.post.Weights().Alpha {
		if other[i] != w {
			t.Fatalf("%s: weight %d is %v, want %v", what, i, other[i], w)
		}
	}
}

// However a journal ends, a resumed fit has the bits of an uninterrupted one and
// computes what the journal does not hold.
func TestResumedFitHasTheSameBits(t *testing.T) {
	for _, tc := range []struct {
		method           string
		n, steps, probes int // 15 probes of a last stage serve the last evaluation, which goes on from it
	}{{"exact", 120, 0, 0}, {"bbgp", 260, 0, 0}, {"bbgp", 260, 0, 15}, {"cglb", 150, 12, 0},
		{"iterative", 150, 9, 0}} {
		t.Run(fmt.Sprint(tc.method, tc.probes), func(t *testing.T) {
			dir, ctx := t.TempDir(), context.Background()
			d := repeated(tc.n, "plain", 7)
			for i := range d.X.Data { // a third of the rows stay repeated
				d.X.Data[i] += 0.3 * float64(i/2%(2*tc.n/3))
				if tc.probes > 0 {
					d.X.Data[i] += 0.001 * rand.New(rand.NewPCG(1, uint64(i))).Float64()
				}
			}
			// All ones: the dense search of few rows leaves little to the training.
			opt := Options{Method: enum.Method(tc.method), MaxSteps: tc.steps,
				PrefitRows: -1, Engine: gptest.Engine(t), Rank: 20, Probes: tc.probes, NoDense: tc.probes > 0}
			if tc.probes > 0 {
				opt.Eps, opt.LMLStdErr, opt.NoScale = 4, 1, true // so that no dense evaluations follow
			}
			plain, err := Fit(ctx, d, opt)
			if err != nil {
				t.Fatal(err)
			}
			if tc.probes > 0 && plain.Result.Probes != tc.probes {
				t.Errorf("the last evaluation has %d probes, not those of the last stage", plain.Result.Probes)
			}
			whole := filepath.Join(dir, "whole")
			m, replayed, err := journalFit(t, ctx, whole, d, opt)
			if err != nil || replayed != 0 {
				t.Fatal(replayed, err)
			}
			sameFit(t, "with a journal", plain, m)
			b, err := os.ReadFile(whole)
			if err != nil {
				t.Fatal(err)
			}
			m, all, err := journalFit(t, ctx, whole, d, opt)
			if err != nil || all < 4 {
				t.Fatalf("%d replayed, %v", all, err)
			}
			sameFit(t, "from a complete journal", plain, m)
			rng := rand.New(rand.NewPCG(1, uint64(tc.n)))
			cut := filepath.Join(dir, "cut")
			for k := range 5 {
				c := append([]byte{}, b[:rng.IntN(len(b)+1)]...)
				if k%3 == 2 && len(c) > 0 { // damage besides
					c[rng.IntN(len(c))] ^= 1 << rng.IntN(8)
				}
				if err := os.WriteFile(cut, c, 0o644); err != nil {
					t.Fatal(err)
				}
				m, replayed, err := journalFit(t, ctx, cut, d, opt)
				if bad := (*FileError)(nil); k%3 == 2 && errors.As(err, &bad) {
					continue // the damage is in what the file says of itself
				}
				if err != nil || replayed > all {
					t.Fatalf("%d of %d replayed, %v", replayed, all, err)
				}
				sameFit(t, "from a part", plain, m)
				if again, err := os.ReadFile(cut); err != nil || len(again) < len(b)*9/10 {
					t.Errorf("%d bytes after the resumed fit, %d of an uninterrupted one, %v", len(again), len(b), err)
				}
			}
		})
	}
}

// A journal grows with every evaluation, and an interrupted fit goes on from it.
func TestInterruptedFit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	d, opt := repeated(200, "weights", 8), Options{Method: "bbgp", PrefitRows: -1, Engine: gptest.Engine(t)}
	plain, err := Fit(context.Background(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	steps := 0
	stop := opt
	stop.Progress = func(Step) {
		if steps++; steps == 6 {
			cancel()
		}
	}
	if _, _, err := journalFit(t, ctx, path, d, stop); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	m, replayed, err := journalFit(t, context.Background(), path, d, opt)
	if err != nil || replayed < 6 {
		t.Fatalf("%d replayed, %v", replayed, err)
	}
	sameFit(t, "resumed", plain, m)
}

// A journal of another fit, or another file, is refused.
func TestJournalOfAnotherFit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "j")
	d, opt := repeated(60, "plain", 9), Options{Engine: gptest.Engine(t)}
	if _, _, err := journalFit(t, context.Background(), path, d, opt); err != nil {
		t.Fatal(err)
	}
	other := opt
	other.Eps = 0.5
	if _, _, err := journalFit(t, context.Background(), path, d, other); err == nil ||
		!strings.Contains(err.Error(), "eps was 1 and is 0.5") {
		t.Error(err)
	}
	changed := repeated(60, "plain", 9)
	changed.Y[3]++
	if _, _, err := journalFit(t, context.Background(), path, changed, opt); err == nil ||
		!strings.Contains(err.Error(), "the data differ") {
		t.Error(err)
	}
	if _, err := checkpoint.CreateJournal(path); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	for _, content := range []string{"a,b\n1,2\n", "a", "bbgpjrnl\x09\x00\x00\x00"} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		var bad *FileError
		if _, err := ResumeJournal(path); !errors.As(err, &bad) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// No content of a file makes a resumed fit fail other than by a *FileError.
func FuzzJournal(f *testing.F) {
	d, opt := repeated(12, "plain", 10), Options{MaxSteps: 3}
	path := filepath.Join(f.TempDir(), "j")
	j, err := ResumeJournal(path)
	if err != nil {
		f.Fatal(err)
	}
	opt.Journal = j
	if _, err := Fit(context.Background(), d, opt); err != nil {
		f.Fatal(err)
	}
	if err := j.Close(); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte(checkpoint.JournalMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := journalFit(t, context.Background(), path, d, Options{MaxSteps: 3})
		if bad := (*FileError)(nil); err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
	})
}
