package bbgp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"bbgp.dev/internal/posterior"
	"bbgp.dev/linalg"
)

// A model of whatever numbers and words is not written, with a reason, or is read again
// and predicts the same bits. The fit is replaced by given parameters, for it would take
// most of the time.
func FuzzModel(f *testing.F) {
	m, _ := smallModel(f, 6, Options{MaxSteps: 2})
	f.Add([]byte{}, "x1", "y", []byte("{}"), 1.0, 1.0, 0.1, 1.0)
	f.Add([]byte("numbers that are eight bytes each"), "caf\xe9", "caf\xe8", []byte("\xff"), 1e-3, 1e5, 1e-6, 7e200)
	f.Add([]byte{1, 2, 3}, "x1", "y", []byte("{}"), 1.0, 1.0, 0.1, 1.0)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0xf0, 0x7f}, "", "\x00", []byte{}, math.Inf(1), 1e300, 1e-300, -1.0)
	f.Fuzz(func(t *testing.T, numbers []byte, name, target string, extra []byte, l, variance, noise, scale float64) {
		d := *m.post.Data()
		d.X = d.X.Clone()
		for i := range min(len(numbers)/8, len(d.X.Data)) {
			d.X.Data[i] = math.Float64frombits(binary.LittleEndian.Uint64(numbers[8*i:]))
		}
		c := &Model{Parameters: m.Parameters.Clone(), Scaling: m.Scaling,
			Names: slices.Clone(m.Names), Target: target, Extra: extra}
		c.Names[0], c.Parameters.Lengthscales[0] = name, l
		c.Parameters.Variance, c.Parameters.Noise, c.Scaling.YScale = variance, noise, scale
		w := posterior.Weights{Alpha: m.post.Weights().Alpha, MeanError: math.Inf(1)}
		c.post = posterior.New(&d, c.Parameters, m.post.Spec(), nil, w)
		if len(numbers) != 3 { // a report, or as a program left it
			c.Result = m.Result
			c.Result.Parameters, c.Result.Scaling = c.Parameters, c.Scaling
		}
		var b bytes.Buffer
		if err := c.Write(&b); err != nil {
			if !typed(err) {
				t.Fatal(err)
			}
			return
		}
		back, err := Read(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if !slices.Equal(back.Names, c.Names) || back.Target != target || !bytes.Equal(back.Extra, extra) ||
			!reflect.DeepEqual(back.Parameters, c.Parameters) {
			t.Fatalf("%q, %q, %q came back as %q, %q, %q", c.Names, target, extra, back.Names, back.Target, back.Extra)
		}
		xs := linalg.NewMatrix(2, 3)
		copy(xs.Data, d.X.Data)
		was, err := c.Predict(context.Background(), xs, PredictOptions{SD: true})
		is, again := back.Predict(context.Background(), xs, PredictOptions{SD: true})
		switch {
		case err != nil || again != nil:
			if !typed(err) && !errors.Is(err, ErrNotFinite) || (err == nil) != (again == nil) {
				t.Fatalf("%v; read again: %v", err, again)
			}
		case !slices.Equal(was.Mean, is.Mean) || !slices.Equal(was.SD, is.SD):
			t.Fatalf("%v, %v; read again: %v, %v", was.Mean, was.SD, is.Mean, is.SD)
		}
	})
}
