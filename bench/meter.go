package bench

import (
	"runtime"
	"slices"
	"time"

	"bbgp.dev/kernelmv"
	"bbgp.dev/linalg"
)

// A meter compares work with the rate of fused multiply-adds of the cores that do
// it. On a virtual machine that rate changes within milliseconds, as others use
// the second threads of the cores, so it is looked at in short slices all through
// the work, by the workers themselves, between the iterations of their loops
// (linalg.Par.Between), and in a few slices before and after.
type meter struct {
	e             *linalg.Engine
	call          func(n int) float64
	flopsPerCycle float64
	workers       []seen
}

// seen is what one worker has seen.
type seen struct {
	last      time.Time // end of the last slice
	rates     []float64 // operations per CPU second
	cpu, wall float64   // seconds of all slices
}

const (
	sliceRounds = 2000                 // a call of some 5 µs
	sliceCalls  = 20                   // calls in a slice: some 0.1 ms
	sliceEvery  = 2 * time.Millisecond // of work
	sliceEnds   = 5                    // slices before and after the work
)

func newMeter(e *linalg.Engine, prec kernelmv.Precision) *meter {
	m := &meter{e: e, call: e.Impl.F32.Peak, workers: make([]seen, e.Par.Threads())}
	if prec == kernelmv.F64 {
		m.call = e.Impl.F64.Peak
	}
	// Two multiply-adds of a vector a cycle; a round of Peak is 12 of them.
	m.flopsPerCycle = m.call(1) / 6
	return m
}

// A measured run of some work, without the slices: wall and CPU seconds, and the
// mean peak of a thread in operations per CPU second.
type measured struct{ wall, cpu, peak float64 }

// run does the work once.
func (m *meter) run(work func() error) (measured, error) {
	for w := range m.workers {
		m.workers[w] = seen{rates: m.workers[w].rates[:0]}
	}
	m.ends()
	var before seen
	for _, w := range m.workers {
		before.cpu, before.wall = before.cpu+w.cpu, before.wall+w.wall
	}
	m.e.Par.Between = m.between
	w0, c0 := time.Now(), CPUSeconds()
	err := work()
	r := measured{wall: time.Since(w0).Seconds() + before.wall/float64(len(m.workers)),
		cpu: CPUSeconds() - c0 + before.cpu}
	m.e.Par.Between = nil
	for _, w := range m.workers {
		r.cpu -= w.cpu
		r.wall -= w.wall / float64(len(m.workers))
	}
	m.ends()
	count := 0
	for _, w := range m.workers {
		for _, v := range w.rates {
			r.peak += v
		}
		count += len(w.rates)
	}
	r.peak /= float64(count)
	return r, err
}

// ends takes slices on all threads while there is no work.
func (m *meter) ends() {
	m.e.Par.For(len(m.workers), func(worker, _ int) {
		for range sliceEnds {
			m.slice(worker)
		}
	})
}

func (m *meter) between(worker int) {
	if time.Since(m.workers[worker].last) >= sliceEvery {
		m.slice(worker)
	}
}

func (m *meter) slice(worker int) {
	w, flops := &m.workers[worker], 0.0
	runtime.LockOSThread() // threadSeconds is of the thread
	w0, c0 := time.Now(), threadSeconds()
	for range sliceCalls {
		flops += m.call(sliceRounds)
	}
	cpu := threadSeconds() - c0
	w.last = time.Now()
	runtime.UnlockOSThread()
	w.cpu, w.wall = w.cpu+cpu, w.wall+w.last.Sub(w0).Seconds()
	w.rates = append(w.rates, flops/cpu)
}

// Median returns the middle one of x, which it sorts.
func Median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
