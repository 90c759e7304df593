package posterior

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"bbgp.dev/linalg"
)

// Rows close to each other, as the cells of a hole in a map are, have most near rows in common:
// one Cholesky factor of R_NN, N the near rows of all of them, serves a group. Whatever N is,
// what the regression leaves is no less than the variance, and more rows leave less; so N is
// the union, and a group whose union is more than twice that of a row is cut in two.

const (
	groupRows = 48  // of a group at most
	groupNear = 200 // near rows from which on a factor each is what costs
	groupWide = 2   // times as many rows as one has may be in the union
	groupGain = 2   // times what its factor takes, at least, those of its rows take that have one each
	// aloneNear is how many near rows a factor takes of which those of several rows at a time, by lanes, are slower.
	aloneNear = 512
)

// A nearGroup is the places of rows that have a factor together, and the near rows of all of them; one that has none
// is of a single place, as may be one that has.
type nearGroup struct {
	at []int
	on []int32
}

// A grouped is what the factor of a group has told, if there is one in float64.
type grouped struct {
	Fits    bool
	Bounds  rowBounds
	Settled []bool
}

// inGroups bounds the rows at those places by regressions on their nn nearest rows, near
// (·×nn), and returns the places that have no group. Ranks share the groups out.
func (r *regression) inGroups(ctx context.Context, at []int, near []int32, nn int) (alone []int, err error) {
	mark := make([]bool, r.p.N())
	place := make([]int, len(at))
	for i := range place {
		place[i] = i
	}
	var groups []nearGroup
	var visit func(group []int)
	visit = func(group []int) {
		if len(group) < 2 {
			g := nearGroup{at: group}
			if nn >= aloneNear {
				g.on = union(mark, near, nn, group)
			}
			groups = append(groups, g)
			return
		}
		if len(group) <= groupRows {
			if on := union(mark, near, nn, group); pays(len(on), len(group), nn) {
				groups = append(groups, nearGroup{group, on})
				return
			}
		}
		mid := r.cut(at, group)
		visit(group[:mid])
		visit(group[mid:])
	}
	visit(place)
	rows := make([][]int, len(groups)) // of std
	for k, g := range groups {
		for _, i := range g.at {
			rows[k] = append(rows[k], r.rows[at[i]])
		}
	}
	found, err := linalg.Tasks(ctx, r.p.e, len(groups), func(ctx context.Context, k int) (out grouped, err error) {
		if groups[k].on == nil {
			return out, ctx.Err()
		}
		err = r.onAll(ctx, at, groups[k].at, groups[k].on)
		if notPD := (*linalg.NotPDError)(nil); errors.As(err, &notPD) {
			return out, nil
		}
		out.Fits, out.Bounds = true, r.v.of(rows[k])
		for _, i := range groups[k].at {
			out.Settled = append(out.Settled, r.settled[at[i]])
		}
		return out, err
	})
	for k, f := range found {
		if !f.Fits {
			alone = append(alone, groups[k].at...)
			continue
		}
		r.v.set(rows[k], f.Bounds)
		for n, i := range groups[k].at {
			r.settled[at[i]] = f.Settled[n]
		}
	}
	return alone, err
}

// pays says whether one factor of so many rows is worth it for a group of so many that have nn near ones each.
func pays(on, group, nn int) bool {
	return on <= groupWide*nn && groupGain*on*on*on <= group*nn*nn*nn
}

// union returns the near rows of a group, in order. mark is all false before and after.
func union(mark []bool, near []int32, nn int, group []int) []int32 {
	var on []int32
	for _, i := range group {
		for _, k := range near[i*nn : (i+1)*nn] {
			if k >= 0 && !mark[k] {
				mark[k] = true
				on = append(on, k)
			}
		}
	}
	for _, k := range on {
		mark[k] = false
	}
	slices.Sort(on)
	return on
}

// cut orders the group by the input in which it is widest, in lengthscales, and returns where its
// second half begins.
func (r *regression) cut(at, group []int) int {
	widest, most := 0, -1.0
	for k, l := range r.p.params.Lengthscales {
		lo, hi := r.xs.At(at[group[0]], k), r.xs.At(at[group[0]], k)
		for _, i := range group {
			x := r.xs.At(at[i], k)
			lo, hi = min(lo, x), max(hi, x)
		}
		if w := (hi - lo) / l; w > most {
			widest, most = k, w
		}
	}
	slices.SortStableFunc(group, func(a, b int) int {
		return cmp.Or(cmp.Compare(r.xs.At(at[a], widest), r.xs.At(at[b], widest)), a-b)
	})
	return len(group) / 2
}

// onAll bounds the rows of a group by regressions on the same rows. It returns a *NotPDError
// where their covariance is not definite in float64.
func (r *regression) onAll(ctx context.Context, at, group []int, on []int32) error {
	p, m := r.p, len(on)
	places := make([]int, len(group))
	for a, i := range group {
		places[a] = at[i]
	}
	rows := make([]int, m)
	for a, k := range on {
		rows[a] = int(k)
	}
	cov, cross := linalg.NewMatrix(m, m), linalg.NewMatrix(len(group), m)
	if err := p.op.CrossTo(ctx, cov, pickRows(p.data.X, rows), on); err != nil {
		return err
	}
	if err := p.op.CrossTo(ctx, cross, pickRows(r.xs, places), on); err != nil {
		return err
	}
	noise := p.probes.noise
	for a, k := range on {
		cov.Set(a, a, p.params.Variance+noise[k])
	}
	chol, err := p.e.NewCholesky(cov)
	if err != nil {
		return err
	}
	x := transpose(cross)
	chol.SolveLTo(x, x)
	explained := linalg.ColumnDots(x, x)
	chol.SolveLTransTo(x, x)
	coef := transpose(x)
	p.e.Par.For(len(group), func(_, a int) {
		own := noise[p.N()+places[a]]
		left := max(p.params.Variance+own-explained[a], own, 0)
		r.bound(places[a], left, on, coef.Row(a))
	})
	return ctx.Err()
}
