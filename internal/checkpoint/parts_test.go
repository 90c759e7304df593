package checkpoint

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What an evaluation keeps is found again, as far as the file goes and in whole pieces, by the same call alone, until
// its entry takes the place; a program from before finds the end of the journal there.
func TestParts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	open := func() *Journal {
		t.Helper()
		j, err := ResumeJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Begin([]byte("{}")); err != nil {
			t.Fatal(err)
		}
		j.peek()
		return j
	}
	kept := func(j *Journal, key byte) []byte {
		t.Helper()
		r := (&keeper{j: j, key: [32]byte{key}}).Kept()
		if r == nil {
			return nil
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first, second := bytes.Repeat([]byte("ab"), partBytes-5), []byte("the rest")
	j := open()
	k := &keeper{j: j, key: [32]byte{7}, since: time.Now()}
	if k.Due(false) || k.Due(true) {
		t.Error("due at once")
	}
	k.since = time.Now().Add(-KeepAfter / 5)
	if k.Due(false) || !k.Due(true) {
		t.Error("a fifth of the time is enough where it stops, and only there")
	}
	k.Keep(true, func(w io.Writer) { w.Write(first[:9]); w.Write(first[9:]) })
	size := j.parts.end
	k.Keep(false, func(w io.Writer) { w.Write(second) })
	all := append(bytes.Clone(first), second...)
	if kept(j, 7) != nil {
		t.Error("the run that keeps goes on from what it keeps")
	}
	j.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		size int64
		want []byte
	}{{int64(len(b)), all}, {int64(len(b)) - 1, first}, {size, first}, {size - 1, nil}, {size / 2, nil}} {
		if err := os.WriteFile(path, b[:c.size], 0o600); err != nil {
			t.Fatal(err)
		}
		j = open()
		if got := kept(j, 7); !bytes.Equal(got, c.want) || kept(j, 8) != nil {
			t.Errorf("%d of %d bytes: %d are kept, want %d", c.size, len(b), len(got), len(c.want))
		}
		j.Close()
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	j = open()
	j.Add(&Entry{Key: [32]byte{7}, Fault: "none"})
	j.Close()
	j = open()
	if e := j.Take([32]byte{7}); e == nil || kept(j, 7) != nil || j.peek() != nil {
		t.Error("the entry did not take the place")
	}
	j.Close()
}
