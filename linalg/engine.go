package linalg

import (
	"bbgp.dev/asm"
	"bbgp.dev/internal/comm"
)

// An Engine is what a computation runs on: the routines of one CPU and a
// number of threads. Results do not depend on the threads. One computation
// uses an Engine at a time.
type Engine struct {
	Impl *asm.Impl
	Par  *Par
	// Comm joins the ranks that compute together, in the same calls with the same arguments; nil means alone.
	Comm comm.Comm

	job   *gemmJob // work areas, made when they are needed
	gram  *gramJob
	leaf  *triJob
	parts []float64

	gathers gathering
	twin    *Engine // Alone
}

// Check panics for an engine that computes nothing, such as a zero one: engines come from
// NewEngine.
func (e *Engine) Check() {
	if e == nil || e.Impl == nil || e.Par == nil || e.Par.Threads() == 0 {
		panic("linalg: Engine: empty; engines come from NewEngine")
	}
}

// NewEngine returns an Engine; a nil impl means asm.Default, 0 threads
// GOMAXPROCS.
func NewEngine(impl *asm.Impl, threads int) (*Engine, error) {
	if impl == nil {
		var err error
		if impl, err = asm.Default(); err != nil {
			return nil, err
		}
	}
	return &Engine{Impl: impl, Par: NewPar(threads)}, nil
}
