package asm

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// All returns the implementations that this CPU can run, the best first; the
// last is "generic".
func All() []*Impl { return append(native(), &generic) }

// Lookup returns the implementation called name.
func Lookup(name string) (*Impl, error) {
	var names []string
	for _, im := range All() {
		if im.Name == name {
			return im, nil
		}
		names = append(names, im.Name)
	}
	return nil, fmt.Errorf("implementation %q is unknown or not supported by this CPU; there are %s", name,
		strings.Join(names, ", "))
}

// Default is the best implementation, or the one that BBGP_ISA names.
var Default = sync.OnceValues(func() (*Impl, error) {
	if name := os.Getenv("BBGP_ISA"); name != "" {
		im, err := Lookup(name)
		if err != nil {
			return nil, fmt.Errorf("BBGP_ISA: %w", err)
		}
		return im, nil
	}
	return All()[0], nil
})
