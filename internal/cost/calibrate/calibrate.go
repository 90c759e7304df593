package calibrate

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"bbgp.dev/asm"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/usage"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/precond"
)

// Costs are measured as the least CPU time of a few runs of each piece of work, the
// pieces in turns, so that other load for a moment spoils none of them. Where a time
// has several parts, two runs differ in one size, and their difference tells the part.

const (
	costRounds = 4
	costTime   = 600 * time.Millisecond // of the whole, at most, but for the first round
	// of a small product, by which the rows are chosen, and of the runs of a piece in a round
	costPiece = 3 * time.Millisecond
	leastRows = 288 // of that product, and where it takes long of all
	mostRows  = 1536
	costCols  = 8  // right-hand sides
	brief     = 10 // runs of what takes too little time for the clock
	costNoise = 0.1
	costSeed  = 0x636f737473
	// No cost is less than this share of the standard at this machine's speed: a
	// difference of two times can be anything. In plain Go neighbours have 0.01.
	costFloor = 0.005
	// The model counts this share of an evaluation of some hundred rows by products:
	// on the standard machine it takes 17 ms for 50. So it has to be with a dense
	// one, which takes 44 there (n = 800, 6 to 18 inputs), or the two do not compare.
	counted = 0.4
)

// costInputs are two numbers of inputs. With more than three no tile is skipped.
var costInputs = [2]int{6, 24}

// Two numbers of neighbours and ranks, the latter of whole groups of columns, and the
// rows of a dense evaluation, on a fast and on a slow machine.
type costSizes struct {
	near, rank [2]int
	dense      int
}

var (
	fastSizes = costSizes{near: [2]int{48, 192}, rank: [2]int{asm.Pad, 2 * asm.Pad}, dense: 576}
	slowSizes = costSizes{near: [2]int{32, 64}, rank: [2]int{0, asm.Pad}, dense: 144}
)

// Measure measures the costs on this machine, in ns, by one thread of the
// routines of e, in some 0.5 s. The numbers differ from call to
// call, and so may the choices made by them. It returns ctx.Err() if ctx ends first.
func Measure(ctx context.Context, e *linalg.Engine) (cost.Costs, error) {
	var impl *asm.Impl // nil: the default
	if e != nil {
		impl = e.Impl
	}
	one, err := linalg.NewEngine(impl, 1)
	if err != nil {
		return cost.Costs{}, err
	}
	began := time.Now()
	m := &costMeter{ctx: ctx, e: one}
	if err := m.prepare(); err != nil {
		return cost.Costs{}, err
	}
	for range costRounds {
		round := time.Now()
		for _, p := range m.pieces {
			if err := p.measure(ctx); err != nil {
				return cost.Costs{}, err
			}
		}
		if time.Since(began)+time.Since(round) > costTime {
			break // the next one would end after that
		}
	}
	c := m.costs()
	return c, c.Check() // of a clock that stands still
}

// A costMeter holds pieces of work and the least time of each in ns, by the place
// of the size that varies among the two; the other sizes are the small ones.
type costMeter struct {
	ctx    context.Context
	e      *linalg.Engine
	n      int // rows of products
	sizes  costSizes
	pieces []piece

	pair32, pair64 [2]float64 // products, by inputs
	wide64         float64
	vecchia        [2]float64 // making W, by neighbours
	inputs, low    float64    // the same with many inputs, and with a low-rank part
	applied        [2]float64 // brief times W and W', by neighbours
	solved         [2]float64 // brief times F⁻¹ and F⁻ᵀ of low rank alone, by rank
	dense          [2]float64 // an evaluation, by inputs
	factored       float64    // its factor and inverse
}

type piece struct {
	run   func() error
	least *float64
}

func (p piece) measure(ctx context.Context) error {
	for begin := time.Now(); ; {
		start := usage.CPUSeconds()
		if err := p.run(); err != nil {
			return err
		}
		if t := 1e9 * (usage.CPUSeconds() - start); *p.least == 0 || t < *p.least {
			*p.least = t
		}
		if err := ctx.Err(); err != nil || time.Since(begin) > costPiece {
			return err
		}
	}
}

