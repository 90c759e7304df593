package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bbgp.dev/internal/gp"
)

// A record whose sum is right is an entry or the end of the journal, never a panic,
// and the journal ends there or goes on behind it.
func FuzzEntries(f *testing.F) {
	var good bytes.Buffer
	failed := Entry{Fault: "not finite", Singular: true, State: []byte{1, 2}}
	if err := gob.NewEncoder(&good).Encode(&failed); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes(), uint32(good.Len()))
	f.Add([]byte{}, uint32(0))
	f.Add(good.Bytes(), uint32(1<<31))
	f.Fuzz(func(t *testing.T, payload []byte, size uint32) {
		var head [RecordHead]byte
		binary.LittleEndian.PutUint32(head[:], size)
		binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(payload, Castagnoli))
		file := append(head[:], payload...)
		j := &Journal{in: bufio.NewReader(bytes.NewReader(file))}
		e := j.peek()
		if e == nil {
			return
		}
		if e.Value == nil && e.Fault == "" || j.size != int64(len(file)) {
			t.Fatalf("an entry of %d bytes in a file of %d: %+v", j.size, len(file), e)
		}
		if j.Take(e.Key) != e || j.peek() != nil {
			t.Fatal("the entry was not taken, or another is behind it")
		}
	})
}

// Whatever a file holds is another file, the checkpoint of another fit, or one that ends
// where its records do: it is never read beyond that, and what is added then is found again.
func FuzzFrames(f *testing.F) {
	id := []byte(`{"rows":3}`)
	path := filepath.Join(f.TempDir(), "j")
	good, err := ResumeJournal(path)
	if err != nil {
		f.Fatal(err)
	}
	if err := good.Begin(id); err != nil {
		f.Fatal(err)
	}
	good.Add(&Entry{Fault: "not finite"})
	if err := good.Close(); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)-3])
	f.Add(b[:10])
	f.Add([]byte("a,b\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := ResumeJournal(path)
		if bad := (*gp.FileError)(nil); err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		defer j.Close()
		j.synced = time.Now().Add(time.Hour) // a disk is slow
		if err := j.Begin(id); err != nil {
			if bad := (*gp.FileError)(nil); !errors.As(err, &bad) {
				t.Fatal(err)
			}
			return
		}
		for e := j.peek(); e != nil; e = j.peek() {
			j.Take(e.Key)
		}
		if j.end > max(int64(len(b)), JournalStart+RecordHead+int64(len(id))) {
			t.Fatalf("%d of %d bytes are taken", j.end, len(b))
		}
		at := j.end
		j.Add(&Entry{Fault: "added"})
		if st, err := j.f.Stat(); err != nil || j.Err != nil || st.Size() != j.end || j.end <= at {
			t.Fatalf("%v, %v: %d bytes, the journal ends at %d after %d", err, j.Err, st.Size(), j.end, at)
		}
	})
}
