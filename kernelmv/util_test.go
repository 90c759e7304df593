package kernelmv

import (
	"context"
	"sync/atomic"
)

// countdown is a context that is cancelled after a number of looks at it.
type countdown struct {
	context.Context
	seen atomic.Int64
	left int64 // looks that succeed
}

func (c *countdown) Err() error {
	if c.seen.Add(1) > c.left {
		return context.Canceled
	}
	return nil
}
