// Package lint has no code: its tests hold the rules of the whole module, which
// package imports which, where goroutines start, how long files and functions are.
package lint
