package lanczos

import (
	"encoding/binary"
	"io"
	"slices"
)

// What a long evaluation has reached: its turn, 4 bytes, then the parts of the Krylov process. All else that the
// passes have made follows from the process, and is made again, as if they were made now.

// resume makes the process go on where an earlier run has kept it.
func (r *process) resume() {
	if r.opt.Keep == nil {
		return
	}
	o, in := r.o, r.opt.Keep.Kept()
	has := make([]float64, o.e.Ranks())
	if in != nil {
		has[o.e.Rank()] = 1
	}
	o.e.Complete(has, len(has), 1)
	if slices.Contains(has, 0) {
		return
	}
	var turn [4]byte
	if _, err := io.ReadFull(in, turn[:]); err != nil || int(binary.LittleEndian.Uint32(turn[:])) != r.turn {
		return // of a turn that comes when this one fails
	}
	if r.kept = o.lanczos.ResumeFrom(in) == nil; !r.kept {
		o.lanczos.Start(r.op, o.pre, o.start)
	}
}

// keep keeps the passes so far, where it is time; rank 0 tells when, and it alone has a file.
func (r *process) keep(stopping bool) {
	o, k := r.o, r.opt.Keep
	if k == nil || o.lanczos.Repeats() || o.lanczos.Exhausted() || o.lanczos.H.Blocks() == 0 {
		return
	}
	due := []byte{0}
	if o.e.Rank() == 0 && k.Due(stopping) {
		due[0] = 1
	}
	if o.e.FirstBytes(due)[0] == 0 {
		return
	}
	if o.e.Rank() > 0 {
		o.lanczos.SaveTo(io.Discard)
		return
	}
	k.Keep(!r.kept, func(w io.Writer) {
		if !r.kept {
			w.Write(binary.LittleEndian.AppendUint32(nil, uint32(r.turn)))
		}
		o.lanczos.SaveTo(w)
	})
	r.kept = true
}
