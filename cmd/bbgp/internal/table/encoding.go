package table

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Text is UTF-8 inside of the program, whatever it was in the file: names and texts of
// a model are then the same wherever they come from.

// decode gives the text of in as UTF-8. The encoding is told by name, or by a byte order
// mark, or by the zero bytes of UTF-16; else text is UTF-8 where it is valid as such,
// and Windows-1252, of which Latin-1 is a part, where it is not.
func decode(label string, in *bufio.Reader, name string) (io.Reader, []string, error) {
	if name != "" {
		e, err := htmlindex.Get(name)
		if err != nil {
			text := fmt.Sprintf("--encoding %s is not known; utf-8, latin1, windows-1252 or utf-16le, for example",
				name)
			return nil, nil, &Error{File: label, Text: text}
		}
		if canonical, _ := htmlindex.Name(e); canonical == "utf-8" {
			return &utf8Reader{in: in, label: label, strict: true}, nil, nil
		}
		return e.NewDecoder().Reader(in), nil, nil
	}
	head, _ := in.Peek(64) // an error comes again with the first read
	if kind, e := utf16Kind(head); e != nil {
		return e.NewDecoder().Reader(in), []string{"read as " + kind}, nil
	}
	return &utf8Reader{in: in, label: label}, nil, nil
}

// utf16Kind tells UTF-32 by its mark, and UTF-16 by its mark, or by zero bytes in every other place, which the
// letters and digits of a table leave.
func utf16Kind(head []byte) (string, encoding.Encoding) {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")):
		return "UTF-32 (little-endian)", utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)
	case bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return "UTF-32 (big-endian)", utf32.UTF32(utf32.BigEndian, utf32.UseBOM)
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return "UTF-16 (little-endian)", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "UTF-16 (big-endian)", unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case len(head) < 4:
		return "", nil
	}
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	switch most := len(head) / 2 * 3 / 4; {
	case zeros[0] == 0 && zeros[1] >= most:
		return "UTF-16 (little-endian, without a mark)", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case zeros[1] == 0 && zeros[0] >= most:
		return "UTF-16 (big-endian, without a mark)", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return "", nil
}

// A utf8Reader passes UTF-8 through. At the first byte that is none, after nothing but
// ASCII, it takes the text for Windows-1252, which is the same so far.
type utf8Reader struct {
	in      io.Reader
	label   string
	strict  bool
	foreign bool   // Windows-1252 from here on
	multi   bool   // letters of several bytes were seen: the text is UTF-8
	rest    []byte // decoded, or the beginning of a letter, and not given yet
	held    bool   // rest is the beginning of a letter
	lines   int
	buf     []byte
	err     error
}

func (u *utf8Reader) notes() []string {
	if !u.foreign {
		return nil
	}
	return []string{"is no UTF-8: read as Windows-1252 (Latin-1); --encoding NAME overrules"}
}

func (u *utf8Reader) Read(p []byte) (int, error) {
	if len(u.rest) > 0 && !u.held {
		n := copy(p, u.rest)
		u.rest = u.rest[n:]
		return n, nil
	}
	if u.err != nil {
		return 0, u.err
	}
	if u.foreign {
		if u.buf == nil {
			u.buf = make([]byte, sampleSize)
		}
		n, err := u.in.Read(u.buf[:min(len(u.buf), max(len(p)/3, 1))])
		u.err = err
		u.rest = fromWindows(u.rest[:0], u.buf[:n])
		return u.given(p)
	}
	k := copy(p, u.rest)
	if u.held && k < len(u.rest) || k == len(p) {
		return 0, io.ErrShortBuffer
	}
	n, err := u.in.Read(p[k:])
	n, u.err = n+k, err
	u.rest, u.held = nil, false
	good := u.valid(p[:n])
	u.lines += bytes.Count(p[:good], []byte{'\n'})
	if good == n {
		return n, nil
	}
	if err == nil && !utf8.FullRune(p[good:n]) {
		u.rest, u.held = append(u.rest, p[good:n]...), true
		return good, nil
	}
	if u.multi || u.strict {
		line := u.lines + 1
		return 0, &Error{File: u.label, Text: fmt.Sprintf("line %d is no UTF-8%s; save the file in one encoding, or "+
			"name it with --encoding, such as windows-1252", line, u.while())}
	}
	u.foreign = true
	u.rest = fromWindows(nil, p[good:n])
	if good == 0 {
		return u.given(p)
	}
	return good, nil
}

func (u *utf8Reader) while() string {
	if u.strict {
		return ""
	}
	return ", while lines before it are"
}

// given hands out what has been decoded.
func (u *utf8Reader) given(p []byte) (int, error) {
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	if n == 0 {
		return 0, u.err
	}
	return n, nil
}

// valid returns the length of the part of p that is UTF-8.
func (u *utf8Reader) valid(p []byte) int {
	i := 0
	for ; i+8 <= len(p); i += 8 {
		if binary.LittleEndian.Uint64(p[i:])&0x8080808080808080 != 0 {
			break
		}
	}
	for i < len(p) {
		if p[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		u.multi = true
		i += size
	}
	return len(p)
}

func fromWindows(dst, src []byte) []byte {
	for _, c := range src {
		dst = utf8.AppendRune(dst, charmap.Windows1252.DecodeByte(c))
	}
	return dst
}
