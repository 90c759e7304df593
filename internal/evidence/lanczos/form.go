package lanczos

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// What products of the H2 form have done to an evaluation. One product with the finer tolerance,
// on v and the columns of U that matter, corrects the value to first order. Exact rows of K tell
// what both tolerances have left: in v'Kv and in z'Kz, z = Σ ±u_r, for which E[z'Ez] is the
// effect on tr log A. Where some rows tell too little, more of them are taken, and where these do, that one
// product is made again with a finer tolerance yet.

// A formSample is what the form is judged by.
type formSample struct {
	rough       bool          // the process had a coarser tolerance than the products here
	x, kx       linalg.Matrix // the columns of U that matter and v, if it had
	pair, kpair linalg.Matrix // v and z
	share       float64       // of what counts that x has not
	at          []int         // rows of the table,
	exact       linalg.Matrix // and of K pair
	finest      bool          // there will be no finer products
}

// sampleForm is sample for products of form H2.
func (r *process) sampleForm(t *solution) error {
	s := r.newFormSample(t)
	for finer := 0; ; finer++ {
		if !s.finest {
			if err := r.multiplySample(s); err != nil {
				return err
			}
		}
		err := r.judgeForm(t, s)
		if err == nil {
			break
		}
		if !errors.Is(err, errTolerance) || s.finest || !s.rough && !r.o.refineForm(r.ctx, r.p, r.opt) {
			return err
		}
		if !s.rough {
			// What the process had is the coarser of two tolerances now, and is corrected by the other.
			r.own, r.op = kernelmv.Coarse, r.o.op.With(kernelmv.Coarse)
			s = r.newFormSample(t)
		} else if s.finest, err = r.refineLast(finer); err != nil {
			return err
		}
	}
	if !s.rough {
		r.residual(t, s.kpair.Sub(0, r.o.n, 0, 1))
		t.doubt = t.form
		return nil
	}
	if err := r.second(t, s); err != nil {
		return err
	}
	r.correctBy(t, s.x, s.kx, s.share)
	return nil
}

func (r *process) newFormSample(t *solution) *formSample {
	n, loud := r.o.n, t.u.Cols
	s := &formSample{rough: r.own != kernelmv.F64, pair: linalg.NewMatrix(n, 2), kpair: linalg.NewMatrix(n, 2)}
	if s.rough {
		loud, s.share = loudColumns(t.u)
		s.x, s.kx = loudAndV(t, loud), linalg.NewMatrix(n, loud+1)
	}
	copyColumn(s.pair, 0, t.v)
	r.o.e.GemmTo(s.pair.Sub(0, n, 1, 2), 1, t.u.Sub(0, n, 0, loud), false, r.sampleSigns(loud), false, 0)
	return s
}

// sampleSigns are those of z.
func (r *process) sampleSigns(loud int) linalg.Matrix {
	return gp.SignProbes(loud, 1, r.opt.Seed^0x73616d706c65)
}

// multiplySample sets the products of s.
func (r *process) multiplySample(s *formSample) error {
	if !s.rough {
		return r.exactly(s.kpair, s.pair)
	}
	if err := r.exactly(s.kx, s.x); err != nil {
		return err
	}
	n, loud := r.o.n, s.x.Cols-1
	copyColumn(s.kpair, 0, s.kx.Sub(0, n, loud, loud+1))
	r.o.e.GemmTo(s.kpair.Sub(0, n, 1, 2), 1, s.kx.Sub(0, n, 0, loud), false, r.sampleSigns(loud), false, 0)
	return nil
}

// roughly sets dst = K̂δ by a product of the process, whose tolerance is coarser, if exact rows say that it does:
// what it leaves moves L by δ'Eδ/2, and adds Eδ to what is left of r, |F⁻¹Eδ|² <= |Eδ|²/noise, about, as P is about K̂.
// The last product, of one column as of eight, takes several times as long.
func (r *process) roughly(t *solution, dst, step linalg.Matrix) (done bool, err error) {
	if !r.h2 || r.own == kernelmv.F64 {
		return false, nil
	}
	defer addSince(time.Now(), &r.o.phases.product)
	if err := r.op.MulTo(r.ctx, dst, step); err != nil {
		return false, err
	}
	r.products++
	at, exact, err := r.exactRows(step, SampledRows)
	if err != nil {
		return false, err
	}
	doubt, entry := rowErrors(r.o.n, step, at, exact, r.rowsOf(dst, step, at))
	more := entry * entry * float64(r.o.n) * r.o.e.Dot(step.Data, step.Data) / slices.Min(r.o.op.Noise()) / r.o.b.node
	doubt += 0.5 * (more + 2*math.Sqrt(r.opt.Eps*more)) // r'P⁻¹r/a is going to be below eps
	if !(doubt <= r.opt.Eps/20) {
		return false, nil
	}
	t.doubt += doubt
	return true, nil
}

