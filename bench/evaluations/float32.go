package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/enum"
	"bbgp.dev/bench/uci"
)

// A trial is an evaluation at random parameters of a part of some set.
type trial struct {
	set        string
	d          *bbgp.Data
	p          bbgp.Params
	eps        float64
	rank, near int
}

func newTrial(rng *rand.Rand, rows int) (*trial, error) {
	sets := []string{"elevators", "pol", "bike", "kin40k", "protein"}
	t := &trial{set: sets[rng.IntN(len(sets))], eps: []float64{1, 0.3, 0.1}[rng.IntN(3)]}
	train, _, err := uci.Load(t.set, rng.IntN(3), rows/4+rng.IntN(3*rows/4))
	if err != nil {
		return nil, err
	}
	t.d = train.Data()
	t.p = bbgp.DefaultParams("", t.d.X.Cols)
	t.p.Noise = math.Exp(-10 * rng.Float64())
	t.p.Variance = math.Exp(7*rng.Float64() - 1)
	scale := math.Exp(3 * rng.Float64())
	for j := range t.p.Lengthscales {
		t.p.Lengthscales[j] = scale * math.Exp(rng.NormFloat64())
	}
	t.rank, t.near = -1, -1
	kind := rng.IntN(3)
	if kind != 1 {
		t.rank = 20 + rng.IntN(180)
	}
	if kind != 0 {
		t.near = 16 + rng.IntN(48)
	}
	return t, nil
}

func (t *trial) evaluate(precision string, eps float64, seed uint64) (*bbgp.LMLReport, error) {
	return evaluate(t.d, t.p, bbgp.Options{Probes: 7, Rank: t.rank, Neighbours: t.near,
		Eps: eps, Precision: enum.Precision(precision), Seed: seed})
}

// float32s compares the bounds of evaluations that stay in float32 with those of
// float64 products, the same probes and the same P, for a bias below eps/300.
func float32s(cases, rows int) error {
	rng := rand.New(rand.NewPCG(1, 7))
	stayed, missed := 0, 0
	fmt.Print("| set | n | rank | neighbours | noise | variance | eps | float32 bounds | float64 bounds | apart by " +
		"|\n|---|---|---|---|---|---|---|---|---|---|\n")
	for c := range cases {
		t, err := newTrial(rng, rows)
		if err != nil {
			return err
		}
		few, err := t.evaluate("auto", t.eps, uint64(c))
		if err != nil {
			return err
		}
		if few.Precision != "f32" {
			continue
		}
		all, err := t.evaluate("f64", t.eps/300, uint64(c))
		if err != nil {
			return err
		}
		stayed++
		if apart := float64(max(few.Lower-all.Upper, all.Lower-few.Upper)); apart > 0.003*t.eps {
			missed++
			fmt.Printf("| %s | %d | %d | %d | %.2g | %.3g | %g | [%.3f, %.3f] | [%.3f, %.3f] | %.2g |\n", t.set,
				t.d.X.Rows, few.Rank, few.Neighbours,
				t.p.Noise, t.p.Variance, t.eps, few.Lower, few.Upper, all.Lower, all.Upper, apart)
		}
	}
	fmt.Printf("\n%d of %d evaluations stayed in float32, %d of their bounds miss.\n", stayed, cases, missed)
	return nil
}
