package train

import "slices"

// The last step of a map. A stage is worth a nat or what its probes see, and an evaluation of a large table costs a
// quarter of a fit. But along the ridge of a map (ridge.go) and by its mean half a nat is a tenth of the lengthscales,
// and what is predicted in large holes hangs on these. Where the training has ended, gradient and information are
// there, and tell where L is highest: the evaluation that is reported is made there, and nothing is evaluated besides.
//
// By the mean the gradient 1'K̂⁻¹(y - c) has no probes in it. The rest is off by what probes leave of tr(K̂⁻¹ ∂K̂), by
// which g'F⁻¹g/2 comes out too large: on maps by about half of the square of the standard error of L.

const (
	lastWorth  = 0.25 // nats per nat of eps that the last step has to promise
	lastNoise  = 4    // times the square of the standard error as well
	lastRadius = 0.3  // of a logarithm: what is further has another gradient
)

// LastStep moves t.Cur, where the training of a map has ended, to the top of its model, if that is higher by more than
// the probes make it: by all parameters, or by the mean alone. The evaluation at t.Cur stays that of the place before,
// whose preconditioner serves on.
func (f *Search) LastStep(t *Trainer) {
	if t.opt.Method != "bbgp" || t.opt.Optimizer == "adam" || f.Whole != f.Std || !isMap(t.d, t.Cur.P) ||
		t.model.base == nil || t.Cur.g == nil || t.tellsLast() {
		return
	}
	t.radius, t.stageRadius = lastRadius, lastRadius
	t.model.damping = 0 // that of a stage, by the diagonal, is more than the information along the ridge
	worth, noise := lastWorth*t.eps, lastNoise*t.Cur.Ev.StdErr*t.Cur.Ev.StdErr
	delta, predicted := t.step(t.Cur.z, t.inactive)
	if predicted < max(worth, noise) {
		delta, predicted = t.meanStep()
	}
	if predicted < worth {
		return
	}
	z := slices.Clone(t.Cur.z)
	for i := range z {
		z[i] += delta[i]
	}
	t.moving = t.Cur.P
	t.Cur.P, t.Cur.z = fromLog(t.Cur.P.Kernel, z, t.inactive), z
}

// meanStep is the step to the most likely mean, and what it gains.
func (t *Trainer) meanStep() (delta []float64, predicted float64) {
	delta = make([]float64, len(t.Cur.z))
	c := len(delta) - 1
	slope, info := t.Cur.g[c], t.model.base.at(c)
	if t.opt.FixMean || !(info > 0) {
		return delta, 0
	}
	delta[c] = slope / info
	return delta, slope * slope / (2 * info)
}
