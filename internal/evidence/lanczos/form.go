package lanczos

import (
	"fmt"
	"time"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// What products of the H2 form have done to an evaluation. One product with the finer tolerance,
// on v and the columns of U that matter, corrects the value to first order. Exact rows of K tell
// what both tolerances have left: in v'Kv and in z'Kz, z = Σ ±u_r, for which E[z'Ez] is the
// effect on tr log A.

// sampleForm is sample for products of form H2.
func (r *process) sampleForm(t *solution) error {
	o, n := r.o, r.o.n
	rough := r.own != kernelmv.F64
	loud, share := t.u.Cols, 0.0
	if rough {
		loud, share = loudColumns(t.u)
	}
	x, kx, pair, kpair := linalg.Matrix{}, linalg.Matrix{}, linalg.NewMatrix(n, 2), linalg.NewMatrix(n, 2)
	signs := gp.SignProbes(loud, 1, r.opt.Seed^0x73616d706c65)
	copyColumn(pair, 0, t.v)
	o.e.GemmTo(pair.Sub(0, n, 1, 2), 1, t.u.Sub(0, n, 0, loud), false, signs, false, 0)
	if !rough {
		if err := r.exactly(kpair, pair); err != nil {
			return err
		}
	} else {
		x, kx = loudAndV(t, loud), linalg.NewMatrix(n, loud+1)
		if err := r.exactly(kx, x); err != nil {
			return err
		}
		copyColumn(kpair, 0, kx.Sub(0, n, loud, loud+1))
		o.e.GemmTo(kpair.Sub(0, n, 1, 2), 1, kx.Sub(0, n, 0, loud), false, signs, false, 0)
	}
	at, exact, err := r.exactRows(pair)
	if err != nil {
		return err
	}
	if err := r.judgeForm(t, pair, at, exact, r.rowsOf(kpair, pair, at), share); err != nil {
		return err
	}
	if !rough {
		r.residual(t, kpair.Sub(0, n, 0, 1))
		t.doubt = t.form
		return nil
	}
	if err := r.second(t, pair, at, exact); err != nil {
		return err
	}
	r.correctBy(t, x, kx, share)
	return nil
}

func copyColumn(dst linalg.Matrix, c int, src linalg.Matrix) {
	for i := range dst.Rows {
		dst.Set(i, c, src.At(i, 0))
	}
}

// second estimates what the products of the process have done beyond the first order, by rows of
// theirs and exact ones.
func (r *process) second(t *solution, x linalg.Matrix, at []int, exact linalg.Matrix) error {
	defer addSince(time.Now(), &r.o.phases.product)
	kx := linalg.NewMatrix(r.o.n, x.Cols)
	if err := r.op.MulTo(r.ctx, kx, x); err != nil {
		return err
	}
	r.products += x.Cols
	_, entry := rowErrors(r.o.n, x, at, exact, r.rowsOf(kx, x, at))
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

// judgeForm judges what the form of float64 products has done to L: by v and by z, the columns of
// x, which has all but a share of what counts. It asks for a finer tolerance where that is more
// than a quarter of eps.
func (r *process) judgeForm(t *solution, x linalg.Matrix, at []int, exact, fine linalg.Matrix, share float64) error {
	doubt, entry := rowErrors(r.o.n, x, at, exact, fine)
	t.form = (1+share)*doubt + secondOrder(entry, r.o.e.Dot(t.u.Data, t.u.Data))
	if _, _, tol := r.o.op.Form(); t.form > r.opt.Eps/4 && tol > finestTol {
		return fmt.Errorf("%w: tolerance %.2g may move the likelihood by %.2g nats", errTolerance, tol, t.form)
	}
	return nil
}

// errTolerance asks for a finer tolerance of the products.
var errTolerance = fmt.Errorf("%w: the products are not exact enough", evidence.ErrPrecision)
