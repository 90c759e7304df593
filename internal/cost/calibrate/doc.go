// Package calibrate measures the costs of this machine, by pieces of the work that they
// are of, each as often as some milliseconds allow; the least time counts.
package calibrate
