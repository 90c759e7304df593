package bbgp

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// long says whether the long form of a test is asked for.
func long() bool { return os.Getenv("BBGP_LONG") != "" }

// forge changes one value of a model's header and makes the checksum right.
func forge(t testing.TB, file []byte, path string, v any) []byte {
	t.Helper()
	head, body, err := openFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	dec := json.NewDecoder(bytes.NewReader(head))
	dec.UseNumber()
	if err := dec.Decode(&all); err != nil {
		t.Fatal(err)
	}
	at := all
	keys := strings.Split(path, ".")
	for _, k := range keys[:len(keys)-1] {
		at = at[k].(map[string]any)
	}
	if _, ok := at[keys[len(keys)-1]]; !ok {
		t.Fatalf("the header has no %s", path)
	}
	at[keys[len(keys)-1]] = v
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return reframe(b, body)
}

// A header that says two things is refused, whatever its checksum.
func TestForgedHeaders(t *testing.T) {
	file := modelBytes(t)
	if _, err := Read(bytes.NewReader(forge(t, file, "target", "z"))); err != nil {
		t.Fatal(err) // a target may have another name
	}
	for path, values := range map[string][]any{
		"n": {0, -1, 19, 21, 1 << 62}, "d": {0, 2, 4}, "names": {nil, []string{"a"}}, "mean_error": {-1},
		"scaling.y_scale": {0, -1, 1e308, 2}, "scaling.y_mean": {1e305, 7},
		"scaling.x_mean": {[]float64{}, []float64{1, 2, 3}}, "scaling.x_scale": {[]float64{0, 1, 1}},
		"parameters.noise": {0, -1, 1e308, 5}, "parameters.variance": {0, 1e308, 5}, "parameters.mean": {1e301, 3},
		"parameters.kernel": {"x", "gaussian"}, "parameters.lengthscales": {[]float64{}, []float64{1},
			[]float64{1, 2, -3}, []float64{1, 2, 3, 4}},
		"recipe.rank": {-2, 21, 1 << 40}, "recipe.neighbours": {-7, 21, 1_000_000_000}, "recipe.node": {-1, 2},
		"noise_scale": {false}, "noise_extra": {false}, "result.d": {2, 99}, "result.n": {1, 19},
		"result.distinct_rows": {7},
		"result.df":            {-1, 0.5, 21, 1e300}, "result.noise_df": {-4, 0.1, 1e300},
		"result.constant_target": {true},
		"result.constant_inputs": {[]string{"nobody"}}, "result.parameters.noise": {3},
		"result.trace": {[]any{map[string]any{"parameters": map[string]any{"variance": 1, "noise": 1,
			"lengthscales": []float64{1}}}}},
		"result.costs.unit": {-1},
	} {
		for _, v := range values {
			if _, err := Read(bytes.NewReader(forge(t, file, path, v))); !typed(err) {
				t.Errorf("%s = %v: %v", path, v, err)
			}
		}
	}
}

// Rows that do not repeat are as many as the report says: intervals are by that number.
func TestForgedRows(t *testing.T) {
	d := randomData(30, 3, 11)
	d.NoiseScale = nil
	m, err := Fit(context.Background(), d, Options{MaxSteps: 2, Engine: gptest.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(bytes.NewReader(forge(t, b.Bytes(), "result.n", 1<<40))); !typed(err) {
		t.Error(err)
	}
}

// A dense factor or preconditioner beyond the memory is refused, not begun.
func TestForgedSizes(t *testing.T) {
	m, _ := smallModel(t, 30, Options{MaxSteps: 2})
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1000))
	refuses(t, "the dense factor", func() error {
		_, err := m.Predict(context.Background(), linalg.NewMatrix(1, m.D()), PredictOptions{SD: true})
		return err
	})
}