// lastStep is from one tolerance of the last product to the next finer one, of which mostFiner are tried before
// all is done again.
const lastStep, mostFiner = 0.1, 2

// refineLast takes a finer tolerance for the last product alone, or says that it has been the finest that was to be
// had: that beyond it would be too much work.
func (r *process) refineLast(times int) (finest bool, err error) {
	form, tol, last := r.o.op.Form()
	if times == mostFiner || last <= finestTol {
		return true, nil
	}
	r.o.op.SetForm(form, tol, max(last*lastStep, finestTol))
	ok, err := r.o.affordsLast(r.ctx, r.pairs)
	if !ok {
		r.o.op.SetForm(form, tol, last)
	}
	return !ok, err
}

func copyColumn(dst linalg.Matrix, c int, src linalg.Matrix) {
	for i := range dst.Rows {
		dst.Set(i, c, src.At(i, 0))
	}
}

// second estimates what the products of the process have done beyond the first order, by rows of
// theirs and exact ones.
func (r *process) second(t *solution, s *formSample) error {
	defer addSince(time.Now(), &r.o.phases.product)
	kx := linalg.NewMatrix(r.o.n, s.pair.Cols)
	if err := r.op.MulTo(r.ctx, kx, s.pair); err != nil {
		return err
	}
	r.products += s.pair.Cols
	_, entry := rowErrors(r.o.n, s.pair, s.at, s.exact, r.rowsOf(kx, s.pair, s.at))
	square := r.o.e.Dot(t.u.Data, t.u.Data)
	r.setSecond(t, entry, square)
	// The tolerance's part of the errors is the same in every product: no direction of its own.
	known := 0.0
	if r.own == kernelmv.F32 {
		known = tooLow * secondOrder(entryError*r.p.Variance, square)
	}
	t.shift = min(t.shift, known)
	return nil
}

// moreShare is the share of the rows that are sampled at most, and mostSampled their number.
const moreShare, mostSampled = 0.04, 40000

// judgeForm judges what the form of float64 products has done to L: by v and by z, which have all but a share
// of what counts. What is not known of it falls with the root of the rows: where it is more than a quarter of
// eps, so many rows are taken that it is foreseen to be less. It asks for a finer tolerance where these would be
// too many, or are not enough. Where there is none, as many as there may be are taken, and up to eps is not known.
func (r *process) judgeForm(t *solution, s *formSample) (err error) {
	most := max(min(int(moreShare*float64(r.o.n)), mostSampled), SampledRows)
	for rows := SampledRows; ; {
		if len(s.at) < min(rows, r.o.n) {
			if s.at, s.exact, err = r.exactRows(s.pair, rows); err != nil {
				return err
			}
		}
		doubt, entry := rowErrors(r.o.n, s.pair, s.at, s.exact, r.rowsOf(s.kpair, s.pair, s.at))
		t.form = (1+s.share)*doubt + secondOrder(entry, r.o.e.Dot(t.u.Data, t.u.Data))
		_, _, tol := r.o.op.Form()
		if t.form <= r.opt.Eps/4 || tol <= finestTol {
			return nil
		}
		times := t.form / (r.opt.Eps / 5)
		more := float64(SampledRows) * times * times
		switch {
		case s.finest && rows == most && t.form <= r.opt.Eps:
			return nil
		case s.finest && rows < most:
			if rows > SampledRows || more > float64(most) {
				more = float64(most)
			}
		case rows > SampledRows || !(more <= float64(most)):
			return fmt.Errorf("%w: tolerance %.2g may move the likelihood by %.2g nats", errTolerance, tol, t.form)
		}
		rows = int(more)
	}
}

// errTolerance asks for a finer tolerance of the products.
var errTolerance = fmt.Errorf("%w: the products are not exact enough", evidence.ErrPrecision)
