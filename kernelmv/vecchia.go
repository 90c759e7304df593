package kernelmv

import (
	"context"
	"math"
	"math/rand/v2"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
)

// The Vecchia likelihood: the sum over rows q, in a random order, of the log density
// of y_q given the nearest m of the rows before it. With A = K̂ of these rows, q the
// last of them, b = N^-1 a and v as in precond.Vecchia, w = [-b; 1]/√v, and the
// residuals r = y - c of these rows,
//
//	L_q = -log(2π v)/2 - z²/2,   z = w'r.
//
// w = √v A^-1 e gives its derivative by a parameter, for β = [N^-1 r_N; 0] and
// A^-1 r = β + z w:
//
//	∂L_q = -(1 - z²)/2 s + z t,   s = w'∂A w,   t = w'∂A β.
//
// z is N(0, 1) under the model and independent of the rows before: the Fisher
// information of L_q given those is s s'/2 + t t'. w'A w = 1 and w'A β = 0 save the
// terms of σ_f²: s = 1 - Σ w_i² σ_i², t = -Σ w_i β_i σ_i². By c: ∂L_q = z Σ w_i,
// s = 0 and t = Σ w_i. (Guinness 2021, Gaussian process learning via Fisher scoring of
// Vecchia's approximation, has the same from derivatives of the factor.)
//
// Everything is computed for K/σ_f², with noise σ_i²/σ_f² and r/σ_f.

// A Score is a log likelihood with its derivatives and Fisher information by
// log ℓ_1..log ℓ_D, log σ_f², log σ_n², c, in this order.
type Score struct {
	Value    float64
	Parts    []float64     // Value as a sum over groups of terms
	Gradient []float64     // D + 3
	Info     linalg.Matrix // (D+3)×(D+3)
}

// A Vecchia is the Vecchia likelihood of the rows of an Op, or of a sample of its
// terms, each of which has the nearest of all rows before its own.
type Vecchia struct {
	op     *Op
	order  []int
	at     []int32 // positions that have a term, ascending
	weight float64 // of a term
	work   []vecchiaWork
	sums   []float64     // [batch] value
	parts  linalg.Matrix // 2·terms × (D+3): s/√2 and t
	right  linalg.Matrix // 2·terms × 1: -(1-z²)/√2 and z

	near     *Nearest // of the evaluation
	r, share []float64
}

// Nearest are the rows that the terms of a Vecchia are given.
type Nearest struct {
	nn    int     // most of them
	width int     // rows of A with padding
	rows  []int32 // [batch][width][CholLanes] rows of A, the own one last
	count []int32 // [term] neighbours
}

// A vecchiaWork is the work area of a worker; [width][CholLanes] where not said.
type vecchiaWork struct {
	tri, weight []float64 // triangles
	x           []float64 // [width][dim][CholLanes]
	tau         []float64
	r, noise    []float64
	w, beta     []float64
	acc         []float64 // [dim][2][CholLanes]
}

// NewVecchia returns the likelihood in the random order that seed gives, with terms
// terms, one from every n/terms positions; 0 or more than n: all.
func (o *Op) NewVecchia(terms int, seed uint64) *Vecchia {
	n := o.Dim()
	if terms <= 0 || terms > n {
		terms = n
	}
	r := rand.New(rand.NewPCG(seed, 0x5665636368696132))
	v := &Vecchia{op: o, order: r.Perm(n), at: make([]int32, terms), weight: float64(n) / float64(terms)}
	for i := range v.at {
		from, to := i*n/terms, (i+1)*n/terms
		v.at[i] = int32(from + r.IntN(to-from))
	}
	return v
}

