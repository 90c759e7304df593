package bbgp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/linalg"
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

// Outlying lists the rows that lie far off what the rows around them say, the farthest
// first: beyond 4 deviations and 6 spreads of the residuals. Rows that were merged
// because they repeat are one, with the index of their place in the order of places;
// e nil means the default engine. Robust models, whose noise explains such rows, have
// none.
func (m *Model) Outlying(ctx context.Context, e *linalg.Engine) ([]Outlier, error) {
	if m.Result.ConstantTarget || m.Result.NoiseDF > 0 || m.N() < 8 {
		return nil, nil
	}
	var out []Outlier
	err := m.look(ctx, e, func(l *lookout) (err error) {
		out, err = l.outlying(ctx)
		return err
	})
	return out, err
}

// look calls f with a model that is prepared and held.
func (m *Model) look(ctx context.Context, e *linalg.Engine, f func(*lookout) error) error {
	e, err := m.engineOr(e)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.prepare(ctx, e, false)
	if err != nil {
		return err
	}
	return f(&lookout{m: m, p: p, gone: map[int32]bool{}})
}

// outlying finds the rows one after the other.
func (l *lookout) outlying(ctx context.Context) ([]Outlier, error) {
	n := l.m.N()
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(l.m.weights[b]), math.Abs(l.m.weights[a]))
	})
	l.rows = order[:min(outlyingLooked, n)]
	looked := len(l.rows)
	for k := range min(outlyingSampled, n) {
		l.rows = append(l.rows, k*n/min(outlyingSampled, n))
	}
	if err := l.find(ctx); err != nil {
		return nil, err
	}
	var out []Outlier
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
		worst := slices.MaxFunc(l.at[:looked], func(a, b Outlier) int {
			return cmp.Compare(math.Abs(a.Z),
				math.Abs(b.Z))
		})
		if !(math.Abs(worst.Z) > far) {
			break
		}
		out = append(out, worst)
		l.gone[int32(worst.Row)] = true
	}
	return out, nil
}

// Around predicts the given training rows, each from its 60 nearest others at the
// parameters of the model: Z is N(0, 1) if the model is right. Rows count as in Trained;
// e nil means the default engine. A model of a constant target, or of fewer than 8 rows,
// says nothing: nil.
func (m *Model) Around(ctx context.Context, e *linalg.Engine, rows []int) ([]Outlier, error) {
	if m.Result.ConstantTarget || m.N() < 8 || len(rows) == 0 {
		return nil, nil
	}
	for _, i := range rows {
		if i < 0 || i >= m.N() {
			return nil, fmt.Errorf("bbgp: row %d of %d training rows", i, m.N())
		}
	}
	var at []Outlier
	err := m.look(ctx, e, func(l *lookout) error {
		l.rows = rows
		if err := l.find(ctx); err != nil {
			return err
		}
		err := l.residuals(ctx)
		at = l.at
		return err
	})
	return at, err
}

// A lookout predicts rows from those around them.
type lookout struct {
	m    *Model
	p    *prepared
	rows []int
	near []int32        // of each row, more than are needed
	gone map[int32]bool // rows that were found
	at   []Outlier      // of each row
}

// find looks up the neighbours.
func (l *lookout) find(ctx context.Context) (err error) {
	xs := linalg.NewMatrix(len(l.rows), l.m.D())
	for a, i := range l.rows {
		copy(xs.Row(a), l.m.x.Row(i))
	}
	l.near, err = l.p.op.Nearest(ctx, xs, l.width())
	return err
}

func (l *lookout) width() int { return outlyingNear + 1 + mostOutlying }

// residuals sets z of all rows; 0 for those that were found.
func (l *lookout) residuals(ctx context.Context) error {
	m, count := l.m, len(l.rows)
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
	if err := l.p.e.Regress(ctx, l.p.op, linalg.Matrix{Rows: m.N()}, l.p.op.Noise(), lists, coef,
		variance); err != nil {
		return err
	}
	s := &m.Scaling
	l.at = l.at[:0]
	for a, i := range l.rows {
		mean, sd := m.Parameters.Mean, math.Sqrt(variance[a])
		for t, b := range coef.Row(a) {
			if r := lists[a*(1+outlyingNear)+1+t]; r >= 0 {
				mean += b * (m.y[r] - m.Parameters.Mean)
			}
		}
		o := Outlier{Row: i, Y: s.YMean + s.YScale*m.y[i], Mean: s.YMean + s.YScale*mean, SDObs: s.YScale * sd,
			Z: (m.y[i] - mean) / sd}
		if l.gone[int32(i)] {
			o.Z = 0
		}
		l.at = append(l.at, o)
	}
	return nil
}
