package lanczos

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg/krylov"
	"bbgp.dev/linalg/precond"
)

// watched is a context that calls see whenever it is asked.
type watched struct {
	context.Context
	see func()
}

func (w watched) Err() error {
	w.see()
	return w.Context.Err()
}

// The last preconditioner and basis are garbage by the time that the next preconditioner is made.
func TestRebuildReleases(t *testing.T) {
	d, p := gptest.SmoothTable(300, 2, 0.1), gptest.TestParams("matern32", 2, 0.1)
	o := mustObjective(t, d, p)
	var opt evidence.Options
	opt.Rank, opt.Neighbours, opt.Probes = 40, 0, 3
	if _, err := o.Evaluate(context.Background(), p, opt); err != nil {
		t.Fatal(err)
	}
	old, basis := weak.Make(o.pre.(*precond.Precond)), weak.Make[krylov.Lanczos](o.lanczos)
	looks, held := 0, false
	look := func() {
		runtime.GC()
		looks, held = looks+1, old.Value() != nil || basis.Value() != nil
	}
	opt.Seed = 1 // else the old one serves
	if err := o.Rebuild(watched{context.Background(), look}, p, opt); err != nil {
		t.Fatal(err)
	}
	if looks == 0 || held {
		t.Errorf("%d looks; the old ones are still held: %v", looks, held)
	}
}