// Find returns the at most nn nearest rows before each one, at the lengthscales that
// the Op has now. It returns ctx.Err() if ctx ends first.
func (v *Vecchia) Find(ctx context.Context, nn int) (*Nearest, error) {
	const L = asm.CholLanes
	o, terms := v.op, len(v.at)
	checkCall(ctx)
	if nn < 0 {
		panic("kernelmv: Vecchia: fewer than no neighbours")
	}
	s := &Nearest{nn: min(nn, o.Dim()-1)}
	s.width = 1 + (s.nn+3)/4*4
	found := make([]int32, terms*s.nn)
	if s.nn > 0 {
		if err := o.neighboursOf(ctx, found, v.order, v.at, s.nn); err != nil {
			return nil, err
		}
	}
	batches := (terms + L - 1) / L
	s.rows, s.count = make([]int32, batches*s.width*L), make([]int32, batches*L)
	for i := range batches * L {
		term := min(i, terms-1) // lanes behind the last term repeat it
		near, own := found[term*s.nn:(term+1)*s.nn], int32(v.order[v.at[term]])
		s.count[i] = min(int32(s.nn), v.at[term])
		for a := range s.width {
			row := own
			if a < int(s.count[i]) {
				row = int32(v.order[near[a]])
			}
			s.rows[(i/L*s.width+a)*L+i%L] = row
		}
	}
	return s, nil
}

// Evaluate returns the likelihood of the residuals r = y - c given near, at the
// parameters that the Op has now, the sum over a sample of terms times n over their number. share is
// ∂noise/∂log σ_n² of each row. It costs O(m³ + m² D + D²) a term, and has the same bits
// for every number of threads and every implementation but for the sums over terms.
// Inputs that are not in the distance have derivatives 0. It fails with ctx.Err().
func (v *Vecchia) Evaluate(ctx context.Context, near *Nearest, r, share []float64) (*Score, error) {
	o, terms := v.op, len(v.at)
	checkCall(ctx)
	if len(r) != o.Dim() || len(share) != o.Dim() || len(near.count) < terms {
		panic("kernelmv: Vecchia: bad lengths")
	}
	d := o.Inputs()
	if v.parts.Rows != 2*terms {
		v.parts, v.right = linalg.NewMatrix(2*terms, d+3), linalg.NewMatrix(2*terms, 1)
		v.work = make([]vecchiaWork, o.engine.Par.Threads())
	}
	clear(v.parts.Data) // inputs may have left the distance
	batches := (terms + asm.CholLanes - 1) / asm.CholLanes
	v.sums = grow(v.sums, batches)
	v.near, v.r, v.share = near, r, share
	o.engine.ForShare(batches, 1, func(worker, b int) {
		if ctx.Err() == nil {
			v.batch(&v.work[worker], b)
		}
	})
	o.engine.Complete(v.sums, batches, 1)
	o.engine.CompleteRows(v.parts, batches, 2*asm.CholLanes)
	o.engine.CompleteRows(v.right, batches, 2*asm.CholLanes)
	v.near, v.r, v.share = nil, nil, nil
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Score{Gradient: make([]float64, d+3), Info: linalg.NewMatrix(d+3, d+3)}
	for b, part := range v.sums {
		part -= 0.5 * float64(min(asm.CholLanes, terms-b*asm.CholLanes)) * math.Log(2*math.Pi*o.kernel.Variance)
		s.Parts = append(s.Parts, v.weight*part)
		s.Value += v.weight * part
	}
	o.engine.GramTo(linalg.Column(s.Gradient), v.parts, v.right)
	o.engine.GramTo(s.Info, v.parts, v.parts)
	s.scale(v.weight, o.kernel.Variance)
	return s, nil
}

// scale takes a sum over terms to all rows, and c from units of σ_f to those of y.
func (s *Score) scale(weight, variance float64) {
	c := len(s.Gradient) - 1
	for i := range s.Gradient {
		f := weight
		if i == c {
			f /= math.Sqrt(variance)
		}
		s.Gradient[i] *= f
		for j := range s.Gradient {
			g := f
			if j == c {
				g /= math.Sqrt(variance)
			}
			s.Info.Set(i, j, s.Info.At(i, j)*g)
		}
	}
}
