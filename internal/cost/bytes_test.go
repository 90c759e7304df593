package cost

import (
	"testing"

	"bbgp.dev/kernelmv"
)

// Maps are foreseen to be of neighbours alone: a million and more places fit 18 GB, and tables of
// more inputs need what they did.
func TestMapBytes(t *testing.T) {
	b := Budget{Method: "bbgp", Probes: 7, Preconditioner: Size{Rank: -1, Neighbours: -1}}
	if need := b.LeastBytes(1723137, 1723137, 2); need > 18e9 || need < 6e9 {
		t.Errorf("a map of 1.7 million places: %d bytes", need)
	}
	if peak := b.PeakBytes(105569, 105569, 2, b.Preconditioner); peak > 2*934588416 || peak < 934588416/2 {
		t.Errorf("a map of a hundred thousand places: %d bytes", peak)
	}
	if many, few := b.LeastBytes(2e5, 2e5, 8), b.LeastBytes(2e5, 2e5, 3); many < few*3/2 {
		t.Errorf("eight inputs %d bytes, three %d", many, few)
	}
}

// A budget leaves a P of a map that fits beside the rest, in any case the smallest, and a budget that is accepted does.
func TestRoomOfP(t *testing.T) {
	const n = 300000
	auto := Size{Rank: -1, Neighbours: -1}
	b := Budget{Method: "bbgp", Probes: 7, Preconditioner: auto}
	least := b.LeastBytes(n, n, 2)
	shares := []float64{.1, .2, .3, .5, .8, 1.5, 2}
	for _, memory := range []int64{0, least, least * 3 / 2, 4 * least} {
		opt := Request{Rank: -1, Neighbours: -1, H2: true, RowWork: 5000, Room: RoomOfP(n, 2, 7, memory)}
		near, m := Neighbours(n, 2, 0, kernelmv.F64, opt), 0
		if m, _ = Latents(n, 2, kernelmv.F64, opt, shares); m > 0 {
			near = 0
		}
		size := Size{Neighbours: near, Latents: m}
		need := ProgramBytes + TableBytes(n, 2) + KrylovBytes(n, 2, 17, size) + FormBytes(n, 2)
		if memory > 0 && need > memory {
			t.Errorf("%+v takes %d of a budget of %d", size, need, memory)
		}
		if memory == 0 && opt.Room != 0 {
			t.Errorf("room %d without a budget", opt.Room)
		}
	}
	if few, many := LatentBytes(n, 1000), LatentBytes(n, 40000); few < 600*n || many < few+2e8 {
		t.Errorf("1000 latents %d bytes, 40000 %d", few, many)
	}
}
