//go:build purego || (!amd64 && !arm64)

package asm

// native returns no implementation: there is no assembly here.
func native() []*Impl { return nil }
