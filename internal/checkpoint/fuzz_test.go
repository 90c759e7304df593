package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"hash/crc32"
	"testing"
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
