package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/inputs"
)

// A group is the inputs that are made of one column, and what they do.
type group struct {
	column string
	inputs []int
	block  int // in the order of the table
	bbgp.Sensitivity
}

// kind is what the group is made of: a number or date, beside which there may be an
// input that tells where it is missing, or levels of a text.
func (r *reporter) kind(g *group) inputs.Kind { return r.plan.Inputs[g.inputs[0]].Kind }

// curve says whether the prediction can be drawn along the group.
func (r *reporter) curve(g *group) bool {
	k := r.kind(g)
	return k == inputs.Number || k == inputs.Date
}

// shortest is the least lengthscale of the group, in standard deviations.
func (r *reporter) shortest(g *group) float64 {
	l := math.Inf(1)
	for _, j := range g.inputs {
		l = min(l, r.m.Parameters.Lengthscales[j])
	}
	return l
}

// sensitivities returns the groups, what does most first.
func (r *reporter) sensitivities(ctx context.Context) ([]group, error) {
	var out []group
	at := map[string]int{}
	for j, in := range r.plan.Inputs {
		i, ok := at[in.Column]
		if !ok {
			i = len(out)
			at[in.Column] = i
			out = append(out, group{column: in.Column})
		}
		out[i].inputs = append(out[i].inputs, j)
	}
	for i, g := range out {
		out[i].block = i
		r.blocks = append(r.blocks, g.inputs)
	}
	s, err := r.m.Sobol(ctx, bbgp.SobolOptions{Blocks: r.blocks, Seed: r.m.Result.Seed, Engine: r.e})
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Sensitivity = s[i]
	}
	slices.SortStableFunc(out, func(a, b group) int {
		if a.Total != b.Total {
			return map[bool]int{true: -1, false: 1}[a.Total > b.Total]
		}
		return map[bool]int{true: -1, false: 1}[r.shortest(&a) < r.shortest(&b)]
	})
	return out, nil
}

// A relevance is a row of the table of inputs.
type relevance struct {
	Name, Total, First, Length string
	Percent                    float64 // of the bar
}

const mostRelevances = 30

func (r *reporter) relevances() []relevance {
	var out []relevance
	for _, g := range r.groups[:min(len(r.groups), mostRelevances)] {
		v := relevance{Name: g.column, Total: percent(g.Total), First: percent(min(g.First, g.Total)),
			Length: "no influence", Percent: 100 * g.Total}
		l := r.shortest(&g)
		switch j := g.inputs[0]; {
		case math.IsInf(l, 1):
			v.Total, v.First = "", ""
		case r.curve(&g):
			unit := ""
			if r.kind(&g) == inputs.Date {
				unit = " days"
			}
			v.Length = fmt.Sprintf("%s%s (%s sd)", short(l*r.m.Scaling.XScale[j]), unit, short(l))
		default:
			v.Length = fmt.Sprintf("%d levels", len(g.inputs))
		}
		out = append(out, v)
	}
	return out
}

// percent is a share in words.
func percent(v float64) string {
	if v > 0 && v < 0.005 {
		return "< 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*v)
}
