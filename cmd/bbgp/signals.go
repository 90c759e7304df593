package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"bbgp.dev/internal/comm"
)

// An interrupt ends the context of the run. What computes looks at that, and a fit then
// saves the best model that it has. All else has nothing that would be lost, and may be
// waiting for a pipe: it is left after a grace. A second signal ends the program at once.

// grace is the time in which a run ends by itself, as a rule.
const grace = 100 * time.Millisecond

// interrupts are the signals that end a run. A hangup that nohup ignores stays ignored.
func interrupts() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	if comm.HasMPI {
		list = append(list, userSignal) // what schedulers send before the end of the time
	}
	return list
}

// userSignal is SIGUSR1 of Linux, the system that has ranks.
const userSignal = syscall.Signal(10)

// leave ends the program after an interrupt unless it ends by itself.
func (a *app) leave(ctx context.Context) {
	if a.other() {
		return // with the others, or with rank 0
	}
	time.Sleep(grace)
	for a.keeps.Load() {
		time.Sleep(grace / 4)
	}
	os.Exit(a.interrupted(ctx))
}

// interrupted says, once, that the run was interrupted, and returns the exit code.
func (a *app) interrupted(ctx context.Context) int {
	a.farewell.Do(func() { a.last("interrupted") })
	if a.together() { // another rank may have had the signal, and will tell
		ctx = a.ranks.signalled
	}
	return signalCode(ctx)
}

// signalCode is 128 + the number of the signal that ended ctx, as shells have it.
func signalCode(ctx context.Context) int {
	cause := context.Cause(ctx)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, userSignal} {
		// The cause of signal.NotifyContext has no other form than its text.
		if cause != nil && cause.Error() == s.String()+" signal received" {
			return 128 + int(s)
		}
	}
	return exitInterrupted
}
