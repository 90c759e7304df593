package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"io"
	"time"
)

// What an evaluation that takes long has reached stands behind the last entry, in records that are no entries:
//
//	4 bytes   "part"
//	32 bytes  key of the call
//	1 byte    1 if all that belongs together ends here
//	bytes
//
// The entry of the evaluation takes their place. A program that does not know them takes them for the end of the
// journal.

const (
	partMagic = "part"
	partHead  = len(partMagic) + sha256.Size + 1
	partBytes = 4 << 20
)

// KeepAfter is how long an evaluation lasts until what it has reached is kept, and until that is kept again. Tests
// shorten it.
var KeepAfter = 10 * time.Minute

// stopShare of KeepAfter is worth keeping where an evaluation is stopped.
const stopShare = 0.1

// parts are the records of one evaluation behind the last entry.
type parts struct {
	key [sha256.Size]byte
	at  []*io.SectionReader
	end int64 // of those that belong together
	own bool  // of this run, the only one that its other ranks know of
	off bool  // one could not be written
}

// findParts looks at the records from payload on, which begins at the end of the journal.
func (j *Journal) findParts(payload []byte) {
	var open []*io.SectionReader
	at := j.end
	for ok := true; ok && isPart(payload); payload, ok = j.record() {
		key := [sha256.Size]byte(payload[len(partMagic):])
		if at == j.end {
			j.parts.key = key
		} else if key != j.parts.key {
			return
		}
		size := int64(len(payload))
		open = append(open, io.NewSectionReader(j.f, at+RecordHead+int64(partHead), size-int64(partHead)))
		at += RecordHead + size
		if payload[partHead-1] == 1 {
			j.parts.at, j.parts.end, open = append(j.parts.at, open...), at, nil
		}
	}
}

func isPart(payload []byte) bool {
	return len(payload) >= partHead && bytes.HasPrefix(payload, []byte(partMagic))
}

// A keeper is the evidence.Keeper of one call.
type keeper struct {
	j     *Journal
	key   [sha256.Size]byte
	since time.Time
}

func (k *keeper) Kept() io.Reader {
	p := &k.j.parts
	if p.key != k.key || len(p.at) == 0 || p.own {
		return nil
	}
	all := make([]io.Reader, len(p.at))
	for i, r := range p.at {
		r.Seek(0, io.SeekStart)
		all[i] = r
	}
	return io.MultiReader(all...)
}

func (k *keeper) Due(stopping bool) bool {
	after := KeepAfter
	if stopping {
		after = time.Duration(stopShare * float64(after))
	}
	return !k.j.parts.off && k.j.Err == nil && time.Since(k.since) >= after
}

func (k *keeper) Keep(fresh bool, write func(w io.Writer)) {
	p := &k.j.parts
	if fresh || p.key != k.key || len(p.at) == 0 {
		*p = parts{key: k.key, end: k.j.end, off: p.off}
	}
	w := &partWriter{j: k.j, at: p.end, err: k.j.f.Truncate(p.end)}
	w.begin()
	write(w)
	w.buf[partHead-1] = 1
	w.flush()
	if w.err == nil {
		w.err = k.j.f.Sync()
	}
	k.since = time.Now()
	if w.err != nil { // as where the disk is full: entries may still find room
		k.j.PartErr, p.off = w.err, true
		_ = k.j.f.Truncate(p.end)
		return
	}
	p.at, p.end, p.own = append(p.at, w.made...), w.at, true
}

// A partWriter cuts what is written into records. What goes wrong shows at the end, for all ranks go on to write.
type partWriter struct {
	j    *Journal
	buf  []byte
	at   int64
	made []*io.SectionReader
	err  error
}

func (w *partWriter) begin() {
	w.buf = append(append(w.buf[:0], partMagic...), w.j.parts.key[:]...)
	w.buf = append(w.buf, 0)
}

func (w *partWriter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), partHead+partBytes-len(w.buf))
		w.buf, rest = append(w.buf, rest[:n]...), rest[n:]
		if len(w.buf) == partHead+partBytes && len(rest) > 0 {
			w.flush()
		}
	}
	return len(b), nil
}

func (w *partWriter) flush() {
	if w.err == nil {
		var n int
		n, w.err = w.j.f.WriteAt(framed(w.buf), w.at)
		w.made = append(w.made, io.NewSectionReader(w.j.f, w.at+RecordHead+int64(partHead), int64(len(w.buf)-partHead)))
		w.at += int64(n)
	}
	w.begin()
}
