//go:build !unix

package table

// quietly calls f; standard error is silenced on Unix alone.
func quietly(f func()) { f() }
