package posterior

import (
	"cmp"
	"context"
	"math"
	"slices"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/precond"
)

// Rows that the others do not explain, at a cost that does not count: each candidate is
// predicted from its nearest rows by the model, noise included,
//
//	z_i = (y_i - c - b'(y_N - c))/u_i^1/2,   b = K̂_NN⁻¹ K̂_Ni,   u_i = K̂_ii - K̂_iN b,
//
// which is N(0, 1) if the model is right: a residual of the fit is not, where the
// fit goes through every row. A row that is found is taken from the neighbours of all
// others, which it would mislead.

const (
	outlyingNear    = 60 // rows to predict from
	outlyingLooked  = 96 // candidates, of the largest |α_i|: z_i is α_i times a deviation
	outlyingSampled = 96 // and rows that tell the spread of z
	outlyingZ       = 4  // deviations, and
	outlyingSpreads = 6  // spreads by the median, that a row has to be off
	mostOutlying    = 32
)

// A Residual is what the rows around a training row say of its target: mean and standard
// deviation, noise included, standardised, and Z = (y - Mean)/SD, N(0, 1) if the model is
// right.
type Residual struct {
	Row         int
	Mean, SD, Z float64
}

// fewestAround is the number of rows below which the rows around one say nothing of it.
const fewestAround = 8

// Outlying lists the rows that lie beyond 4 deviations and 6 spreads of the residuals, the
// farthest first; nil where rows are fewer than 8. e nil means the engine of the last call,
// or the default one.
func (p *Posterior) Outlying(ctx context.Context, e *linalg.Engine) ([]Residual, error) {
	n := p.N()
	if n < fewestAround {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.solved(ctx, e); err != nil {
		return nil, err
	}
	if err := p.prepare(ctx, e, false); err != nil {
		return nil, err
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(p.weights[b]), math.Abs(p.weights[a]))
	})
	l := &lookout{p: p, gone: map[int32]bool{}, rows: order[:min(outlyingLooked, n)]}
	looked := len(l.rows)
	for k := range min(outlyingSampled, n) {
		l.rows = append(l.rows, k*n/min(outlyingSampled, n))
	}
	if err := l.find(ctx); err != nil {
		return nil, err
	}
	var out []Residual
	for len(out) < mostOutlying {
		if err := l.residuals(ctx); err != nil {
			return nil, err
		}
		size := make([]float64, 0, len(l.rows)-looked)
		for _, o := range l.at[looked:] {
			size = append(size, math.Abs(o.Z))
		}
		slices.Sort(size)
		far := max(outlyingZ, outlyingSpreads*size[len(size)/2]/0.6744897501960817) // 75 % quantile of N(0, 1)
		worst := slices.MaxFunc(l.at[:looked], func(a, b Residual) int {
			return cmp.Compare(math.Abs(a.Z), math.Abs(b.Z))
		})
		if !(math.Abs(worst.Z) > far) {
			break
		}
		out = append(out, worst)
		l.gone[int32(worst.Row)] = true
	}
	return out, nil
}

// Around predicts the given rows, each from its 60 nearest others; nil where rows are
// fewer than 8. e nil means the engine of the last call, or the default one.
func (p *Posterior) Around(ctx context.Context, e *linalg.Engine, rows []int) ([]Residual, error) {
	if p.N() < fewestAround {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.prepare(ctx, e, false); err != nil {
		return nil, err
	}
	l := &lookout{p: p, gone: map[int32]bool{}, rows: rows}
	if err := l.find(ctx); err != nil {
		return nil, err
	}
	err := l.residuals(ctx)
	return l.at, err
}

// A lookout predicts rows from those around them.
type lookout struct {
	p    *Posterior
	rows []int
	near []int32        // of each row, more than are needed
	gone map[int32]bool // rows that were found
	at   []Residual     // of each row
}

// find looks up the neighbours.
func (l *lookout) find(ctx context.Context) (err error) {
	xs := linalg.NewMatrix(len(l.rows), l.p.D())
	for a, i := range l.rows {
		copy(xs.Row(a), l.p.data.X.Row(i))
	}
	l.near, err = l.p.op.Nearest(ctx, xs, l.width())
	return err
}

func (l *lookout) width() int { return outlyingNear + 1 + mostOutlying }

// residuals sets z of all rows; 0 for those that were found.
func (l *lookout) residuals(ctx context.Context) error {
	p, count := l.p, len(l.rows)
	lists := make([]int32, 0, count*(1+outlyingNear))
	for a, i := range l.rows {
		lists = append(lists, int32(i))
		for _, r := range l.near[a*l.width() : (a+1)*l.width()] {
			if r >= 0 && int(r) != i && !l.gone[r] && len(lists) < (a+1)*(1+outlyingNear) {
				lists = append(lists, r)
			}
		}
		for len(lists) < (a+1)*(1+outlyingNear) {
			lists = append(lists, -1)
		}
	}
	coef, variance := linalg.NewMatrix(count, outlyingNear), make([]float64, count)
	if err := precond.Regress(ctx, p.e, p.op, linalg.Matrix{Rows: p.N()}, p.op.Noise(), lists, coef,
		variance); err != nil {
		return err
	}
	l.at = l.at[:0]
	for a, i := range l.rows {
		mean, sd := p.params.Mean, math.Sqrt(variance[a])
		for t, b := range coef.Row(a) {
			if r := lists[a*(1+outlyingNear)+1+t]; r >= 0 {
				mean += b * (p.data.Y[r] - p.params.Mean)
			}
		}
		o := Residual{Row: i, Mean: mean, SD: sd, Z: (p.data.Y[i] - mean) / sd}
		if l.gone[int32(i)] {
			o.Z = 0
		}
		l.at = append(l.at, o)
	}
	return nil
}