// A file in which anything was changed is refused or predicts what it did: half of the
// files have a checksum that is right.
func TestDamagedModelsPredictTheSame(t *testing.T) {
	count := 500
	if long() {
		count = 10_000
	}
	ctx := context.Background()
	for k, set := range []Options{{Method: "exact", MaxSteps: 3}, {Method: "bbgp", MaxSteps: 3}} {
		m, _ := smallModel(t, 40, set)
		var buf bytes.Buffer
		if err := m.Write(&buf); err != nil {
			t.Fatal(err)
		}
		file := buf.Bytes()
		head, _, err := openFile(file)
		if err != nil {
			t.Fatal(err)
		}
		e, err := linalg.NewEngine(nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		xs := linalg.NewMatrix(8, m.D())
		rng := rand.New(rand.NewPCG(uint64(k), 5))
		for i := range xs.Data {
			xs.Data[i] = rng.Float64()
		}
		truth, err := m.Predict(ctx, xs, PredictOptions{Engine: e})
		if err != nil {
			t.Fatal(err)
		}
		accepted := 0
		for i := range count / 2 {
			b := damage(rng, file, len(head), i%2 == 0)
			again, err := Read(bytes.NewReader(b))
			var p *Prediction
			if err == nil {
				p, err = again.Predict(ctx, xs, PredictOptions{Engine: e})
			}
			if err != nil {
				if !typed(err) {
					t.Errorf("%d: %v", i, err)
				}
				continue
			}
			accepted++
			for j, v := range p.Mean {
				if d := math.Abs(v - truth.Mean[j]); !(d <= 0.01*m.Scaling.YScale) {
					t.Errorf("damage %d moves a mean by %g in silence", i, d)
				}
			}
		}
		t.Logf("%d of %d files were accepted", accepted, count/2)
	}
}

// damage returns a copy of a model file with some bytes changed; sum makes the checksum
// right again.
func damage(rng *rand.Rand, file []byte, head int, sum bool) []byte {
	b := bytes.Clone(file[:len(file)-32])
	for range 1 + rng.IntN(2) {
		at := fixedBytes + rng.IntN(len(b)-fixedBytes)
		switch rng.IntN(4) {
		case 0:
			at = rng.IntN(len(b))
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			b[at] ^= 1 << rng.IntN(8)
		case 2: // a digit of the header
			if at = fixedBytes + rng.IntN(head); b[at] >= '0' && b[at] <= '9' {
				b[at] = '0' + byte(rng.IntN(10))
			}
		default: // the exponent of a number
			if n := (len(b) - fixedBytes - head) / 8; n > 0 {
				b[min(fixedBytes+head+8*rng.IntN(n)+6+rng.IntN(2), len(b)-1)] ^= 1 << rng.IntN(8)
			}
		}
	}
	if sum {
		return sealFile(b)
	}
	return append(b, file[len(file)-32:]...)
}

// A checkpoint in which anything was changed is refused, or gives the bits of an
// undisturbed fit, also where the sums of its records are right.
func TestDamagedCheckpoints(t *testing.T) {
	count := 40
	if long() {
		count = 5000
	}
	d, opt := repeated(12, "plain", 10), Options{MaxSteps: 3}
	dir := t.TempDir()
	whole, truth := checkpointOf(t, dir, d, opt)
	rng := rand.New(rand.NewPCG(7, 5))
	began := time.Now()
	for i := range count {
		b := bytes.Clone(whole)
		for range 1 + rng.IntN(3) {
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		}
		if rng.IntN(4) == 0 {
			b = b[:rng.IntN(len(b))]
		}
		if i%2 == 0 {
			sumRecords(b)
		}
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		m, _, err := journalFit(t, context.Background(), path, d, opt)
		os.Remove(path)
		if err != nil {
			if !typed(err) {
				t.Errorf("%d: %v", i, err)
			}
			continue
		}
		// With sums made right an entry may tell another value: then the fit goes another
		// way, to a model that is still one of these rows.
		if i%2 == 1 && m.Result.LML != truth.Result.LML {
			t.Errorf("%d: LML %v, without damage %v", i, m.Result.LML, truth.Result.LML)
		}
		if p, err := m.Predict(context.Background(), d.X, PredictOptions{SD: true}); err == nil &&
			!gp.Finite(p.Mean[0]) || err != nil && !typed(err) {
			t.Errorf("%d: %v", i, err)
		}
	}
	t.Logf("%d files in %v", count, time.Since(began))
}

// checkpointOf returns the checkpoint of a fit and its model.
func checkpointOf(t testing.TB, dir string, d *Data, opt Options) ([]byte, *Model) {
	t.Helper()
	path := filepath.Join(dir, "whole")
	j, err := ResumeJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	opt.Journal = j
	m, err := Fit(context.Background(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b, m
}

// sumRecords makes the sums of the records of a checkpoint right, as far as their
// lengths lead.
func sumRecords(b []byte) {
	for at := int(checkpoint.JournalStart); at+checkpoint.RecordHead <= len(b); {
		size := int(binary.LittleEndian.Uint32(b[at:]))
		end := at + checkpoint.RecordHead + size
		if end > len(b) {
			return
		}
		binary.LittleEndian.PutUint32(b[at+4:], crc32.Checksum(b[at+checkpoint.RecordHead:end], checkpoint.Castagnoli))
		at = end
	}
}
