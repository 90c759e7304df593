package usage

import (
	"testing"
	"time"
)

// The CPU time of a process grows by what it computes, by no more than its threads may have used.
func TestCPUSeconds(t *testing.T) {
	before, end := CPUSeconds(), time.Now().Add(time.Minute)
	x := 1.0
	for CPUSeconds() < before+0.02 {
		for range 1000 {
			x += 1 / x
		}
		if time.Now().After(end) {
			t.Fatalf("no CPU time in a minute of additions (%v)", x)
		}
	}
	if now := CPUSeconds(); now < before || before < 0 {
		t.Errorf("%v s, then %v s", before, now)
	}
}

var kept []byte

// The peak counts memory that was written, and stays when it is free again.
func TestPeakBytes(t *testing.T) {
	const size = 64 << 20
	before := PeakBytes()
	kept = make([]byte, size)
	for i := range kept {
		kept[i] = byte(i)
	}
	peak := PeakBytes()
	if before <= 0 || peak < before || peak < size {
		t.Errorf("%d bytes, and %d with %d more", before, peak, size)
	}
	kept = nil
	if after := PeakBytes(); after < peak {
		t.Errorf("the peak fell from %d to %d", peak, after)
	}
}
