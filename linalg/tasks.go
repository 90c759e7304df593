package linalg

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"

	"bbgp.dev/internal/comm"
)

// Alone returns the Engine of a computation that this rank makes by itself, on the same threads: e where there are no
// others. It is always the same one, and shares the larger work areas.
func (e *Engine) Alone() *Engine {
	if e.alone() {
		return e
	}
	if e.twin == nil {
		e.twin = &Engine{Impl: e.Impl, Par: e.Par, job: e.gemm()}
	}
	return e.twin
}

// Tasks returns what task makes of 0..count-1, in this order, on every rank; task i is computed by one of them. So a
// task computes on e.Alone(), and its ctx ends when this rank is told to stop, without the others. What it returns goes
// to them by gob; whatever else it changes, it changes on one rank.
//
// An error is that of the first task that fails, as of a loop that ends there; all ranks get it by computing that task,
// but where ctx has ended on all of them. A task that returns how far it has come when its ctx ends does not fail.
func Tasks[T any](ctx context.Context, e *Engine, count int,
	task func(ctx context.Context, i int) (T, error)) ([]T, error) {
	out := make([]T, count)
	if e.alone() || count < 2 {
		for i := range out {
			var err error
			if out[i], err = task(ctx, i); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	first, err := e.ownTasks(ctx, count, func(ctx context.Context, i int) (err error) {
		out[i], err = task(ctx, i)
		return err
	})
	if first < count {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if first%e.Ranks() != e.Rank() {
			if _, err = task(comm.Here(ctx), first); err == nil {
				panic(&RankError{errors.New("what fails on another rank does not fail on this one")})
			}
		}
		return nil, err
	}
	var own bytes.Buffer
	enc := gob.NewEncoder(&own)
	for i := e.Rank(); i < count; i += e.Ranks() {
		if err := enc.Encode(&out[i]); err != nil {
			panic(&RankError{err})
		}
	}
	for rank, b := range e.allBytes(own.Bytes()) {
		dec := gob.NewDecoder(bytes.NewReader(b))
		for i := rank; i < count && rank != e.Rank(); i += e.Ranks() {
			if err := dec.Decode(&out[i]); err != nil {
				panic(&RankError{err})
			}
		}
	}
	return out, nil
}

// ownTasks runs the tasks of this rank up to one that fails, with its error. It returns the first that fails on any
// rank, or count.
func (e *Engine) ownTasks(ctx context.Context, count int, task func(ctx context.Context, i int) error) (int, error) {
	var err error
	failed := make([]float64, e.Ranks())
	i := e.Rank()
	for ; i < count; i += e.Ranks() {
		if err = task(comm.Here(ctx), i); err != nil {
			break
		}
	}
	failed[e.Rank()] = float64(i)
	e.Complete(failed, e.Ranks(), 1)
	first := count
	for _, i := range failed {
		first = min(first, int(i))
	}
	return first, err
}

// allBytes returns the b of each rank on all of them.
func (e *Engine) allBytes(b []byte) [][]byte {
	const word = 4 // bytes that a number holds
	sizes := make([]float64, e.Ranks())
	sizes[e.Rank()] = float64(len(b))
	e.Complete(sizes, e.Ranks(), 1)
	off := append(e.gathers.off[:0], 0)
	for _, size := range sizes {
		off = append(off, off[len(off)-1]+(int(size)+word-1)/word)
	}
	x := e.Room(off[e.Ranks()])
	padded := append(bytes.Clone(b), make([]byte, word)...)
	for i := range x[off[e.Rank()]:off[e.Rank()+1]] {
		x[off[e.Rank()]+i] = float64(binary.LittleEndian.Uint32(padded[i*word:]))
	}
	e.gather(x, off)
	all := make([][]byte, e.Ranks())
	for r, size := range sizes {
		for _, v := range x[off[r]:off[r+1]] {
			all[r] = binary.LittleEndian.AppendUint32(all[r], uint32(v))
		}
		all[r] = all[r][:int(size)]
	}
	return all
}
