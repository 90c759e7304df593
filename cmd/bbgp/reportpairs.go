package main

import (
	"cmp"
	"context"
	"math"
	"slices"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/plots"
)

const (
	mostDrawn = 2    // interactions
	mostPairs = 4    // inputs whose interactions are looked at
	mostLines = 5    // levels of a text
	worthPair = 0.02 // share of the variance that makes an interaction worth a picture
)

// A pair is two columns, and the share of the variance of the prediction that they have
// together beyond what each has alone.
type pair struct {
	a, b  *group
	share float64
}

// interactions draws the prediction over the pairs of inputs whose common effect is
// more than the sum of their own.
func (r *reporter) interactions(ctx context.Context) (*section, error) {
	s := &section{Title: "Interactions", Text: "Pairs of inputs that do together what neither does alone: " +
		"the prediction over both, the others at their medians and commonest levels."}
	pairs, err := r.pairs(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs[:min(len(pairs), mostDrawn)] {
		if p.share < worthPair {
			break
		}
		draw := r.mapOf
		if !r.curve(p.a) || !r.curve(p.b) {
			draw = r.linesOf
		}
		if err := draw(ctx, s, p, percent(p.share)+" of the variance of the prediction"); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// pairs returns the pairs of the inputs that do most, the largest share first; none
// where a map already shows the only two.
func (r *reporter) pairs(ctx context.Context) ([]pair, error) {
	var top []*group
	for i := range r.groups {
		if g := &r.groups[i]; !math.IsInf(r.shortest(g), 1) && len(top) < mostPairs {
			top = append(top, g)
		}
	}
	if len(top) == 2 && r.curve(top[0]) && r.curve(top[1]) {
		return nil, nil
	}
	var pairs []pair
	var lists [][]int
	for i, a := range top {
		for _, b := range top[:i] {
			pairs = append(pairs, pair{a: b, b: a})
			lists = append(lists, []int{a.block, b.block})
		}
	}
	if pairs == nil {
		return nil, nil
	}
	both, err := r.m.Sobol(ctx, bbgp.SobolOptions{Blocks: r.blocks, Groups: lists, Seed: r.m.Result.Seed, Engine: r.e})
	if err != nil {
		return nil, err
	}
	for i := range pairs {
		pairs[i].share = both[i].First - pairs[i].a.First - pairs[i].b.First
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.share, a.share) })
	return pairs, nil
}

// mapOf draws two numbers as a map.
func (r *reporter) mapOf(ctx context.Context, s *section, p pair, caption string) error {
	m, f, err := r.overTwo(ctx, p.a, p.b, 0.01, false)
	if err != nil {
		return err
	}
	m.Title, m.Z = r.plan.Target, f.Mean
	return s.addMap(m, caption)
}

// linesOf draws a line along one column for each level of the other, a text: those that
// most rows have.
func (r *reporter) linesOf(ctx context.Context, s *section, p pair, caption string) error {
	along, text := p.a, p.b
	if r.curve(text) {
		along, text = text, along
	}
	levels := slices.Clone(text.inputs)
	slices.SortStableFunc(levels, func(i, j int) int { return cmp.Compare(r.sum(j), r.sum(i)) })
	if len(levels) > mostLines {
		levels = levels[:mostLines]
		caption += "; the commonest levels only"
	}
	var curves []*plots.Curve
	var names []string
	for _, j := range levels {
		at := r.middle()
		setLevel(at, text, j)
		c, err := r.curveOf(ctx, along, at)
		if err != nil {
			return err
		}
		curves, names = append(curves, c), append(names, r.level(j))
	}
	pl, err := plots.Interaction(curves, names, text.column, r.plan.Target)
	return s.add(pl, err, caption)
}

// sum is that of input j over the training rows.
func (r *reporter) sum(j int) float64 {
	sum := 0.0
	for i := range r.rows.X.Rows {
		sum += r.rows.X.At(i, j)
	}
	return sum
}
