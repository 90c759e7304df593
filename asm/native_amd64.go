//go:build !purego

package asm

func native() []*Impl { return nil }
