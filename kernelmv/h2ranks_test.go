package kernelmv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
	"bbgp.dev/linalg"
)

// Products of form H2, their gradients and products at other rows have the bits of one rank, also where there are more
// ranks than chunks. One input is out.
func TestH2OverRanks(t *testing.T) {
	ctx := context.Background()
	for d := 2; d <= 3; d++ {
		n := map[int]int{2: 5000, 3: 4000}[d]
		if testing.Short() && d == 3 {
			continue
		}
		x := h2Points("clusters", n, d+1, 5)
		setColumn(x, 0, func(i int) float64 { return 16 * x.At(i, 0) }) // so that boxes above the chunks are far
		l := []float64{3, .5, math.Inf(1), .6}[:d+1]
		if d == 3 {
			l[1], l[2] = l[2], l[1] // out is one between others
		}
		precisions := []Precision{F64, F32}[:4-d] // of float32 the plane is enough: the lists are the same
		if testing.Short() {
			precisions = precisions[:1]
		}
		for _, prec := range precisions {
			sameOverRanks(t, func(e *linalg.Engine) ([]float64, error) {
				rng := rand.New(rand.NewPCG(2, uint64(d)))
				o, err := NewOp(e, x, Kernel{Matern32, 1.7, l}, randNoise(rng, n))
				if err != nil {
					return nil, err
				}
				o.SetForm(FormH2, 1e-5, 1e-7)
				o.SetPrecision(prec)
				o.SetGradPrecision(prec)
				v, y := normals(rng, n, 18), linalg.NewMatrix(n, 18)
				if err := o.MulTo(ctx, y, v); err != nil {
					return nil, err
				}
				if f := o.h2.p32; f != nil && e.Ranks() > 1 && len(f.chunks) == len(f.plan.tree.chunks) {
					return nil, fmt.Errorf("a rank of %d has %d chunks", e.Ranks(), len(f.chunks))
				}
				out, u, g := y.Data, v.Sub(0, n, 3, 6), []float64{1, -.5, .2}
				grad, inv := make([]float64, d+1), make([]float64, d+1)
				if err := o.GradTo(ctx, grad, u, g); err != nil {
					return nil, err
				}
				if err := o.GradInvSqTo(ctx, inv, u, g); err != nil {
					return nil, err
				}
				out = append(append(out, grad...), inv...)
				source, err := o.NewSource(ctx, v.Sub(0, n, 0, 2), 1e-4)
				if err != nil || prec == F32 {
					return out, err
				}
				for _, rows := range []int{2500, 300} {
					other := linalg.NewMatrix(rows, 2)
					xs := h2Points("clusters", rows, d+1, 5)
					setColumn(xs, 0, func(i int) float64 { return 16 * xs.At(i, 0) })
					if err := source.MulTo(ctx, other, xs); err != nil {
						return nil, err
					}
					if d == 2 && (source.rows.plan == nil || source.rows.plan.tree.n != rows) {
						return nil, errors.New("products at other rows are dense")
					}
					out = append(out, other.Data...)
				}
				return out, nil
			})
		}
	}
}

// A context that ends on one rank ends what all of them do.
func TestH2StopsOverRanks(t *testing.T) {
	const n = 6000
	x := h2Points("uniform", n, 2, 5)
	type call = func(ctx context.Context, o *Op, v linalg.Matrix) error
	for name, pass := range map[string]call{
		"MulTo": func(ctx context.Context, o *Op, v linalg.Matrix) error {
			return o.MulTo(ctx, linalg.NewMatrix(n, 2), v)
		},
		"GradTo": func(ctx context.Context, o *Op, v linalg.Matrix) error {
			return o.GradTo(ctx, make([]float64, 2), v, []float64{1, 1})
		},
		"Source": func(ctx context.Context, o *Op, v linalg.Matrix) error {
			s, err := o.NewSource(ctx, v, 1e-4)
			if err != nil {
				return err
			}
			return s.MulTo(ctx, linalg.NewMatrix(2500, 2), x.Sub(0, 2500, 0, 2))
		},
	} {
		err := commtest.Run(3, func(c comm.Comm) error {
			e, err := linalg.NewEngine(nil, 1)
			if err != nil {
				return err
			}
			agreed := comm.NewAgreed(c)
			e.Comm = agreed
			local, cancel := context.WithCancel(context.Background())
			defer cancel()
			ctx, done := agreed.Context(local)
			defer done()
			o, err := NewOp(e, x, Kernel{Matern32, 1, []float64{.2, .2}}, make([]float64, n))
			if err != nil {
				return err
			}
			o.SetForm(FormH2, 1e-5, 1e-7)
			if c.Rank() == 1 {
				cancel()
			}
			if err := pass(ctx, o, normals(rand.New(rand.NewPCG(1, 1)), n, 2)); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("%s = %v, want context.Canceled", name, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// Runs are of about the same cost, and all things are in one.
func TestRunsOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, things := range []int{0, 1, 5, 64, 500} {
		cost := make([]float64, things)
		total, most := 0.0, 0.0
		for i := range cost {
			cost[i] = rng.Float64()
			total, most = total+cost[i], max(most, cost[i])
		}
		for _, ranks := range []int{1, 2, 3, 7, 80} {
			start := runsOf(cost, ranks)
			if len(start) != ranks+1 || start[0] != 0 || start[ranks] != things {
				t.Fatalf("%d things, %d ranks: %v", things, ranks, start)
			}
			for r := range ranks {
				sum := 0.0
				for _, c := range cost[start[r]:start[r+1]] {
					sum += c
				}
				if sum > total/float64(ranks)+most {
					t.Errorf("%d things, %d ranks: run %d costs %v of %v", things, ranks, r, sum, total)
				}
			}
		}
	}
}
