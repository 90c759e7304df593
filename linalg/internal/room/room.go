// Package room has the arithmetic of lengths and work areas that packages of linear algebra share.
package room

import "bbgp.dev/asm"

// RoundUp is the smallest multiple of unit that is at least n.
func RoundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// Reserve returns a slice of length n, s itself if it is large enough. Its contents are undefined.
func Reserve[T asm.Float](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
