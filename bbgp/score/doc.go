// Package score holds the predictive law of an observation, and compares such laws
// with what was observed. It is the one place where rows are scored: training,
// prediction, cross-validation and the library count alike.
//
// # Symbols
//
//	symbol  name         meaning
//	μ       Law.Mean     mean of the observation
//	a       Law.Fixed    variance whose size is known
//	b       Law.Mixed    variance known up to a factor 1/w
//	ν       Tail         w ~ Gamma(ν/2, rate ν/2); w = 1 without a Tail
//
// # The way of the data
//
// Means and variances of a prediction → a [Law] of each observation, and its density, ranks and
// quantiles → [Sum] over rows → a [Score]; [Validate] adds what shares the intervals hold, and outliers.
package score
