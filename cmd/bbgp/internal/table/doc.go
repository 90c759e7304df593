// Package table reads tables of numbers and text as people have them: a file,
// a pipe, compressed or not, comma, tab, semicolon or bar between the cells,
// with what other programs leave in them (byte order mark, CRLF, quotes,
// decimal commas, twelve spellings of a missing value).
//
// The way of the data:
//
//	Open   → bytes, decompressed by what they contain, not by the file's name
//	Reader → records, one at a time: cells are views into one buffer
//	Load   → Table, a Column of float64 each; text becomes codes into levels
//
// A fault of the data is an *Error, which names file, row and column. Rows
// count from 1, without the header; lines count from 1, with it.
package table
