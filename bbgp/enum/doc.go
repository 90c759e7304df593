// Package enum has the words that options of package bbgp take and that its results tell,
// as they stand in flags and JSON. The zero value of an option, "", leaves the choice to the
// program.
//
// # Symbols
//
//	Method     how the likelihood is computed
//	Optimizer  how it is climbed
//	Precision  of products with the kernel matrix
//	Product    form of these products
//	BoundKind  what bounds rest on
//	Stopped    why a training ended
//
// # The way of the data
//
// A flag or a program gives a word, package bbgp holds it against the lists of this one and
// hands it on as a string; results come back the same way.
package enum
