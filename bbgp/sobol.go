package bbgp

import (
	"context"
	"fmt"

	"bbgp.dev/internal/posterior"
	"bbgp.dev/linalg"
)

// A Sensitivity holds Sobol's indices of a group of inputs, each between 0 and 1: First,
// what the group explains alone of the variance of the mean, Total, what it explains with
// all others, and StdErr, the standard error of Total over the rows drawn.
type Sensitivity = posterior.Sensitivity

// SobolOptions say of what Sobol returns the indices. The zero value asks for those of
// each input.
type SobolOptions struct {
	// A block lists inputs, from 0, that belong together; nil stands for one an input.
	Blocks [][]int
	// A group lists blocks; nil stands for each block alone.
	Groups [][]int
	// Seed decides which rows are drawn.
	Seed uint64
	// Engine computes; nil means that of the last call, or the default one.
	Engine *linalg.Engine
}

// Sobol returns the indices of groups of blocks of inputs. The cost is that of 256 to 4096
// means for each group. It fails with a *DataError for a list that names what is not there.
func (m *Model) Sobol(ctx context.Context, opt SobolOptions) ([]Sensitivity, error) {
	if err := m.callable(ctx, opt.Engine); err != nil {
		return nil, err
	}
	blocks := oneEach(opt.Blocks, m.D())
	groups := oneEach(opt.Groups, len(blocks))
	if err := checkLists("block", blocks, m.D()); err != nil {
		return nil, err
	}
	if err := checkLists("group", groups, len(blocks)); err != nil {
		return nil, err
	}
	if m.Result.ConstantTarget {
		return make([]Sensitivity, len(groups)), nil
	}
	return m.post.Sobol(ctx, opt.Engine, blocks, groups, opt.Seed)
}

// oneEach returns lists, or for nil the lists {0}, {1}, ..
func oneEach(lists [][]int, n int) [][]int {
	if lists != nil {
		return lists
	}
	out := make([][]int, n)
	for i := range out {
		out[i] = []int{i}
	}
	return out
}

func checkLists(what string, lists [][]int, n int) error {
	for i, list := range lists {
		for _, j := range list {
			if j < 0 || j >= n {
				return &DataError{Row: -1, Reason: fmt.Sprintf("%s %d names number %d of %d", what, i, j, n)}
			}
		}
	}
	return nil
}
