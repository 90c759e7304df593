// Package evidencetest has the exact log evidence that tests of other methods compare with.
package evidencetest

import (
	"context"
	"testing"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
)

// Exact returns the dense evaluation of the standardised table d at p.
func Exact(t testing.TB, d *gp.Table, p gp.Params, opt evidence.Options) *evidence.Value {
	t.Helper()
	e, err := evidence.NewExact(gptest.Engine(t), d, p)
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Evaluate(context.Background(), p, opt)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
