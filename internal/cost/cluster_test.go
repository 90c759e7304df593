package cost

import (
	"math"
	"testing"

	"bbgp.dev/kernelmv"
)

func clusterWork(n int) Work {
	return Work{Rows: n, Inputs: 18, Columns: 8, Passes: 20, Evaluations: 20, Rank: 96, Neighbours: 64,
		Nanoseconds: StandardCosts()}
}

// One rank needs no network, a product of it is n² pairs, and of many ranks n²/R and what their shares are uneven.
func TestClusterTime(t *testing.T) {
	w := clusterWork(1e6)
	one := Cluster{1, 64, 100}.Time(w)
	if want := 1e12 * w.Nanoseconds.Pair32.At(18) * 1e-9 / (64 * busy); math.Abs(one.Product/want-1) > 1e-12 ||
		one.Gather != 0 || one.Speedup != 1 {
		t.Errorf("one rank: product %v, want %v; gather %v, speed-up %v", one.Product, want, one.Gather, one.Speedup)
	}
	many := Cluster{64, 64, 100}.Time(w)
	if got := many.Product - many.Gather; got < one.Product/64 || got > one.Product*7.07/435 { // 435 groups, 7 at most
		t.Errorf("64 ranks: %v s in the cores, one has %v", got, one.Product)
	}
	if b := float64(many.GatherBytes); math.Abs(b/(96e6*63/64)-1) > 0.05 || many.Gather < b/8.75e9 {
		t.Errorf("64 ranks: %v bytes in %v s", b, many.Gather)
	}
	w.Precision = kernelmv.F64
	if b := float64(Cluster{64, 64, 100}.Time(w).GatherBytes); math.Abs(b/(128e6*63/64)-1) > 0.05 {
		t.Errorf("64 ranks in float64: %v bytes", b)
	}
}

// Of products below n² a part is not divided.
func TestClusterBelow(t *testing.T) {
	w := clusterWork(1e6)
	w.Inputs, w.Below = 2, 12
	one, many := Cluster{1, 4, 100}.Time(w), Cluster{16, 4, 100}.Time(w)
	if math.Abs(one.Product*4*busy/12-1) > 1e-12 || many.Product < 0.1*one.Product || many.Product > 0.2*one.Product ||
		many.GatherBytes > 128e6 {
		t.Errorf("one rank %+v, 16 %+v", one, many)
	}
}

// More ranks or cores and a faster network never take longer, and memory falls; a slow network is the bottleneck.
func TestClusterOrder(t *testing.T) {
	w := clusterWork(1e6)
	last := Cluster{2, 8, 10}.Time(w)
	for _, c := range []Cluster{{4, 8, 10}, {4, 16, 10}, {8, 16, 10}, {8, 16, 100}, {64, 64, 200}} {
		now := c.Time(w)
		if now.Fit >= last.Fit || now.Bytes > last.Bytes || now.Evaluation < float64(w.Passes)*now.Product {
			t.Errorf("%+v takes %v s and %d bytes, before %v and %d", c, now.Fit, now.Bytes, last.Fit, last.Bytes)
		}
		last = now
	}
	if b := (Cluster{64, 64, 0.1}).Time(w).Bottleneck; b != "network and copies" {
		t.Errorf("at 100 Mb/s the bottleneck is %s", b)
	}
	if b := (Cluster{4, 4, 100}).Time(w).Bottleneck; b != "covariance function and products in the cores" {
		t.Errorf("on 16 cores the bottleneck is %s", b)
	}
}

// The parts of P, blocks and the basis are divided by the ranks, whatever P is of; the peak is of them and of what
// every rank has.
func TestClusterBytes(t *testing.T) {
	for _, p := range []Size{{Rank: 96, Neighbours: 64}, {Rank: 300}, {Neighbours: 40}, {Latents: 5000}} {
		w := clusterWork(1e6)
		w.Rank, w.Neighbours, w.Latents = p.Rank, p.Neighbours, p.Latents
		one := Cluster{1, 8, 100}.Time(w)
		if got := one.LowRankBytes + one.NearBytes; got != p.bytes(1e6) || (p.Rank == 0) != (one.LowRankBytes == 0) ||
			one.BasisBytes != 4*1e6*8*20 || one.BlockBytes < 4*8*1e6*8 {
			t.Errorf("%v: %d and %d bytes of P on one rank, %d of the basis", p, one.LowRankBytes, one.NearBytes,
				one.BasisBytes)
		}
		for _, ranks := range []int{2, 4, 16} {
			c := Cluster{ranks, 8, 100}.Time(w)
			r := int64(ranks)
			byColumns := 12 * int64(1e6) * int64(p.Neighbours)
			if c.LowRankBytes != one.LowRankBytes/r || c.NearBytes != (one.NearBytes+byColumns)/r ||
				c.BasisBytes != one.BasisBytes/r || c.BlockBytes != one.BlockBytes/r ||
				c.WholeBytes < one.WholeBytes+8*8*1e6 {
				t.Errorf("%v on %d ranks: %+v, on one %+v", p, ranks, c, one)
			}
			parts := c.LowRankBytes + c.NearBytes + c.BasisBytes + c.BlockBytes + c.WholeBytes
			if c.Bytes != ProgramBytes+int64(garbage*float64(parts)) {
				t.Errorf("%v on %d ranks: %d bytes, parts have %d", p, ranks, c.Bytes, parts)
			}
		}
	}
}
