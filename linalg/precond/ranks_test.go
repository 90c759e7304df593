package precond

import (
	"context"
	"fmt"
	"testing"

	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// P has the same bits on any number of ranks, where few triangles have room beside the rows of L, too, and no rank has
// more than its rows of Q and W.
func TestPrecondOverRanks(t *testing.T) {
	defer func(was func(int) int) { panelRoom = was }(panelRoom)
	const n = 560
	for _, set := range []Options{{Rank: 130, Neighbours: 6, Seed: 2}, {Rank: 50, Seed: 3}, {Rank: 8, Greedy: true}} {
		compute := func(c comm.Comm) ([]float64, error) {
			e, err := linalg.NewEngine(nil, 2)
			if err != nil {
				return nil, err
			}
			e.Comm = c
			rng := linalgtest.NewRand(7)
			k := scalarCov{linalgtest.GuardedMatrix(rng, n, 3), scalarFamilies["matern32"]}
			noise := make([]float64, n)
			for i := range noise {
				noise[i] = 0.01
			}
			p, err := New(context.Background(), e, k, noise, set)
			if err != nil {
				return nil, err
			}
			if most := (n + 191) / 192 * 192 / e.Ranks(); c != nil && p.q.hi-p.q.lo > most+192 {
				return nil, fmt.Errorf("%d rows of Q are held", p.q.hi-p.q.lo)
			}
			if v := p.vecchia; c != nil && v != nil && len(v.w) != (v.near.hi-v.near.lo)*v.near.width {
				return nil, fmt.Errorf("%d entries of W are held", len(v.w))
			}
			x := linalgtest.GuardedMatrix(rng, n, 9)
			out := []float64{p.LogDet(), p.ResidualTrace()}
			for _, apply := range []func(dst, src linalg.Matrix){p.SolveTo, p.FInvTo, p.FInvTransTo, p.On(e).SolveTo} {
				y := linalg.NewMatrix(n, 9)
				apply(y, x)
				out = append(out, y.Data...)
			}
			return out, nil
		}
		want, err := compute(nil)
		if err != nil {
			t.Fatal(err)
		}
		counts := []int{2, 3, 7}
		if testing.Short() {
			counts = counts[1:2]
		}
		for _, ranks := range counts {
			panelRoom = func(int) int { return ranks * 5000 }
			err := commtest.Run(ranks, func(c comm.Comm) error {
				got, err := compute(c)
				for i := range got {
					if got[i] != want[i] {
						return fmt.Errorf("number %d is %v, alone %v", i, got[i], want[i])
					}
				}
				return err
			})
			if err != nil {
				t.Errorf("%+v, %d ranks: %v", set, ranks, err)
			}
		}
	}
}