func (m *costMeter) add(least *float64, run func() error) {
	m.pieces = append(m.pieces, piece{run, least})
}

// addBrief adds brief times the product with a factor and its transpose.
func (m *costMeter) addBrief(least *float64, n int, there, back func(dst, src linalg.Matrix)) {
	src, dst := linalg.NewMatrix(n, costCols), linalg.NewMatrix(n, costCols)
	m.add(least, func() error {
		for range brief {
			there(dst, src)
			back(dst, src)
		}
		return nil
	})
}

// prepare makes the pieces. The first product tells how many rows they can have.
func (m *costMeter) prepare() error {
	rng := rand.New(rand.NewPCG(costSeed, 0))
	x := linalg.NewMatrix(mostRows, costInputs[1])
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	m.n = leastRows
	op, err := m.op(x.Sub(0, m.n, 0, x.Cols), costInputs[0])
	if err != nil {
		return err
	}
	first, work := 0.0, m.product(op, kernelmv.F32, costCols)
	if err := work(); err != nil { // packs
		return err
	}
	if err = (piece{work, &first}).measure(m.ctx); err != nil {
		return err
	}
	rows := int(min(leastRows*math.Sqrt(float64(costPiece)/first), mostRows))
	m.sizes = slowSizes
	if rows > 2*leastRows {
		m.n, m.sizes = rows/asm.Pad*asm.Pad, fastSizes
	}
	x = x.Sub(0, m.n, 0, x.Cols)
	var ops [2]*kernelmv.Op
	for i, d := range costInputs {
		if ops[i], err = m.op(x, d); err != nil {
			return err
		}
		m.add(&m.pair32[i], m.product(ops[i], kernelmv.F32, costCols))
		m.add(&m.pair64[i], m.product(ops[i], kernelmv.F64, costCols))
	}
	m.add(&m.wide64, m.product(ops[0], kernelmv.F64, 2*costCols))
	if err := m.addDense(x); err != nil {
		return err
	}
	return m.addPrecond(x, ops)
}

func costParams(d int) gp.Params {
	p := gp.DefaultParams(gp.Families()[0], d)
	p.Noise = costNoise
	for j := range p.Lengthscales {
		p.Lengthscales[j] = math.Sqrt(float64(d))
	}
	return p
}

// op is K of the first inputs of x.
func (m *costMeter) op(x linalg.Matrix, d int) (*kernelmv.Op, error) {
	return kernelmv.NewOp(m.e, x.Sub(0, x.Rows, 0, d), gp.KernelOf(costParams(d)), nil)
}

func (m *costMeter) product(op *kernelmv.Op, prec kernelmv.Precision, cols int) func() error {
	k := op.With(prec)
	src, dst := linalg.NewMatrix(m.n, cols), linalg.NewMatrix(m.n, cols)
	for i := range src.Data {
		src.Data[i] = 1 - float64(i%7)/3
	}
	return func() error { return k.MulTo(m.ctx, dst, src) }
}

// addDense adds dense evaluations, and what of them does not depend on the inputs.
func (m *costMeter) addDense(x linalg.Matrix) error {
	n := m.sizes.dense
	y := make([]float64, n)
	for i := range y {
		y[i] = x.At(i, 0)
	}
	var objs [2]*evidence.Exact
	for i, d := range costInputs {
		p := costParams(d)
		o, err := evidence.NewExact(m.e, &gp.Table{X: x.Sub(0, n, 0, d), Y: y}, p)
		if err != nil {
			return err
		}
		objs[i] = o
		m.add(&m.dense[i], func() error {
			_, err := o.Evaluate(m.ctx, p, evidence.Options{Gradient: true})
			return err
		})
	}
	k := linalg.NewMatrix(n, n)
	if err := objs[0].Op.DenseTo(m.ctx, k); err != nil {
		return err
	}
	for i := range n {
		k.Set(i, i, k.At(i, i)+costNoise)
	}
	m.add(&m.factored, func() error { // in the matrices of the first evaluation
		a := objs[0].A
		a.CopyFrom(k)
		chol, err := m.e.NewCholesky(a)
		if err == nil {
			chol.InverseTo(objs[0].M)
		}
		return err
	})
	return nil
}

