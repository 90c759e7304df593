// Package train finds the parameters of a table: the search for the right maximum and the
// training after it. It knows an evidence.Estimator and not what is behind it.
//
// # Symbols
//
//	z            log ℓ_1..ℓ_D, log σ_f², log σ_n², c (coords.go)
//	u            softplus coordinates, for Adam
//	F            fisher, the information of θ on a subset of the rows
//	δ            a step, within a radius, by F and curvature pairs (model.go, step.go)
//	Iterate      θ with its value and gradient
//
// # The way of the data
//
// [Search] by its [Config]: candidates (search.go) from dense climbs of few rows
// (densesearch.go, climber.go), from fits of random subsets (starts.go) and from climbs of
// the Vecchia likelihood (coarse.go, ascent.go, design.go), compared by screen.go and, on all rows,
// by Trainer.choose → stages of steps (stage.go, step.go, inputs.go) → a look about where
// they end (lookabout.go, letback.go, ridge.go) → Last, the value that is reported.
package train
