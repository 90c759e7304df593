package train

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// The ridge. In up to three inputs near rows tell σ_f²/ℓ^(2ν) of a Matérn function and hardly
// anything beside (Zhang 2004): θ(x) = (e^x ℓ, e^(2νx) σ_f²) is one function to them for all x.
// So neighbours leave x open, and the training does not find it either: where lengthscales are
// far beyond the table L falls off like e^-x, and its slope promises less than a stage is worth
// long before the top is reached. Random rows, which lie far apart, tell x, and their dense
// likelihood costs little. Nothing but x and c is taken from them.

const (
	ridgeRows  = 2000
	ridgeShare = 10   // times as many has the table
	ridgeLeast = 300  // fewer tell too little
	ridgeSteps = 9    // of 1 in x, in either direction
	ridgeEnd   = 0.1  // of x, to which the top is sought
	ridgeNear  = 0.02 // sd of an input is the least lengthscale
	ridgeWorth = 1    // nats that a move has to gain
	ridgeRoom  = 0.5  // of the most that σ_f² is in the coarse search, from where on its top may lie beyond
)

// A ridge has the dense likelihood of random rows along θ(x).
type ridge struct {
	chol    *gp.Cholesky
	p       gp.Params
	twoNu   float64
	moves   []bool // the inputs that have influence
	fixMean bool
}

// ridgeOf returns the ridge through p, nil where there is none or too few rows would tell of it.
func (s *coarse) ridgeOf(p gp.Params) (*ridge, error) {
	f, rows := s.f, min(ridgeRows, s.f.Std.X.Rows/ridgeShare)
	used, moves := inUse(p)
	r := &ridge{p: p, moves: moves, fixMean: f.Config.FixMean}
	r.twoNu = map[string]float64{"matern12": 1, "matern32": 3, "matern52": 5}[p.Kernel]
	if r.twoNu == 0 || used == 0 || used > kernelmv.MapInputs || rows < ridgeLeast || !f.denseFits(rows) {
		return nil, nil
	}
	var err error
	sub := f.Std.Rows(gp.Subset(f.Std.X.Rows, rows, f.Config.Seed+3))
	r.chol, err = gp.NewCholesky(f.Config.Engine.Alone(), sub, p)
	return r, err
}

// inUse tells which inputs have more than a thirtieth of the influence of the first, and how many.
func inUse(p gp.Params) (count int, uses []bool) {
	shortest := slices.Min(p.Lengthscales)
	for _, l := range p.Lengthscales {
		uses = append(uses, l < coarseFar*shortest)
		if l < coarseFar*shortest {
			count++
		}
	}
	return count, uses
}

// A ridgeTop is the top of a ridge, and what it gains there, in nats of the random rows.
type ridgeTop struct {
	P    gp.Params
	Gain float64
}

// tops returns the tops of the ridges through those climbs that are not dropped, the first ones of all.
func (s *coarse) tops(ctx context.Context, all []*ascent) ([]ridgeTop, error) {
	left := slices.IndexFunc(all, func(a *ascent) bool { return a.dropped != "" })
	if left < 0 {
		left = len(all)
	}
	free, err := s.topsBeside(ctx, all[:left], func(*ascent) linalg.Matrix { return linalg.Matrix{} })
	if err != nil || s.terms != allTerms {
		return free, err
	}
	return s.topsByAll(ctx, all[:left], free)
}

// topsBeside returns the tops of the ridges through climbs, beside rows that tell what told says.
func (s *coarse) topsBeside(ctx context.Context, live []*ascent, told func(*ascent) linalg.Matrix) ([]ridgeTop, error) {
	return linalg.Tasks(ctx, s.f.Config.Engine, len(live), func(ctx context.Context, i int) (ridgeTop, error) {
		p, gain, err := s.atTop(ctx, s.params(live[i].z), told(live[i]))
		return ridgeTop{p, gain}, err
	})
}

// atTop returns the top of the ridge through p, less what all rows lose that have the Fisher information told, if
// that is known, and what the random rows gain there, in nats.
func (s *coarse) atTop(ctx context.Context, p gp.Params, told linalg.Matrix) (gp.Params, float64, error) {
	r, err := s.ridgeOf(p)
	if r == nil || err != nil {
		return p, 0, err
	}
	top, start, err := r.at(ctx, 0)
	if err != nil {
		return p, 0, err
	}
	best, x, lost := start, 0.0, r.curvature(told)/2
	for step := 1.0; step > ridgeEnd; step /= 2 {
		from := x
		for _, way := range []float64{-step, step} {
			for range ridgeSteps {
				if way > 0 && x < from || !s.within(r.along(x+way)) {
					break
				}
				q, value, err := r.at(ctx, x+way)
				if err != nil {
					return p, 0, err
				}
				if !(value-lost*(x+way)*(x+way) > best-lost*x*x) {
					break
				}
				top, best, x = q, value, x+way
			}
		}
	}
	return top, best - start, nil
}

