package linalg

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Par runs the iterations of a loop on several goroutines. It allocates
// nothing in a loop, and only here are goroutines started. One loop runs at a
// time; an iteration must not start another one on the same Par.
type Par struct {
	// Between, if not nil, is called by a worker when an iteration has ended:
	// measurements look there how fast its core is at the time.
	Between func(worker int)

	workers []func()
	body    func(worker, i int)
	n       int
	next    atomic.Int64
	done    sync.WaitGroup
	mu      sync.Mutex
	failure any
	ended   *atomic.Bool // nil, or whether loops are to be left (Until)
}

// NewPar returns a Par with the given number of threads; 0 means GOMAXPROCS.
func NewPar(threads int) *Par {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	p := &Par{}
	for w := range threads {
		p.workers = append(p.workers, func() { p.work(w) })
	}
	return p
}

// Threads returns the number of threads.
func (p *Par) Threads() int { return len(p.workers) }

// For calls body(worker, i) once for every i in 0..n-1, in any order and on
// any worker in 0..Threads()-1. A result must not depend on either: one owner
// per output block, partial sums in index order. A panic in body is raised
// again in the caller.
func (p *Par) For(n int, body func(worker, i int)) {
	threads := min(n, len(p.workers))
	if threads <= 1 {
		for i := range n {
			if p.left() {
				return
			}
			body(0, i)
			p.Pause(0)
		}
		return
	}
	p.body, p.n, p.failure = body, n, nil
	p.next.Store(0)
	p.done.Add(threads)
	for _, run := range p.workers[1:threads] {
		go run()
	}
	p.work(0)
	p.done.Wait()
	p.body = nil
	if p.failure != nil {
		panic(p.failure)
	}
}

func (p *Par) work(worker int) {
	defer p.done.Done()
	defer func() {
		if r := recover(); r != nil {
			p.mu.Lock()
			p.failure = r
			p.mu.Unlock()
			p.next.Store(int64(p.n))
		}
	}()
	for {
		i := int(p.next.Add(1)) - 1
		if i >= p.n || p.left() {
			return
		}
		p.body(worker, i)
		p.Pause(worker)
	}
}

// Until lets loops skip the iterations that are left once ctx has ended, until the
// function that it returns is called. What they compute is incomplete then: the caller
// looks at ctx.Err() and throws it away. It is for dense computations, which take long
// and know no contexts: a product looks for every 96 columns of a block, some 2 ms.
func (p *Par) Until(ctx context.Context) (done func()) {
	outer, ended := p.ended, new(atomic.Bool)
	stop := context.AfterFunc(ctx, func() { ended.Store(true) })
	p.ended = ended
	return func() {
		stop()
		p.ended = outer
	}
}

// left says whether loops are to be left.
func (p *Par) left() bool { return p.ended != nil && p.ended.Load() }

// rowBlock is the number of rows that a worker takes at a time.
const rowBlock = 256

// ForRows calls body for every row 0..n-1, in blocks.
func (p *Par) ForRows(n int, body func(i int)) {
	p.For((n+rowBlock-1)/rowBlock, func(_, b int) {
		for i := b * rowBlock; i < min((b+1)*rowBlock, n); i++ {
			body(i)
		}
	})
}

// Pause calls Between. A body that takes long does it, too, from time to time.
func (p *Par) Pause(worker int) {
	if p.Between != nil {
		p.Between(worker)
	}
}
