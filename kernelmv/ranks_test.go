package kernelmv

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
	"bbgp.dev/linalg/linalgtest"
	"bbgp.dev/linalg/precond"
)

func rankCounts() []int {
	if testing.Short() {
		return []int{3}
	}
	return []int{2, 3, 4, 7}
}

// sameOverRanks compares what compute returns on every rank with what it returns alone.
func sameOverRanks(t *testing.T, compute func(e *linalg.Engine) ([]float64, error)) {
	t.Helper()
	want, err := compute(linalgtest.NewEngine(t, nil, 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, ranks := range rankCounts() {
		err := commtest.Run(ranks, func(c comm.Comm) error {
			e, err := linalg.NewEngine(nil, 2)
			if err != nil {
				return err
			}
			e.Comm = c
			got, err := compute(e)
			if err != nil {
				return err
			}
			if len(got) != len(want) {
				return fmt.Errorf("%d numbers, want %d", len(got), len(want))
			}
			for i := range want {
				if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
					return fmt.Errorf("number %d of %d is %v, want the bits of %v", i, len(want), got[i], want[i])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%d ranks: %v", ranks, err)
		}
	}
}

// A rankCase is an operator that is made alike on all ranks.
type rankCase struct {
	n, d   int
	family int
	length float64 // times those of randKernel
}

func (c rankCase) op(e *linalg.Engine) (*Op, *rand.Rand, error) {
	rng := rand.New(rand.NewPCG(uint64(c.n), uint64(c.d)))
	x := linalg.NewMatrix(c.n, c.d)
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	k := randKernel(rng, families[c.family], c.d)
	for i := range k.Lengthscales {
		k.Lengthscales[i] *= c.length
	}
	op, err := NewOp(e, x, k, randNoise(rng, c.n))
	return op, rng, err
}

func normals(rng *rand.Rand, r, c int) linalg.Matrix {
	m := linalg.NewMatrix(r, c)
	for i := range m.Data {
		m.Data[i] = rng.NormFloat64()
	}
	return m
}

func TestProductsOverRanks(t *testing.T) {
	for _, c := range []rankCase{{150, 4, 1, 1}, {500, 5, 3, 1}, {700, 2, 1, 0.05}} {
		for _, p := range []int{1, 2, 5, 40} {
			for _, prec := range []Precision{F32, F64} {
				sameOverRanks(t, func(e *linalg.Engine) ([]float64, error) {
					op, rng, err := c.op(e)
					if err != nil {
						return nil, err
					}
					op.SetPrecision(prec)
					src, dst := normals(rng, c.n, p), linalg.NewMatrix(c.n, p)
					err = op.MulTo(context.Background(), dst, src)
					return dst.Data, err
				})
			}
		}
	}
}

// A counting is a Comm that counts the numbers that come in.
type counting struct {
	comm.Comm
	numbers int
}

func (c *counting) AllGather(x []float64, off []int) error {
	c.numbers += len(x) - (off[c.Rank()+1] - off[c.Rank()])
	return c.Comm.AllGather(x, off)
}

func (c *counting) AllToAll(send, recv []float64, counts []int) error {
	c.numbers += len(recv)
	return c.Comm.AllToAll(send, recv, counts)
}

// What comes in at a rank in a product is what the model of scaling counts, and nothing else.
func TestNumbersOfProduct(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 4, 7, 9} {
		for _, n := range []int{5, 700, 1500} {
			dealt, all := DealtTo(n, ranks), 0.0
			for _, d := range dealt {
				all += d.Pairs
				if all := float64(n) * (1 + 1/float64(ranks)); float64(d.Rows+d.Sums) > 1.5*all {
					t.Errorf("%d rows over %d ranks: %+v", n, ranks, d)
				}
			}
			if math.Abs(all-1) > 1e-12 {
				t.Errorf("%d rows over %d ranks: %v of all pairs", n, ranks, all)
			}
			err := commtest.Run(ranks, func(m comm.Comm) error {
				e, err := linalg.NewEngine(nil, 1)
				if err != nil {
					return err
				}
				c := &counting{Comm: m}
				e.Comm = c
				op, rng, err := rankCase{n, 3, 1, 1}.op(e)
				if err != nil {
					return err
				}
				for _, prec := range []Precision{F32, F64} {
					for _, p := range []int{1, 8, 70} {
						op.SetPrecision(prec)
						src, dst := normals(rng, n, p), linalg.NewMatrix(n, p)
						c.numbers = 0
						if err := op.MulTo(context.Background(), dst, src); err != nil {
							return err
						}
						if want := dealt[m.Rank()].NumbersTo(p, prec); c.numbers != want {
							return fmt.Errorf("%d columns: %d numbers come in, want %d", p, c.numbers, want)
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("%d rows over %d ranks: %v", n, ranks, err)
			}
		}
	}
}

func TestGradientsOverRanks(t *testing.T) {
	for _, c := range []rankCase{{500, 5, 1, 1}, {450, 2, 2, 0.05}, {300, 3, 0, 1}} {
		for _, prec := range []Precision{F32, F64} {
			for _, slack := range []float64{defaultGradSlack, 1e-30} {
				sameOverRanks(t, func(e *linalg.Engine) ([]float64, error) {
					op, rng, err := c.op(e)
					if err != nil {
						return nil, err
					}
					op.SetGradPrecision(prec)
					op.SetGradSlack(slack)
					u, out := normals(rng, c.n, 3), make([]float64, 2*c.d+1)
					m := linalg.NewMatrix(c.n, c.n)
					for i := range c.n {
						for j := range c.n {
							m.Set(i, j, u.At(i, 0)*u.At(j, 0)+u.At(i, 1)*u.At(j, 1))
						}
					}
					if err := op.GradTo(context.Background(), out[:c.d], u, []float64{1, 2, -0.5}); err != nil {
						return nil, err
					}
					out[2*c.d], err = op.DenseGradTo(context.Background(), out[c.d:2*c.d], m)
					return out, err
				})
			}
		}
	}
}

func TestLanczosOverRanks(t *testing.T) {
	c := rankCase{500, 4, 1, 1}
	for _, set := range []precond.Options{
		{Rank: 100, Seed: 3}, {Rank: 30, Neighbours: 8, Seed: 3}, {Rank: 20, Greedy: true}, {Neighbours: 12, Seed: 4},
		{Rank: 120, Neighbours: 5, Decide: func(int, float64) (int, int) { return 110, 6 }},
	} {
		for _, most := range []int{0, 18} {
			sameOverRanks(t, func(e *linalg.Engine) (out []float64, err error) {
				ctx := context.Background()
				op, rng, err := c.op(e)
				if err != nil {
					return nil, err
				}
				p, err := precond.New(ctx, e, op, op.Noise(), set)
				if err != nil {
					return nil, err
				}
				w := normals(rng, c.n, 9)
				l := krylov.NewLanczos(e, c.n, 9, krylov.LanczosOptions{MaxCols: most})
				lo, hi := e.OwnRows(c.n)
				l.Start(op, p, w.Sub(lo, hi, 0, 9))
				for range 5 {
					if err := l.Step(ctx); err != nil {
						return nil, err
					}
				}
				v := linalg.NewMatrix(c.n, 2)
				if err := l.MulBasisTo(ctx, v, normals(rng, l.H.Dim(), 2)); err != nil {
					return nil, err
				}
				p.SolveTo(w, w)
				return append(append(v.Data, w.Data...), p.LogDet(), p.ResidualTrace()), nil
			})
		}
	}
}

// A pass brings a rank the rows of what the product multiplies that others have, its sums, and where rows of W are picked
// two blocks more. Beside these come sums of groups of rows, with what they are of at the borders of ranks.
func TestNumbersOfPass(t *testing.T) {
	const n, p = 16 * 2 * linalg.BlockUnit, 8
	for _, near := range []int{0, 6} {
		for _, ranks := range []int{2, 4} {
			err := commtest.Run(ranks, func(m comm.Comm) error {
				e, err := linalg.NewEngine(nil, 1)
				if err != nil {
					return err
				}
				c := &counting{Comm: m}
				e.Comm = c
				op, rng, err := rankCase{n, 5, 1, 1}.op(e)
				if err != nil {
					return err
				}
				ctx := context.Background()
				op.SetPrecision(F32)
				pre, err := precond.New(ctx, e, op, op.Noise(), precond.Options{Rank: 8, Neighbours: near, Seed: 1})
				if err != nil {
					return err
				}
				lo, hi := e.OwnRows(n)
				l := krylov.NewLanczos(e, n, p, krylov.LanczosOptions{})
				l.Start(op, pre, normals(rng, n, p).Sub(lo, hi, 0, p))
				c.numbers = 0
				if err := l.Step(ctx); err != nil {
					return err
				}
				whole := DealtTo(n, ranks)[m.Rank()].NumbersTo(p, F32)
				if near > 0 {
					whole += 2 * (n - (hi - lo)) * p
				}
				groups := n / 256
				sums := groups*5*p*p + 5*ranks*128*2*p + groups*2*2*96*p // five Gram matrices, borders; basis, low rank
				if more := c.numbers - whole; more < 0 || more > sums {
					return fmt.Errorf("%d numbers come in, %d of blocks; sums are %d at most", c.numbers, whole, sums)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%d ranks, %d neighbours: %v", ranks, near, err)
			}
		}
	}
}

// What ranks hold of P, the basis and blocks is their share: what each has whole is the block that a product gathers and
// the one that W picks rows from, which are told apart. BBGP_LONG=1 counts 200000 rows of 6 inputs.
func TestBytesOverRanks(t *testing.T) {
	n, set, passes := 16*2*linalg.BlockUnit, precond.Options{Rank: 90, Neighbours: 8, Seed: 3}, 3
	if os.Getenv("BBGP_LONG") != "" {
		n, set, passes = 200000, precond.Options{Rank: 200, Neighbours: 32, Seed: 3}, 7
	}
	const cols, ranks = 8, 4
	type held struct{ p, pWhole, basis, blocks, whole int64 }
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
		l.Start(diagonal{e, op.Noise()}, p, normals(rng, n, cols).Sub(lo, hi, 0, cols))
		for range passes - 1 {
			if err := l.Step(ctx); err != nil {
				return held{}, err
			}
		}
		return held{p.Bytes() - p.WholeBytes(), p.WholeBytes(), l.Bytes() - empty - l.WholeBytes(), empty, l.WholeBytes()}, nil
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
	err = commtest.Run(ranks, func(c comm.Comm) error {
		e, err := linalg.NewEngine(nil, 1)
		if err != nil {
			return err
		}
		e.Comm = c
		got, err := count(e)
		if err != nil {
			return err
		}
		t.Logf("rank %d: %+v", c.Rank(), got)
		rows := float64(linalg.GroupRows(n)*((linalg.Groups(n)+ranks-1)/ranks)) / float64(n)
		byColumns := int64(rows * float64((12*(set.Neighbours+1)+4)*n))
		order := (set.Rank + asm.Pad - 1) / asm.Pad * asm.Pad
		small := int64(8*order*order + 1<<17) // a factor, what each thread has
		switch {
		case got.pWhole != block || got.whole != block:
			return fmt.Errorf("%d and %d bytes of blocks are whole, want %d", got.pWhole, got.whole, block)
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

// diagonal is an operator by rows whose products cost nothing.
type diagonal struct {
	e    *linalg.Engine
	diag []float64
}

func (d diagonal) Dim() int     { return len(d.diag) }
func (d diagonal) ByRows() bool { return true }

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
	return diagonal{d.e, d.diag[lo:hi]}.MulTo(ctx, dst, src.Sub(lo, hi, 0, src.Cols))
}

// Neighbours, entries, products with test rows and the likelihood of the Vecchia approximation.
func TestNeighboursOverRanks(t *testing.T) {
	for _, c := range []rankCase{{700, 5, 1, 1}, {9000, 2, 1, 1}} {
		sameOverRanks(t, func(e *linalg.Engine) ([]float64, error) {
			ctx := context.Background()
			op, rng, err := c.op(e)
			if err != nil {
				return nil, err
			}
			order := rng.Perm(c.n)
			found, xs := make([]int32, c.n*7), normals(rng, 300, c.d)
			if err := op.NeighboursTo(ctx, found, order, 7); err != nil {
				return nil, err
			}
			near, err := op.Nearest(ctx, xs, 9)
			if err != nil {
				return nil, err
			}
			if c.d <= h2MaxDim {
				lead := make([]int32, c.n*8)
				if err := op.spreadTo(ctx, lead, order, 8); err != nil {
					return nil, err
				}
				near = append(near, lead...)
			}
			cross, v := linalg.NewMatrix(xs.Rows, 3), normals(rng, c.n, 3)
			if err := op.CrossMulTo(ctx, cross, xs, v); err != nil {
				return nil, err
			}
			cols := linalg.NewMatrix(c.n, 2)
			if err := op.ColsTo(ctx, cols, 0, []int{3, 100}); err != nil {
				return nil, err
			}
			out := append(cross.Data, cols.Data...)
			for _, i := range append(found, near...) {
				out = append(out, float64(i))
			}
			return out, nil
		})
	}
}
