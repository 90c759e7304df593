// Package checkpoint keeps the evaluations of a fit in a file and answers from it.
//
// # Symbols
//
//	Journal     the file: what the fit is of, then one entry a call
//	Entry       key of a call, its value or fault, state of the estimator after it
//	part        what a call that takes long has reached, behind the last entry
//	Estimator   answers calls from the journal while it goes on, then by another
//
// # The way of the data
//
// [ResumeJournal] → Begin compares the identity of the fit → [Estimator] asks the journal for
// each call's key; at the first that is not there the journal is cut, the state of the
// other estimator restored, and from then on its values are added.
package checkpoint
