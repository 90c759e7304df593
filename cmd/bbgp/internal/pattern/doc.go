// Package pattern compiles regular expressions when they are first used. The program knows
// some sixty, most of which a table of plain numbers never meets; compiled at the start they
// were a tenth of what a quick command takes.
//
// # Symbols
//
// None.
//
// # The way of the data
//
// [Of] takes the text of an expression, in the syntax of [regexp], and gives a function that
// gives it compiled.
package pattern