// beyondRoom says whether σ_f² is where the candidates of the coarse search have not been.
func (f *Search) beyondRoom(p gp.Params) bool {
	return p.Variance >= ridgeRoom*coarseVariance*varianceOf(f.Std.Y)
}

// upRidge goes to the top of the ridge through t.Cur, where that lies beyond the room of the coarse
// search, whose candidates have been there, and promises what a stage is worth. On success t.Cur is
// there, not evaluated yet.
func (f *Search) upRidge(ctx context.Context, t *Trainer) (bool, error) {
	p, d := t.Cur.P, f.Std.X.Cols
	if f.Std.X.Rows <= cost.DenseRows || !f.beyondRoom(p) {
		return false, nil
	}
	s, err := newCoarse(f)
	if err != nil {
		return false, err
	}
	s.admit(p)
	s.hi[d] = math.Log(maxVariance)
	top, gain, err := s.atTop(ctx, p, linalg.Matrix{})
	if err != nil || !(gain > max(ridgeWorth, t.worth())) {
		return false, err
	}
	f.Starts = append(f.Starts, Candidate{From: "the end of the training, scale by random rows", By: "check",
		Parameters: top, Value: evidence.Bound(gain), Rows: min(ridgeRows, f.Std.X.Rows/ridgeShare), LML: unasked})
	t.Cur, t.fresh, t.measured = Iterate{P: top}, false, nil
	return true, nil
}

// curvature is u'F u for the direction u of the ridge, 0 without F.
func (r *ridge) curvature(f linalg.Matrix) (sum float64) {
	u := make([]float64, f.Rows)
	for j, m := range r.moves {
		if m && f.Rows > 0 {
			u[j], u[len(r.moves)] = 1, r.twoNu
		}
	}
	for i := range f.Rows {
		for j, v := range f.Row(i) {
			sum += u[i] * v * u[j]
		}
	}
	return sum
}

// along returns θ(x).
func (r *ridge) along(x float64) gp.Params {
	q := r.p.Clone()
	q.Variance *= math.Exp(r.twoNu * x)
	for j, m := range r.moves {
		if m {
			q.Lengthscales[j] *= math.Exp(x)
		}
	}
	return q
}

// within says whether a climb may go to p, and rows that are near each other do tell of it.
func (s *coarse) within(p gp.Params) bool {
	d := len(p.Lengthscales)
	for j, l := range p.Lengthscales {
		if s.free[j] && !(l > ridgeNear*math.Exp(s.far[j])/coarseFar) {
			return false
		}
	}
	v := math.Log(p.Variance)
	return v > s.lo[d] && v < s.hi[d]
}

// at returns θ(x), with the most likely mean unless that is fixed, and the log likelihood of the
// rows there, up to a constant; -Inf where float64 has none.
func (r *ridge) at(ctx context.Context, x float64) (gp.Params, float64, error) {
	p, d, n := r.along(x), r.chol.Table, len(r.chol.Table.Y)
	if err := r.chol.Factor(ctx, p); evidence.NotFinite(err) {
		return p, math.Inf(-1), nil
	} else if err != nil {
		return p, 0, err
	}
	b, z := linalg.NewMatrix(n, 2), linalg.NewMatrix(n, 2)
	for i, y := range d.Y {
		b.Set(i, 0, 1)
		b.Set(i, 1, y-p.Mean)
	}
	r.chol.Chol.SolveLTo(z, b)
	one, both, square := 0.0, 0.0, 0.0 // 1'K̂⁻¹1, 1'K̂⁻¹(y - c), (y - c)'K̂⁻¹(y - c)
	for i := range n {
		u, v := z.At(i, 0), z.At(i, 1)
		one, both, square = one+u*u, both+u*v, square+v*v
	}
	if !r.fixMean && one > 0 {
		p.Mean += both / one
		square -= both * both / one
	}
	return p, -(square + r.chol.Chol.LogDet()) / 2, nil
}
