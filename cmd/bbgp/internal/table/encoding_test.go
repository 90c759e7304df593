package table

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// A table is the same in every encoding, in whatever pieces it arrives.
func TestEncodings(t *testing.T) {
	text := "temp_°C;Größe;y\n1;Müller;3\n4;Weiß;6\n"
	want := `temp_°C Größe y | 1 "Müller" 3 | 4 "Weiß" 6`
	for _, tc := range []struct {
		name, note string
		e          encoding.Encoding
		bom        string
		told       string
	}{
		{"UTF-8", "", unicode.UTF8, "", ""},
		{"UTF-8 with a mark", "", unicode.UTF8, "\xef\xbb\xbf", ""},
		{"Latin-1", "read as Windows-1252 (Latin-1)", charmap.ISO8859_1, "", ""},
		{"Windows-1252", "Windows-1252", charmap.Windows1252, "", ""},
		{"UTF-16 little", "UTF-16 (little-endian)", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "", ""},
		{"UTF-16 big", "UTF-16 (big-endian)", unicode.UTF16(unicode.BigEndian, unicode.UseBOM), "", ""},
		{"UTF-16 little without a mark", "without a mark",
			unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "", ""},
		{"UTF-16 big without a mark", "without a mark", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "", ""},
		{"Latin-1, told", "", charmap.ISO8859_1, "", "latin1"},
		{"code page 850, told", "", charmap.ISO8859_15, "", "iso-8859-15"},
	} {
		b, err := tc.e.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r },
			iotest.OneByteReader, iotest.HalfReader} {
			f, err := Open(Stdin, cut(strings.NewReader(tc.bom+b)), ReadOptions{Encoding: tc.told})
			if err != nil {
				t.Fatal(tc.name, err)
			}
			r, err := NewReader("t.csv", f, ReadOptions{})
			if err != nil {
				t.Fatal(tc.name, err)
			}
			tab, err := Load(r, Request{})
			if err != nil {
				t.Fatal(tc.name, err)
			}
			if got := render(tab); got != want || !strings.Contains(strings.Join(tab.Notes, ";"), tc.note) {
				t.Errorf("%s: %s\nnotes %s", tc.name, got, tab.Notes)
			}
		}
	}
}

// A foreign letter far behind the beginning is read, unless the text was UTF-8 so far; no
// bytes are lost, and different bytes stay different.
func TestEncodingLate(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("name,y\n")
	for range 30000 {
		b.WriteString("cafe,1\n")
	}
	ascii := b.String()
	got, notes := readAs(ascii+"caf\xe9,2\ncaf\xe8,3\n", ReadOptions{})
	if !strings.HasSuffix(got, `| "café" 2 | "cafè" 3`) || !strings.Contains(notes, "Windows-1252") {
		t.Errorf("%s, %s", got[len(got)-60:], notes)
	}
	got, _ = readAs("name,y\nÄ,1\n"+ascii[7:]+"caf\xe9,2\n", ReadOptions{})
	if want := "standard input: line 30003 is no UTF-8, while lines before it are"; !strings.HasPrefix(got, want) {
		t.Error(got[:min(len(got), 200)])
	}
	for _, tc := range []struct{ in, told, want string }{
		{"a,y\n\xff,1\n", "utf-8", "line 2 is no UTF-8;"},
		{"a,y\n1,1\n", "klingon", "--encoding klingon is not known"},
		{"a\x00b,y\n1,1\n", "", "zero bytes"},
		{strings.Repeat("\x00", 100000), "", "zero bytes"},
	} {
		if got, _ := readAs(tc.in, ReadOptions{Encoding: tc.told}); !strings.Contains(got, tc.want) {
			t.Errorf("%q: %s", tc.in[:min(len(tc.in), 40)], got)
		}
	}
}

// A letter of three bytes may come in parts wherever the buffer ends.
func TestLetterAtTheEndOfTheBuffer(t *testing.T) {
	for end := firstRead - 5; end <= firstRead+5; end++ {
		head := "a,y\n1,"
		text := head + strings.Repeat("x", end-len(head)) + "€\n2,z\n"
		in, err := Open(Stdin, strings.NewReader(text), ReadOptions{})
		if err == nil {
			var r *Reader
			if r, err = NewReader("f", in, ReadOptions{}); err == nil {
				_, err = Load(r, Request{})
			}
		}
		if err != nil {
			t.Errorf("€ at byte %d: %v", end, err)
		}
	}
}
