// Package evidence is the log evidence, the logarithm of the marginal likelihood, at one θ
// (MacKay 1992): what every method of computing it takes and returns, and what is added to
// any of them. Its own method is the dense one, [Exact].
//
// # Symbols
//
//	L           Value.LML         between Lower and Upper but for StdErr
//	∂L/∂θ       Gradient          by the natural parameters
//	α           Value.Alpha       n, K̂⁻¹(y - c)
//	log p(θ)    Prior, LogPrior   of few rows
//	n rows, D inputs
//
// # The way of the data
//
// [Options] → Rebuild, which fixes preconditioner and probes, → Evaluate → a [Value], to
// which [WithReplicates] adds what repeated rows say and [WithPrior] the priors. Where
// bounds do not close, [Escalate] asks again with more. [Interval]: where L is.
package evidence
