// Package bbgp fits Gaussian process regression models to tables of up to
// about a million rows by maximum likelihood, with an objective whose
// bias is bounded from both sides: the method of Burt, Artemev and van der
// Wilk, "Barely Biased Learning for Gaussian Process Regression" (2021).
//
// # Model
//
// The target of row i is y_i = c + f(x_i) + e_i, with f a Gaussian process of
// mean 0 and covariance k(x, x') = σ_f² h(r), r² = Σ_d ((x_d - x'_d)/ℓ_d)², and
// e_i normal noise of variance σ_n². h is a Matérn function of order 1/2, 3/2
// (the default) or 5/2, or the Gaussian exp(-r²/2). The parameters maximise
//
//	L(θ) = -n/2 log 2π - 1/2 log det K̂ - 1/2 (y-c)' K̂⁻¹ (y-c),  K̂ = K + σ_n² I.
//
// Inputs and target are standardised first (see [Scaling]); parameters are
// those of the standardised model, predictions are in the units of the data.
//
// # Symbols
//
//	θ        Params                 c, ℓ_1..ℓ_D, σ_f², σ_n²
//	c        Params.Mean            scalar
//	ℓ        Params.Lengthscales    D; +Inf takes an input out of the distance
//	σ_f²     Params.Variance        scalar
//	σ_n²     Params.Noise           scalar
//	X        Data.X                 n×D, row-major
//	y        Data.Y                 n
//	ε        Options.Eps            width of the bias bounds, nats
//	L        LMLReport.LML          between Lower and Upper but for StdErr
//
// # The way of the data
//
// Rows → [Data], checked → standardised ([Scaling]), repeated rows as one → the search and the
// training (internal/train) of an estimator of L (internal/evidence) → [Params] in a [Model], with
// the weights α = K̂⁻¹(y - c) → [Model.Save] and [Load], or predictions (internal/posterior) → undone scaling,
// means and deviations in the units of the data.
//
// # Use
//
// [Fit] trains a [Model]; [Model.Predict] gives means and standard deviations with
// bounds, [Model.Sample] joint draws of the function, [Model.LeaveOneOut] what each
// row is by the others; package score compares such laws with targets. [Model.Save] and
// [Load] keep a model in one file; [NewModel] makes one at given parameters.
// [LogMarginalLikelihood] evaluates L and its gradient there, an [Evaluator] at many, for
// other optimisers and samplers. Words of options and results are those of package enum.
// Every random number comes from [Options.Seed]; results do not depend on the
// number of threads.
package bbgp
