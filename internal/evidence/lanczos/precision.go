package lanczos

import (
	"context"
	"fmt"
	"slices"

	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
)

// choosePrecision chooses the tiles of the process at p, foresees what float32 would
// leave unsure in dense products, if that is asked at all, and says why.
func (o *Estimator) choosePrecision(ctx context.Context, p gp.Params, opt evidence.Options) (prec kernelmv.Precision,
	unsure float64, reason string, err error) {
	prec, reason = o.precision(p, opt)
	if reason != "" {
		return prec, 0, reason, nil
	}
	_, h2, err := o.op.Work(ctx, prec)
	square, most := 1.0, most32(opt.Eps, h2)
	if h2 {
		square = o.op.MeanSquare()
	}
	unsure = unsure32(p.Variance, 1, o.traceP())
	here := square * unsure
	if here > most {
		prec = kernelmv.F64
	}
	return prec, unsure, fmt.Sprintf(
		"float32 products are foreseen to leave %.2g nats unsure; %.2g may be", here, most), err
}

// smooth32: below, float32 has been off by a few times what was foreseen with a Gaussian
// covariance, noise/variance of 0.002 to 0.02 and long lengthscales.
const smooth32 = 0.1

// farthest32 is a scaled coordinate that float32 rounds by up to 1e-4, which an entry of K
// is off by then.
const farthest32 = 2048

// least32 is how many rows float32 products are for. Errors of entries have a pattern in small
// tables: 6 of 1770 tables of 20 to 300 rows had bounds that missed the bias, by .001 to .04 nats,
// and none of 89 larger ones (bench/audit, seeds 21 and 22).
const least32 = 500

// precision chooses the tiles by the parameters alone. An entry of K in float32 is off
// by 2.5e-7 s2; in few dimensions, or with a smooth kernel, such errors line up with
// the small eigenvalues, in many they do not. Where nothing
// speaks against float32 there is no reason.
func (o *Estimator) precision(p gp.Params, opt evidence.Options) (prec kernelmv.Precision, reason string) {
	if o.op.Linear() {
		return kernelmv.F64, "with one input products cost little and are float64 in any case"
	}
	switch {
	case opt.Precision == "f64":
		return kernelmv.F64, "as asked"
	case o.n < least32:
		return kernelmv.F64, fmt.Sprintf(
			"of fewer than %d rows products cost little and are float64 in any case", least32)
	case opt.Precision == "f32":
		return kernelmv.F32, "as asked"
	}
	ratio := slices.Min(o.op.Noise()) / p.Variance
	// Inputs with a far longer lengthscale than the shortest hardly count.
	shortest, inputs := slices.Min(p.Lengthscales), 0
	for _, l := range p.Lengthscales {
		if l < 30*shortest {
			inputs++
		}
	}
	hard := p.Kernel == "gaussian" || inputs <= 4
	extent := o.op.Extent()
	switch {
	case extent > farthest32:
		return kernelmv.F64, fmt.Sprintf("the inputs reach %.3g lengthscales far, and float32 rounds "+
			"them by %.1g", extent/gp.KernelOf(p).Family.Scale(), extent*0x1p-24)
	case p.Noise/p.Variance <= o.float32FailedAt:
		return kernelmv.F64, fmt.Sprintf(
			"the noise is %.2g of the variance, float32 has failed at %.2g", p.Noise/p.Variance, o.float32FailedAt)
	case hard && ratio < 1e-3 || ratio < 1e-8 || p.Kernel == "gaussian" && ratio < smooth32:
		return kernelmv.F64, fmt.Sprintf(
			"the noise is %.2g of the variance, in %d inputs with a %s covariance", ratio, inputs, p.Kernel)
	case opt.Reports() && !isMap(o.n, p, opt):
		return kernelmv.F64, "derivatives that are reported take float64 products"
	}
	return kernelmv.F32, ""
}

// isMap says whether products of n rows at p are likely to be below n².
func isMap(n int, p gp.Params, opt evidence.Options) bool {
	return opt.Product != "dense" && cost.IsMap(n, cost.ActiveInputs(p))
}

// likely is the precision that evaluations of n rows at p will take, as far as the
// last one tells.
func (o *Estimator) likely(n int, p gp.Params, opt evidence.Options) kernelmv.Precision {
	prec, reason := o.precision(p, opt)
	h2 := isMap(n, p, opt)
	unsure := opt.Seen.Unsure32(n, h2)
	if h2 && unsure > 0 {
		unsure *= o.op.MeanSquare()
	}
	if reason == "" && unsure > most32(opt.Eps, h2) {
		return kernelmv.F64
	}
	return prec
}