// addPrecond adds making and applying the parts of P.
func (m *costMeter) addPrecond(x linalg.Matrix, ops [2]*kernelmv.Op) error {
	noise := make([]float64, m.n)
	for i := range noise {
		noise[i] = costNoise
	}
	if err := m.addVecchia(x, noise); err != nil {
		return err
	}
	for i, r := range m.sizes.rank {
		p, err := precond.New(m.ctx, m.e, ops[1], noise, precond.Options{Rank: r, Seed: costSeed})
		if err != nil {
			return err
		}
		m.addBrief(&m.solved[i], m.n, p.FInvTo, p.FInvTransTo)
	}
	return nil
}

// nearRows is the number of rows of W, a few more than neighbours: rows that have
// fewer cost the same.
func (s *costSizes) nearRows() int { return s.near[1] + asm.CholLanes }

func (m *costMeter) addVecchia(x linalg.Matrix, noise []float64) error {
	n := m.sizes.nearRows()
	noise, x = noise[:n], x.Sub(0, n, 0, x.Cols)
	low := linalg.NewMatrix(n, asm.Pad) // takes hardly anything off
	for i := range low.Data {
		low.Data[i] = 1e-3 * float64(i%5-2)
	}
	add := func(least *float64, op *kernelmv.Op, l linalg.Matrix, near *precond.Neighbours) {
		m.add(least, func() error {
			_, err := precond.NewVecchiaWith(m.ctx, m.e, op, l, noise, near)
			return err
		})
	}
	few, err := m.op(x, costInputs[0])
	if err != nil {
		return err
	}
	many, err := m.op(x, costInputs[1])
	if err != nil {
		return err
	}
	for i, k := range m.sizes.near {
		near, err := precond.FindNeighbours(m.ctx, few, k, costSeed)
		if err != nil {
			return err
		}
		w, err := precond.NewVecchiaWith(m.ctx, m.e, few, linalg.Matrix{}, noise, near)
		if err != nil {
			return err
		}
		m.addBrief(&m.applied[i], n, w.MulTo, w.MulTransTo)
		add(&m.vecchia[i], few, linalg.Matrix{}, near)
		if i == 0 {
			add(&m.inputs, many, linalg.Matrix{}, near) // other rows than the nearest cost the same
			add(&m.low, few, low, near)
		}
	}
	return nil
}

// costs solves for the parts of the times.
func (m *costMeter) costs() cost.Costs {
	byInputs := func(few, many float64) cost.InputCost {
		slope := (many - few) / float64(costInputs[1]-costInputs[0])
		return cost.InputCost{Fixed: few - slope*float64(costInputs[0]), Input: slope}
	}
	n := float64(m.n)
	n2 := n * n
	c := cost.Costs{Name: "measured", Unit: "ns", Pair32: byInputs(m.pair32[0]/n2, m.pair32[1]/n2),
		Pair64: byInputs(m.pair64[0]/n2, m.pair64[1]/n2)}
	c.Wide64 = (m.wide64 - m.pair64[0]) / n2
	c.Column = (m.solved[1] - m.solved[0]) / (brief * n * float64(m.sizes.rank[1]-m.sizes.rank[0]))

	rows, k0, k1 := float64(m.sizes.nearRows()), float64(m.sizes.near[0]), float64(m.sizes.near[1])
	c.Neighbour = (m.applied[1] - m.applied[0]) / (brief * rows * (k1 - k0))
	block := rows * k0 * k0
	c.Factor = (m.vecchia[1]/(rows*k1*k1) - m.vecchia[0]/block) / (k1 - k0)
	c.Projection = (m.low - m.vecchia[0]) / (block * asm.Pad)
	c.Entry = byInputs(m.vecchia[0]/block-k0*c.Factor, m.inputs/block-k0*c.Factor)

	d := float64(m.sizes.dense)
	c.Dense = counted * m.factored / (d * d * d)
	c.DenseEntry = byInputs(counted*(m.dense[0]-m.factored)/(d*d), counted*(m.dense[1]-m.factored)/(d*d))
	c.AtLeast(costFloor)
	return c
}
