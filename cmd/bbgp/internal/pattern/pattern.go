package pattern

import (
	"regexp"
	"sync"
)

// Of returns a function that gives the compiled expression, made at its first call by any
// goroutine. It panics there if the expression is malformed.
func Of(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
