// Package inputs turns columns of a table into the numbers of a model, by a
// Plan that is made from the training table, stored in the model file and
// followed again at prediction: columns by name, text one-hot, dates as days,
// missing cells by one of three rules.
//
// # Symbols
//
//	Plan        how columns of text, dates and gaps become inputs of the model; kept in Model.Extra
//	Input       one column of X: its table column, kind and, for text, the level that it marks
//	Set         X, y and noise of a table by a plan, and what was left out
//	Stream      the same for blocks of rows, as prediction reads them
//	Fault       a cell, or a column, that stands against a number, with the flags that would help
//
// # The way of the data
//
// table.Table → [Make]: kinds of columns (plan.go), faults (faults.go, nearnumber.go, sentinel.go,
// footer.go) and remarks (remarks.go) → a [Plan] → Encode into the model file, [Decode] out of it →
// encode.go makes a [Set] of a whole table, stream.go blocks of one. Afterwards noise.go,
// outside.go and heldout.go say what rows mean that training has not seen.
package inputs
