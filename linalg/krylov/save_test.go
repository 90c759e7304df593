package krylov

import (
	"bytes"
	"context"
	"io"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// countedOp counts the products.
type countedOp struct {
	denseOp
	products int
}

func (c *countedOp) MulTo(ctx context.Context, dst, src linalg.Matrix) error {
	c.products++
	return c.denseOp.MulTo(ctx, dst, src)
}

// A process that goes on from what another has saved, in parts, gives the same bits and takes no product until then;
// what is saved by the one that goes on can be gone on from, too. Bytes that are missing or changed are noticed.
func TestResumedLanczos(t *testing.T) {
	dense, f := krylovCase(t, 150, 10, 1e-3)
	w := rademacher(linalgtest.NewRand(4), 150, 4)
	for i := range 150 {
		w.Set(i, 3, w.At(i, 0)-2*w.At(i, 1)) // no direction of its own
	}
	y := linalgtest.GuardedMatrix(linalgtest.NewRand(5), 24, 3)
	ends := func(l *Lanczos) []float64 {
		out := []float64{l.norm}
		for j := range l.H.Blocks() {
			out = append(append(out, l.H.Diag(j).Data...), l.H.Sub(j).Data...)
		}
		prod := linalg.NewMatrix(150, 3)
		if err := l.MulBasisTo(context.Background(), prod, y); err != nil {
			t.Fatal(err)
		}
		return append(out, prod.Data...)
	}
	for _, opt := range []LanczosOptions{{}, {Wide: true}, {MaxCols: -1}, {MaxCols: 9}} {
		op := &countedOp{denseOp: dense}
		whole := NewLanczos(op.e, 150, 4, opt)
		whole.Start(op, f, w)
		steps(t, whole, 9)
		want := ends(whole)
		var file bytes.Buffer
		resumed := 0
		for _, stop := range []int{1, 3, 6, 9} {
			l := NewLanczos(op.e, 150, 4, opt)
			l.Start(op, f, w)
			if resumed > 0 {
				if err := l.ResumeFrom(bytes.NewReader(file.Bytes())); err != nil {
					t.Fatalf("%+v: %v", opt, err)
				}
			}
			op.products = 0
			steps(t, l, stop)
			if l.Repeats() || op.products != stop-resumed {
				t.Errorf("%+v: %d products for steps %d to %d", opt, op.products, resumed, stop)
			}
			l.SaveTo(&file)
			resumed = stop
			if stop < 9 {
				continue
			}
			for i, v := range ends(l) {
				if v != want[i] {
					t.Fatalf("%+v: number %d is %v, want %v", opt, i, v, want[i])
				}
			}
		}
		l := NewLanczos(op.e, 150, 4, opt)
		for _, r := range []io.Reader{
			bytes.NewReader(file.Bytes()[:file.Len()-9]), bytes.NewReader(nil), bytes.NewReader(file.Bytes()[8:]),
		} {
			l.Start(op, f, w)
			if l.ResumeFrom(r) == nil {
				t.Errorf("%+v: what is damaged was taken", opt)
			}
		}
		l.Start(op, f, w)
		steps(t, l, 9)
		for i, v := range ends(l) {
			if v != want[i] {
				t.Fatalf("%+v: number %d is %v after damage, want %v", opt, i, v, want[i])
			}
		}
	}
}
