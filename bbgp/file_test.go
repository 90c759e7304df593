package bbgp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/internal/posterior"
	"bbgp.dev/linalg"
)

// smallModel fits some rows with a seed, with noise that differs by row.
func smallModel(t testing.TB, n int, opt Options) (*Model, *Data) {
	d := randomData(n, 3, 11)
	opt.Engine = gptest.Engine(t)
	m, err := Fit(context.Background(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	return m, d
}

// TestSaveLoadPredict: a model read back predicts the same bits, for the dense
// and for the iterative solver.
func TestSaveLoadPredict(t *testing.T) {
	for _, method := range []string{"exact", "bbgp"} {
		m, _ := smallModel(t, 120, Options{Method: enum.Method(method), MaxSteps: 6, PrefitRows: -1, Seed: 3})
		m.Extra = []byte("mine")
		spec := m.post.Spec()
		spec.Dense = method == "exact" // few rows would be dense in any case
		m.post = posterior.New(m.post.Data(), m.Parameters, spec, m.Result.Costs, m.post.Weights())
		path := filepath.Join(t.TempDir(), "m.bbgp")
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		back, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(back.Extra) != "mine" || back.Result.LML != m.Result.LML || back.Names[2] != "x3" {
			t.Errorf("came back with %q, %v, %v", back.Extra, back.Result.LML, back.Names)
		}
		xs := randomData(300, 3, 12).X // enough for the probes
		ctx := context.Background()
		a, err := m.Predict(ctx, xs, PredictOptions{SD: true, Engine: gptest.Engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		b, err := back.Predict(ctx, xs, PredictOptions{SD: true, Engine: gptest.Engine(t)})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.Mean, b.Mean) || !slices.Equal(a.SD, b.SD) || !slices.Equal(a.SDLower, b.SDLower) {
			t.Errorf("%s: predictions differ after Save and Load", method)
		}
	}
}

func modelBytes(t testing.TB) []byte {
	m, _ := smallModel(t, 20, Options{MaxSteps: 2})
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDamagedFiles(t *testing.T) {
	good := modelBytes(t)
	if _, err := Read(bytes.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	newer := slices.Clone(good)
	binary.LittleEndian.PutUint32(newer[8:], fileVersion+1)
	flipped := slices.Clone(good)
	flipped[len(flipped)/2] ^= 4
	for what, b := range map[string][]byte{
		"empty": {}, "other": []byte("x1,x2,y\n1,2,3\n"), "magic only": good[:8], "cut": good[:len(good)-40],
		"longer": append(slices.Clone(good), 0), "newer": newer, "flipped": flipped,
	} {
		path := filepath.Join(t.TempDir(), "m")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		var bad *FileError
		if _, err := Load(path); !errors.As(err, &bad) || bad.Path != path {
			t.Errorf("%s: error %v", what, err)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: error %v", err)
	}
	m, _ := smallModel(t, 20, Options{MaxSteps: 2})
	if err := m.Save(filepath.Join(t.TempDir(), "no", "such", "folder")); err == nil {
		t.Error("saved into a folder that does not exist")
	}
}

// reframe gives header and body the frame of an undamaged file, so that what is
// behind the checksum gets fuzzed too.
func reframe(head, body []byte) []byte {
	m := fileFrame(head, len(body))
	return sealFile(append(m, body...))
}

func FuzzRead(f *testing.F) {
	good := modelBytes(f)
	head, body, err := openFile(good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, []byte{}, true)
	f.Add(head, body, false)
	f.Add(bytes.Replace(head, []byte(`"n":20`), []byte(`"n":20000000000`), 1), body, false)
	f.Add(bytes.Replace(head, []byte(`"d":3`), []byte(`"d":-3`), 1), body, false)
	f.Add(bytes.Replace(head, []byte(`"n":20`), []byte(`"n":4611686018427387904`), 1), body, false)
	f.Add(bytes.Replace(head, []byte(`"rank":`), []byte(`"rank":900000000`), 1), body, false)
	f.Add([]byte(`{"result":{"trace":[`+strings.Repeat("{},", 3000)+`{}]}}`), []byte{}, false)
	f.Add([]byte(`{}`), []byte{}, false)
	f.Fuzz(func(t *testing.T, a, b []byte, whole bool) {
		if !whole {
			a = reframe(a, b)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := Read(bytes.NewReader(a))
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20+512*uint64(len(a)) {
			t.Errorf("a file of %d bytes took %d bytes of memory", len(a), got)
		}
		if err != nil {
			return
		}
		// What is accepted predicts or says why not; it does not panic.
		xs := linalg.NewMatrix(1, m.D())
		if m.N() < 100 && m.D() < 100 {
			if p, err := m.Predict(context.Background(), xs, PredictOptions{SD: true}); err == nil &&
				math.IsNaN(p.SD[0]) {
				t.Error("NaN deviation")
			}
		}
	})
}
