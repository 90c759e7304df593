package lanczos

import (
	"math"
	"slices"
	"time"

	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// What float32 products have done to an evaluation: judged by a sample,
// corrected by float64 products where it matters.

// What float32 products do beyond the first order: errors E without pattern, of rms ε
// an entry, would move L by ‖K̂^-1/2 E K̂^-1/2‖_F²/4 = (ε tr K̂⁻¹)²/4. But E is another
// one in every product; the process takes its errors for directions, and L comes out
// too low by tooLow times that: 0.87 to 2.1 in some 50 cases with 600 to 11121 rows,
// noise of 2e-1 to 3e-6 σ_f² and P of either kind. Where low rank leaves large
// eigenvalues to A, λ, it is up to λ largeA/n² more.
const (
	tooLow, tooLowError = 1.5, 0.8
	// boundError times the error allowed for is in the bounds: small tables of one input go beyond.
	boundError = 3
	largeA     = 5000
	// entryError is ε in units of σ_f² where lengths are long, and as a rule less elsewhere.
	entryError = 9e-8
)

func secondOrder(entry, trace float64) float64 {
	size := entry * trace
	return size * size / 4
}

// coarse reports that float32 products are not good enough: what they do to first
// order is above 2 eps, or what is not known of the rest above eps/2.
func (r *process) coarse(t *solution) bool {
	return math.Abs(t.fix)/2 > 2*r.opt.Eps || t.unsure > r.opt.Eps/2 || r.basisLoss() > r.opt.Eps/2
}

// basisLoss is what storing the basis in float32 does to L, and what rounding the basis
// for float32 products does: it moves small eigenvalues of A by some 2^-25 |A|, by chance
// up or down, 0.6 and 8 times n^1/2 2^-25 |A| at most in some hundred cases each.
func (r *process) basisLoss() float64 {
	if r.o.wide && r.prec == kernelmv.F64 {
		return 0
	}
	unit, times := math.Sqrt(float64(r.o.n))*0x1p-25*r.o.b.high, 1.5
	if r.prec == kernelmv.F32 {
		times = 12
	}
	return times*unit + 0x1p-21
}

// unsure32 foresees, before any pass, what float32 products would leave unsure beyond
// the first order, in nats, by tr P⁻¹: on elevators, pol, bike and
// kin40k that is within a fifth of the sum of squares of U. Of a product below n², most entries are next
// to nothing, and so are their errors: square is the mean of k² there, and 1 otherwise.
func unsure32(variance, square, trace float64) float64 {
	return tooLowError * secondOrder(entryError*variance*math.Sqrt(square), trace)
}

// most32 is what may be unsure so: half of eps. Below n² it is an eighth, since the tolerance adds its own, and bounds
// have boundError times both: at n = 1e6, D = 2 they were 3 nats apart with .37.
func most32(eps float64, h2 bool) float64 {
	if h2 {
		return eps / 8
	}
	return eps / 2
}

// traceP estimates tr P⁻¹ by one probe.
func (o *Estimator) traceP() float64 {
	if o.trace == 0 {
		z := linalg.NewMatrix(o.n, 1)
		o.e.AllRowsTo(z, o.probes.Sub(0, o.probes.Rows, 0, 1))
		o.pre.FInvTransTo(z, z)
		o.trace = o.e.Dot(z.Data, z.Data)
	}
	return o.trace
}

// sample judges what float32 products have done. A few hundred rows of K in both
// precisions tell how much: where it is nothing, even in the worst case, r and q
// are those of the process. Otherwise one float64 product serves v and the columns
// of U that matter.
func (r *process) sample(t *solution) error {
	o, n := r.o, r.o.n
	if r.h2 {
		return r.sampleForm(t)
	}
	if r.prec == kernelmv.F64 {
		kv := linalg.NewMatrix(n, 1)
		if err := r.exactly(kv, t.v); err != nil {
			return err
		}
		r.residual(t, kv)
		return nil
	}
	doubt, entry, err := r.sampleRows(t)
	if err != nil {
		return err
	}
	r.setSecond(t, entry, o.e.Dot(t.u.Data, t.u.Data))
	chance := r.chance(t, entry)
	if r.harmless() && doubt <= r.opt.Eps/20 && chance <= r.opt.Eps/4 {
		t.doubt, t.q, t.kv = doubt+chance, o.b.quadLow, t.own
		r.seen(t)
		return nil
	}
	return r.correctLoud(t)
}

// setSecond sets what errors of rms entry do to L beyond the first order; square is |U|².
func (r *process) setSecond(t *solution, entry, square float64) {
	second, n := secondOrder(entry, square), float64(r.o.n)
	t.shift, t.unsure = tooLow*second, (tooLowError+largeA*r.o.b.high/(n*n))*second
}

// chance is what errors of rms entry, others in every product than in those of the sample,
// do to L: their forms v'Ev and tr U'EU have about the standard deviations entry |v|² and
// entry |UU'|_F where errors have no pattern. In small, smooth tables, all of whose entries
// are nearly alike, v'Ev was up to nine times that.
func (r *process) chance(t *solution, entry float64) float64 {
	const ofV, ofU = 15, 12 // deviations
	entry = max(entry, entryError*r.p.Variance)
	gram := linalg.NewMatrix(t.u.Cols, t.u.Cols)
	r.o.e.GemmTo(gram, 1, t.u, true, t.u, false, 0)
	return 0.5 * entry * (ofV*r.o.e.Dot(t.v.Data, t.v.Data) + ofU*math.Sqrt(r.o.e.Dot(gram.Data, gram.Data)))
}

// worstError is the largest change of an eigenvalue of K̂ by float32 products that
// was seen, and what the tolerance of the process may add.
func (r *process) worstError() float64 {
	worst := 0.0
	if r.prec == kernelmv.F32 {
		worst = 2.5e-9
	}
	if r.h2 {
		tol, _ := r.o.tolerances()
		worst += tol
	}
	return worst * float64(r.o.n) * r.p.Variance
}

// harmless reports that float32 products move no eigenvalue of K̂ by more than a
// hundredth.
func (r *process) harmless() bool {
	return r.worstError() < 0.01*slices.Min(r.o.op.Noise())
}

// sampleRows estimates v'Ev and z'Ez for E = K64 - K32 from a random sample of
// rows; z is a random combination Σ ±u_r, for which E[z'Ez] is the effect on
// tr log A. doubt bounds half of both, entry is the rms of E by |Ez|.
func (r *process) sampleRows(t *solution) (doubt, entry float64, err error) {
	o, n := r.o, r.o.n
	signs, x := gp.SignProbes(t.u.Cols, 1, r.opt.Seed^0x73616d706c65), linalg.NewMatrix(n, 2)
	o.e.GemmTo(x.Sub(0, n, 1, 2), 1, t.u, false, signs, false, 0)
	for i, v := range t.v.Data {
		x.Data[i*2] = v
	}
	defer addSince(time.Now(), &o.phases.product)
	at, exact, err := r.exactRows(x, SampledRows)
	if err != nil {
		return 0, 0, err
	}
	approx, err := r.approxRows(x, at, kernelmv.F32)
	if err != nil {
		return 0, 0, err
	}
	doubt, entry = rowErrors(n, x, at, exact, approx)
	return doubt, entry, nil
}

// seen takes r'Nr and F⁻¹r = -T_t+1 residualCoord from the process.
func (r *process) seen(t *solution) {
	white := linalg.NewMatrix(r.o.n, 1)
	r.o.lanczos.NextTo(white, r.o.b.residualCoord)
	for i := range white.Data {
		white.Data[i] = -white.Data[i]
	}
	t.rest = r.o.b.rest
	r.ahead(t, white)
}

// loudAndV returns the first columns of U, and v.
func loudAndV(t *solution, loud int) linalg.Matrix {
	x := linalg.NewMatrix(t.u.Rows, loud+1)
	for i := range x.Rows {
		row := x.Row(i)
		copy(row, t.u.Row(i)[:loud])
		row[loud] = t.v.Data[i]
	}
	return x
}

// correctLoud corrects tr log A by a float64 product with these columns.
func (r *process) correctLoud(t *solution) error {
	loud, share := loudColumns(t.u)
	x, kx := loudAndV(t, loud), linalg.NewMatrix(r.o.n, loud+1)
	if err := r.exactly(kx, x); err != nil {
		return err
	}
	r.correctBy(t, x, kx, share)
	return nil
}

// correctBy corrects tr log A by a float64 product with v and the columns of U that matter, all
// but a share of them, and takes r and q from it, too.
func (r *process) correctBy(t *solution, x, kx linalg.Matrix, share float64) {
	loud := x.Cols - 1
	r.residual(t, kx.Sub(0, r.o.n, loud, loud+1))
	effect := 0.0
	for c, exact := range linalg.ColumnDots(x, kx)[:loud] {
		change := exact - t.ku[c]
		t.fix += change
		effect += math.Abs(change)
		t.ku[c] = exact
	}
	t.doubt = 0.5*share*effect + t.form
}

// loudColumns returns how many columns of U hold nearly all of its sum of squares,
// and what the others have for each unit of that. The first s columns, those of
// log A to first order, dwarf the others.
func loudColumns(u linalg.Matrix) (loud int, share float64) {
	const quiet = 0.01
	squares, all := linalg.ColumnDots(u, u), 0.0
	for _, v := range squares {
		all += v
	}
	rest := 0.0
	for loud = u.Cols; loud > 0 && rest+squares[loud-1] <= quiet*all; loud-- {
		rest += squares[loud-1]
	}
	return loud, rest / max(all-rest, math.SmallestNonzeroFloat64)
}
