package kernelmv

import (
	"context"

	"bbgp.dev/linalg"
)

// What callers give is looked at before it is used: routines in assembly do not look.

// checkCall panics with a constant text for a nil context and for matrices that are not
// what they say.
func checkCall(ctx context.Context, ms ...linalg.Matrix) {
	if ctx == nil {
		panic("kernelmv: nil context")
	}
	for _, m := range ms {
		m.Check()
	}
}

// checkRows panics with a constant text where a row is not one of the points.
func (o *Op) checkRows(rows []int32) {
	for _, r := range rows {
		if uint32(r) >= uint32(o.Dim()) {
			panic("kernelmv: no such row")
		}
	}
}
