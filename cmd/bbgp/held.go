package main

import (
	"bufio"
	"time"
)

// What is held back of an output that may yet be refused: so much, and for so long.
const (
	heldBytes = 1 << 20
	heldFor   = time.Second
)

// A heldWriter keeps what is written to it until check allows it: a table that ends before that is read once, and
// nothing is printed of one that is refused.
type heldWriter struct {
	w     *bufio.Writer
	check func() error
	since time.Time
	kept  []byte
	open  bool
}

// Write asks check, once, when there is too much to keep.
func (h *heldWriter) Write(p []byte) (int, error) {
	if !h.open {
		h.kept = append(h.kept, p...)
		if len(h.kept) < heldBytes && time.Since(h.since) < heldFor {
			return len(p), nil
		}
		if err := h.check(); err != nil {
			return 0, err
		}
		return len(p), h.release()
	}
	n, err := h.w.Write(p)
	if err == nil {
		err = h.w.Flush()
	}
	return n, err
}

// release writes what is kept; nothing will be refused from now on.
func (h *heldWriter) release() error {
	kept := h.kept
	h.open, h.kept = true, nil
	if _, err := h.w.Write(kept); err != nil {
		return err
	}
	return h.w.Flush()
}
