package kernelmv

import (
	"context"
	"fmt"
	"os"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
	"bbgp.dev/linalg/precond"
)

// A pass brings a rank the rows of what the product multiplies that others have (its sums are counted by
// TestNumbersOfProduct), and where rows of W are picked two blocks more. Beside these come sums of groups of rows, with
// what they are of at the borders of ranks. Operators that are not by rows change nothing of it.
func TestNumbersOfPass(t *testing.T) {
	const n, p = 16 * 2 * linalg.BlockUnit, 8
	for _, of := range []struct {
		near, ranks int
		byRows      bool
	}{{0, 2, true}, {6, 2, true}, {0, 4, true}, {6, 4, true}, {0, 3, false}, {6, 3, false}} {
		err := countOnRanks(of.ranks, func(e *linalg.Engine, c *counting) error {
			op, rng, err := rankCase{n, 5, 1, 1}.op(e)
			if err != nil {
				return err
			}
			ctx := context.Background()
			pre, err := precond.New(ctx, e, op, op.Noise(), precond.Options{Rank: 8, Neighbours: of.near, Seed: 1})
			if err != nil {
				return err
			}
			lo, hi := e.OwnRows(n)
			l := krylov.NewLanczos(e, n, p, krylov.LanczosOptions{})
			l.Start(diagonal{e, op.Noise(), of.byRows}, pre, normals(rng, n, p).Sub(lo, hi, 0, p))
			c.numbers = 0
			if err := l.Step(ctx); err != nil {
				return err
			}
			whole := (n - (hi - lo)) * p
			if of.near > 0 {
				whole *= 3
			}
			groups := n / 256
			// Five Gram matrices and what they are of at borders; the basis and the low-rank part.
			sums := groups*5*p*p + 5*of.ranks*128*2*p + groups*2*2*96*p
			if more := c.numbers - whole; more < 0 || more > sums {
				return fmt.Errorf("%d numbers come in, %d of blocks; sums are %d at most", c.numbers, whole, sums)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%+v: %v", of, err)
		}
	}
}

// What ranks hold of P, the basis and blocks is their share: what each has whole is one block, in the memory of
// gathers, which products and W pick rows from, one after the other. BBGP_LONG=1 counts 200000 rows.
func TestBytesOverRanks(t *testing.T) {
	n, set, passes := 16*2*linalg.BlockUnit, precond.Options{Rank: 90, Neighbours: 8, Seed: 3}, 3
	if os.Getenv("BBGP_LONG") != "" {
		n, set, passes = 200000, precond.Options{Rank: 200, Neighbours: 32, Seed: 3}, 7
	}
	const cols, ranks = 8, 4
	type held struct{ p, basis, blocks, whole int64 }
	count := func(e *linalg.Engine) (held, error) {
		ctx := context.Background()
		op, rng, err := rankCase{n, 6, 1, 1}.op(e)
		if err != nil {
			return held{}, err
		}
		p, err := precond.New(ctx, e, op, op.Noise(), set)
		if err != nil {
			return held{}, err
		}
		lo, hi := e.OwnRows(n)
		l := krylov.NewLanczos(e, n, cols, krylov.LanczosOptions{})
		empty := l.Bytes()
		l.Start(diagonal{e, op.Noise(), true}, p, normals(rng, n, cols).Sub(lo, hi, 0, cols))
		for range passes - 1 {
			if err := l.Step(ctx); err != nil {
				return held{}, err
			}
		}
		whole := l.WholeBytes()
		return held{p.Bytes(), l.Bytes() - empty - whole, empty, whole}, nil
	}
	e, err := linalg.NewEngine(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	one, err := count(e)
	if err != nil {
		t.Fatal(err)
	}
	block := int64(8 * n * cols)
	t.Logf("alone: %+v", one)
	err = countOnRanks(ranks, func(e *linalg.Engine, c *counting) error {
		got, err := count(e)
		if err != nil {
			return err
		}
		t.Logf("rank %d: %+v, room of gathers %d", c.Rank(), got, 8*c.room)
		rows := float64(linalg.GroupRows(n)*((linalg.Groups(n)+ranks-1)/ranks)) / float64(n)
		byColumns := int64(rows * float64((12*(set.Neighbours+1)+4)*n))
		order := (set.Rank + asm.Pad - 1) / asm.Pad * asm.Pad
		small := int64(8*order*order + 1<<17) // a factor, what each thread has
		switch {
		case got.whole != 0 || int64(8*c.room) > max(block, 8<<20): // tables come in parts of 8 MB
			return fmt.Errorf("%d bytes of blocks are whole, and %d for gathers", got.whole, 8*c.room)
		case got.p > int64(rows*float64(one.p))+byColumns+small:
			return fmt.Errorf("%d bytes of P, alone %d", got.p, one.p)
		case got.basis > int64(rows*float64(one.basis)) || got.blocks > int64(rows*float64(one.blocks)):
			return fmt.Errorf("%+v, alone %+v", got, one)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// diagonal is an operator whose products cost nothing; by rows it brings all of them together, as others do.
type diagonal struct {
	e      *linalg.Engine
	diag   []float64
	byRows bool
}

func (d diagonal) Dim() int     { return len(d.diag) }
func (d diagonal) ByRows() bool { return d.byRows }

func (d diagonal) MulTo(_ context.Context, dst, src linalg.Matrix) error {
	for i, v := range d.diag {
		for c, x := range src.Row(i) {
			dst.Set(i, c, v*x)
		}
	}
	return nil
}

func (d diagonal) MulRowsTo(ctx context.Context, dst, src linalg.Matrix) error {
	lo, hi := d.e.OwnRows(len(d.diag))
	all := d.e.GatheredRows(src, len(d.diag), src.Cols)
	return diagonal{diag: d.diag[lo:hi]}.MulTo(ctx, dst, all.Sub(lo, hi, 0, src.Cols))
}
