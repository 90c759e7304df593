// Package iterative estimates the log evidence and its gradient as iterative Gaussian
// processes do: conjugate gradients cut short (Gardner et al. 2018), or continued by
// Russian roulette without bias (Potapczynski et al. 2021). Values are noise, not bounds.
//
// # Symbols
//
//	z_i       probes, n×s, drawn anew by every evaluation
//	weight    of iteration j, 1 over the probability to reach it
//
// # The way of the data
//
// [New] → Rebuild makes a preconditioner of low rank → Evaluate: conjugate gradients of y and
// the probes together → value, and a gradient by products with the solutions.
package iterative
