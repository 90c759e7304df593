package bbgp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// A counted context ends when it has been asked so many times whether it has.
type counted struct {
	context.Context
	left atomic.Int64
}

func (c *counted) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A fit that is stopped within an evaluation goes on within it, on any number of ranks, with the bits of an undisturbed
// one. The basis of the second fit does not find room.
func TestStoppedWithinAnEvaluation(t *testing.T) {
	defer func(was time.Duration) { checkpoint.KeepAfter = was }(checkpoint.KeepAfter)
	checkpoint.KeepAfter = 0
	d := repeated(450, "plain", 3)
	for i := range d.X.Data {
		d.X.Data[i] += 0.3 * float64(i/2)
	}
	for _, opt := range []Options{
		{Method: "bbgp", PrefitRows: -1, NoDense: true, MaxSteps: 2, Eps: 0.01, Probes: 3, Rank: 20, Neighbours: -1},
	} {
		opt.Engine = gptest.Engine(t)
		ctx := &counted{Context: context.Background()}
		const most = 1 << 40
		ctx.left.Store(most)
		plain, err := Fit(ctx, d, opt)
		if err != nil {
			t.Fatal(err)
		}
		asked, within := most-ctx.left.Load(), 0
		for k := range int64(12) {
			path := filepath.Join(t.TempDir(), "j")
			ctx.left.Store(asked * (2*k + 1) / 24)
			if _, _, err := journalFit(t, ctx, path, d, opt); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(b, []byte("part")) {
				continue
			}
			within++
			m, _, err := journalFit(t, context.Background(), path, d, opt)
			if err != nil {
				t.Fatal(err)
			}
			sameFit(t, fmt.Sprint("alone, stopped at ", k), plain, m)
			resumeOverRanks(t, b, d, opt, plain)
		}
		t.Logf("%d of the stops were within an evaluation", within)
		if within < 3 {
			t.Errorf("%d of the stops were within an evaluation", within)
		}
	}
}

// resumeOverRanks goes on with a journal on three ranks, each with a copy.
func resumeOverRanks(t *testing.T, journal []byte, d *Data, opt Options, plain *Model) {
	t.Helper()
	dir := t.TempDir()
	err := commtest.Run(3, func(c comm.Comm) error {
		path := filepath.Join(dir, fmt.Sprint(c.Rank()))
		if err := os.WriteFile(path, journal, 0o600); err != nil {
			return err
		}
		e, err := linalg.NewEngine(nil, 1)
		if err != nil {
			return err
		}
		e.Comm = c
		j, err := ResumeJournal(path)
		if err != nil {
			return err
		}
		defer j.Close()
		opt := opt
		opt.Engine, opt.Journal = e, j
		m, err := Fit(context.Background(), d, opt)
		if err != nil {
			return err
		}
		if m.Result.LML != plain.Result.LML || m.Result.StdErr != plain.Result.StdErr ||
			m.Parameters.Noise != plain.Parameters.Noise || m.Result.Passes != plain.Result.Passes {
			return fmt.Errorf("L %v after %d passes, want %v after %d", m.Result.LML, m.Result.Passes, plain.Result.LML,
				plain.Result.Passes)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
