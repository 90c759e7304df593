package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"bbgp.dev/bbgp"
	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/comm"
)

// Several ranks. Each runs the whole command, for what a command does follows from its files and flags alone; time and
// signals enter by contexts that end on all ranks at the same call. Rank 0 is the program that users know: it reads,
// checks, writes and prints. The others are given its command line and copies of the files that it reads, write to
// nothing, and say nothing unless they fail.

// A team is the processes that run this command together; an app alone has none.
type team struct {
	comm      *comm.Agreed
	signalled context.Context // by a signal to this rank
	joined    bool            // this command is computed by all of them
	hosts     []float64       // of each rank, a number that tells machines apart
	private   []*os.File      // copies of what rank 0 reads
	said      tail            // what a rank other than 0 would have said
}

// failureGrace is how long a rank that fails waits before it ends all: where rank 0 fails in the same way, as with a
// table that it cannot use, rank 0 says so.
const failureGrace = 5 * time.Second

// join meets the other ranks, if a launcher has started some.
func (a *app) join() error {
	c, err := comm.Open("")
	if err != nil || c.Size() == 1 {
		return err
	}
	r := &team{comm: comm.NewAgreed(c)}
	a.ranks = r
	if c.Rank() > 0 {
		a.in, a.out, a.errw = strings.NewReader(""), &resultWriter{w: io.Discard}, &r.said
	}
	build, err := programSum()
	if err != nil {
		return err
	}
	theirs, err := comm.Share(c, []byte(build))
	if err != nil {
		return err
	}
	if string(theirs) != build {
		return usagef("this is another program than that of rank 0: here %s, there %s", build, theirs)
	}
	args, err := comm.Share(c, []byte(strings.Join(os.Args[1:], "\x00")))
	if err != nil || c.Rank() == 0 {
		return err
	}
	os.Args = os.Args[:1]
	if len(args) > 0 {
		os.Args = append(os.Args, strings.Split(string(args), "\x00")...)
	}
	return nil
}

// programSum tells this program from others, also from those of the same version that were built from other sources.
func programSum() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := crc32.New(checkpoint.Castagnoli)
	size, err := io.Copy(sum, f)
	return fmt.Sprintf("%s, %d bytes with sum %08x", versionString(), size, sum.Sum32()), err
}

// together is rank 0 of several, or another of them.
func (a *app) together() bool { return a.ranks != nil }
func (a *app) other() bool    { return a.ranks != nil && a.ranks.comm.Rank() > 0 }

// end ends the program with the code, and the other ranks with it.
func (a *app) end(code int) {
	if a.together() {
		code = a.ranks.end(code)
	}
	os.Exit(code)
}

// end ends the other ranks with this one, and returns the code of rank 0.
func (r *team) end(code int) int {
	expected := code == exitOK || code == exitBudget || code >= 128
	switch {
	case expected:
		// The others wait for what rank 0 still writes. A signal may have come to one of them alone.
		codes, err := r.gather(float64(code))
		if err != nil {
			r.abort(exitInternal, err.Error())
		}
		if code == exitInterrupted {
			code = int(slices.Max(codes))
		}
		if err := r.comm.Close(); err != nil {
			r.abort(exitInternal, err.Error())
		}
		if r.comm.Rank() > 0 {
			os.Exit(exitOK)
		}
	case r.comm.Rank() > 0:
		time.Sleep(failureGrace)
		r.abort(code, strings.TrimPrefix(r.said.last(), "bbgp: "))
	default: // rank 0 has said why
		r.comm.Abort(code)
	}
	return code
}

// abort says why this rank ends all of them.
func (r *team) abort(code int, why string) {
	host, _ := os.Hostname()
	fmt.Fprintf(os.Stderr, "bbgp: rank %d of %d on %s: %s\n", r.comm.Rank(), r.comm.Size(), host, why)
	r.comm.Abort(code)
}

// A tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 1 << 14

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if cut := len(t.text) - tailBytes; cut > 0 {
		t.text = append(t.text[:0], t.text[cut:]...)
	}
	return len(b), nil
}

// last is the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimRight(t.text, "\n")
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}

// polled makes the ranks look at each step whether one of them is to stop. What is wrong with the network, the next
// product says.
func (a *app) polled(tell func(bbgp.Step)) func(bbgp.Step) {
	if !a.together() {
		return tell
	}
	return func(s bbgp.Step) {
		_ = a.ranks.comm.Poll()
		if tell != nil {
			tell(s)
		}
	}
}
