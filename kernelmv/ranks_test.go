package kernelmv

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

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

// A counting is a Comm that counts the numbers that come in, and those that there is room for.
type counting struct {
	comm.Comm
	numbers, room int
}

// countOnRanks runs compute on ranks with an engine of one thread each.
func countOnRanks(ranks int, compute func(e *linalg.Engine, c *counting) error) error {
	return commtest.Run(ranks, func(m comm.Comm) error {
		e, err := linalg.NewEngine(nil, 1)
		if err != nil {
			return err
		}
		c := &counting{Comm: m}
		e.Comm = c
		return compute(e, c)
	})
}

func (c *counting) Alloc(n int) []float64 {
	c.room += n
	return c.Comm.Alloc(n)
}

func (c *counting) Free(x []float64) { c.room -= len(x) }

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
	counts, sizes, widths := []int{1, 2, 3, 4, 7, 9}, []int{5, 700, 1500}, []int{1, 8, 70}
	if testing.Short() {
		counts, sizes, widths = []int{1, 2, 7}, []int{5, 700}, []int{8}
	}
	for _, ranks := range counts {
		for _, n := range sizes {
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
			err := countOnRanks(ranks, func(e *linalg.Engine, c *counting) error {
				op, rng, err := rankCase{n, 3, 1, 1}.op(e)
				if err != nil {
					return err
				}
				for _, prec := range []Precision{F32, F64} {
					for _, p := range widths {
						op.SetPrecision(prec)
						src, dst := normals(rng, n, p), linalg.NewMatrix(n, p)
						c.numbers = 0
						if err := op.MulTo(context.Background(), dst, src); err != nil {
							return err
						}
						if want := dealt[c.Rank()].NumbersTo(p, prec); c.numbers != want {
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
	for _, set := range []precond.Options{
		{Rank: 100, Seed: 3}, {Rank: 30, Neighbours: 8, Seed: 3}, {Rank: 20, Greedy: true}, {Neighbours: 12, Seed: 4},
		{Rank: 120, Neighbours: 5, Decide: func(int, float64) (int, int) { return 110, 6 }},
	} {
		for _, of := range []struct{ d, most int }{{4, 0}, {4, 18}, {2, 0}} { // two inputs have another order
			c, most := rankCase{500, of.d, 1, 1}, of.most
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
