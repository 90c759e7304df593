// Package table reads tables of numbers and text as people have them: a file,
// a pipe, compressed or not, comma, tab, semicolon or bar between the cells,
// with what other programs leave in them (byte order mark, CRLF, quotes,
// decimal commas, twelve spellings of a missing value).
//
// # Symbols
//
//	Table, Column   numbers as float64, NaN where missing; text as codes into levels
//	Reader          records of delimited text, one at a time: cells are views into one buffer
//	Order           of day, month and year in dates; Units, decimal mark: how cells are read
//	Place           row and line of a cell
//
// # The way of the data
//
//	Open   → bytes, decompressed by what they contain, not by the file's name (open.go, encoding.go)
//	Reader → where the table begins, its delimiter and header (head.go, detect.go, header.go)
//	Load   → Table: every cell by the way that fits its column (ways.go, number.go, date.go, clock.go)
//
// Workbooks (workbook.go) and Parquet files (parquet.go) become records of the same kind.
//
// A fault of the data is an *Error, which names file, row and column. Rows
// count from 1, without the header; lines count from 1, with it.
package table
