package train

import (
	"context"
	"math"
	"slices"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// A surface is a likelihood that is cheap to evaluate: its value and derivatives by
// log ℓ_1..log ℓ_D, log σ_f², log σ_n² at p, with the best c, which it returns. It
// fails with an error that wraps ErrNotFinite where rounding leaves no value.
type surface func(ctx context.Context, p gp.Params) (value float64, grad []float64, mean float64, err error)

// A climber climbs a surface from one start by quasi-Newton steps in a trust region, as
// many at a time as it is told, so that many can be compared on their way.
type climber struct {
	from  string
	p     gp.Params
	z     []float64
	value float64
	evals int
	done  bool // no step promises worth nats, or none succeeds

	at     surface
	limit  int  // rows, which bound σ_f²/σ_n²
	ratio  bool // z has log σ_f²/σ_n² in place of log σ_f²: the climb can go along that bound
	fixed  []bool
	grad   []float64
	model  quadraticModel
	radius float64
	worth  float64
	fails  int
}

const (
	climbRadius = 1.5   // of a first step, in logarithms
	climbFar    = 4     // of any step
	climbWorth  = 0.005 // nats that are worth a step on the way
	endWorth    = 1e-6  // and at the end
	climbFails  = 7     // steps in turn that end a climb
)

func newClimber(e *linalg.Engine, from string, at surface, p gp.Params, fixed []bool, rows int) *climber {
	return &climber{from: from, p: p.Clone(), z: logVector(p)[:len(p.Lengthscales)+2], at: at, limit: rows,
		fixed: fixed, radius: climbRadius, worth: climbWorth, value: math.Inf(-1),
		model: quadraticModel{e: e, keep: true}}
}

// A climberState is what changes of a climber.
type climberState struct {
	P                               gp.Params
	Z, Grad                         []float64
	Value, Curvature, Radius, Worth float64
	Evals, Fails                    int
	Done                            bool
	Pairs                           [][2][]float64
}

func (c *climber) state() climberState {
	s := climberState{P: c.p, Z: c.z, Grad: c.grad, Value: c.value, Radius: c.radius, Worth: c.worth, Evals: c.evals,
		Fails: c.fails, Done: c.done}
	if c.model.base != nil {
		s.Curvature = c.model.base.at(0)
	}
	for _, p := range c.model.pairs {
		s.Pairs = append(s.Pairs, [2][]float64{p.s, p.y})
	}
	return s
}

func (c *climber) set(s climberState) {
	c.p, c.z, c.grad, c.value, c.radius, c.worth = s.P, s.Z, s.Grad, s.Value, s.Radius, s.Worth
	c.evals, c.fails, c.done = s.Evals, s.Fails, s.Done
	if s.Curvature > 0 {
		c.curve(s.Curvature)
	}
	c.model.pairs = nil
	for _, p := range s.Pairs {
		c.model.pairs = append(c.model.pairs, pair{p[0], p[1]})
	}
}

// byRatio lets c climb by log σ_f²/σ_n² and log σ_n².
func (c *climber) byRatio() {
	d, at := len(c.z)-2, c.at
	c.ratio = true
	c.z[d] -= c.z[d+1]
	c.at = func(ctx context.Context, p gp.Params) (float64, []float64, float64, error) {
		v, g, mean, err := at(ctx, p)
		if err == nil {
			g[d+1] += g[d]
		}
		return v, g, mean, err
	}
}

// start evaluates the start; one that has no value is done at -Inf.
func (c *climber) start(ctx context.Context) {
	c.evals++
	d := len(c.z) - 2
	v, g, mean, err := c.at(ctx, c.p)
	if err != nil {
		c.done = true
		return
	}
	c.value, c.grad, c.p.Mean = v, g, mean
	// A first step along the gradient as long as the radius allows.
	norm := 0.0
	for i, s := range g {
		if i >= d || !c.fixed[i] {
			norm += s * s
		}
	}
	c.curve(max(math.Sqrt(norm), 1) / climbRadius)
}

// curve sets the curvature that is assumed where pairs tell none.
func (c *climber) curve(v float64) {
	b := linalg.NewMatrix(len(c.z), len(c.z))
	for i := range c.z {
		b.Set(i, i, v)
	}
	c.model.base = denseInformation{b}
}

// climb takes steps until so many evaluations are spent or no step promises anything.
// It returns the error of a context that ended.
func (c *climber) climb(ctx context.Context, evals int) error {
	for end := c.evals + evals; c.evals < end && !c.done; {
		delta, predicted := c.plan()
		if predicted < c.worth {
			if c.radius < climbRadius && c.held(delta) {
				c.radius *= 2
				continue
			}
			c.done = true
			break
		}
		c.evals++
		z := slices.Clone(c.z)
		for i := range z {
			z[i] += delta[i]
		}
		q := c.paramsAt(z)
		v, g, mean, err := c.at(ctx, q)
		if err != nil && !evidence.NotFinite(err) {
			return err
		}
		c.judge(delta, predicted, z, q, v, g, mean, err == nil)
	}
	return ctx.Err()
}

// judge takes the step δ or shortens the radius.
func (c *climber) judge(delta []float64, predicted float64, z []float64,
	q gp.Params, v float64, g []float64, mean float64, ok bool) {
	if !ok || !(v > c.value) {
		if ok {
			c.model.push(delta, c.grad, g)
		}
		longest := 0.0
		for _, s := range delta {
			longest = max(longest, math.Abs(s))
		}
		c.radius = longest / 4
		c.fails++
		c.done = c.fails == climbFails
		return
	}
	c.model.push(delta, c.grad, g)
	if k := len(c.model.pairs); k > 0 {
		s, y := c.model.pairs[k-1].s, c.model.pairs[k-1].y
		sy, yy := 0.0, 0.0
		for i := range s {
			sy += s[i] * y[i]
			yy += y[i] * y[i]
		}
		c.curve(yy / sy)
	}
	switch ratio := (v - c.value) / predicted; {
	case ratio > 0.5:
		c.radius = min(2*c.radius, climbFar)
	case ratio < 0.1:
		c.radius /= 2
	}
	c.z, c.p, c.value, c.grad, c.fails = z, q, v, g, 0
	c.p.Mean = mean
}

// plan maximises the model within the radius and the ranges of the parameters.
func (c *climber) plan() (delta []float64, predicted float64) {
	d := len(c.z) - 2
	low, high := logRange(d)
	low, high = low[:d+2], high[:d+2]
	room := math.Log(mostCondition / float64(c.limit))
	if c.ratio {
		low[d] -= c.z[d+1]
		high[d] = min(high[d]-c.z[d+1], room)
	} else {
		high[d] = min(high[d], c.z[d+1]+room)
		low[d+1] = max(low[d+1], c.z[d]-room)
	}
	free := make([]bool, d+2)
	for i := range free {
		free[i] = i >= d || !c.fixed[i]
		low[i] = min(max(low[i]-c.z[i], -c.radius), 0)
		high[i] = max(min(high[i]-c.z[i], c.radius), 0)
	}
	return c.model.step(c.grad, low, high, free)
}

func (c *climber) held(delta []float64) bool {
	for _, v := range delta {
		if math.Abs(v) > 0.99*c.radius {
			return true
		}
	}
	return false
}

// paramsAt returns the parameters at z; fixed inputs keep theirs.
func (c *climber) paramsAt(z []float64) gp.Params {
	d := len(z) - 2
	z = append(slices.Clone(z), c.p.Mean)
	if c.ratio {
		z[d] += z[d+1]
	}
	p := fromLog(c.p.Kernel, z, make([]bool, d))
	for j, f := range c.fixed {
		if f {
			p.Lengthscales[j] = c.p.Lengthscales[j]
		}
	}
	return p
}
