package cost

import "testing"

// Maps are foreseen to be of neighbours alone: a million and more places fit 18 GB, and tables of
// more inputs need what they did.
func TestMapBytes(t *testing.T) {
	b := Budget{Method: "bbgp", Probes: 7, Rank: -1, Neighbours: -1}
	if need := b.LeastBytes(1723137, 1723137, 2); need > 18e9 || need < 6e9 {
		t.Errorf("a map of 1.7 million places: %d bytes", need)
	}
	if peak := b.PeakBytes(105569, 105569, 2, -1, -1); peak > 2*934588416 || peak < 934588416/2 {
		t.Errorf("a map of a hundred thousand places: %d bytes", peak)
	}
	if many, few := b.LeastBytes(2e5, 2e5, 8), b.LeastBytes(2e5, 2e5, 3); many < few*3/2 {
		t.Errorf("eight inputs %d bytes, three %d", many, few)
	}
}
