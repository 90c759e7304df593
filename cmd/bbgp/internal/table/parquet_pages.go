package table

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go/format"
)

// The library trusts the lengths that a Parquet file gives: damaged ones make it
// ask for gigabytes. So the footer and the heads of all pages are walked first,
// with every length held against what is there, and the checksums compared, which
// the library does not do for dictionaries.

// Uncompressed pages are at most this long, or that many times their packed length:
// no codec but zstd packs numbers closer, and writers cut pages at 1 MiB.
const (
	longPage = 64 << 20
	mostPage = 1 << 30
	pageGain = 1100
	longHead = 1 << 20 // bytes of the head of a page, statistics included
)

var errThrift = errors.New("a length beyond the end")

// A thriftData walks over data of the compact Thrift protocol; bad once they are cut
// short.
type thriftData struct {
	b   []byte
	bad bool
}

func (t *thriftData) take(n uint64) []byte {
	if n > uint64(len(t.b)) {
		t.b, t.bad = nil, true
		return nil
	}
	v := t.b[:n]
	t.b = t.b[n:]
	return v
}

func (t *thriftData) uvarint() uint64 {
	v, n := binary.Uvarint(t.b)
	if n <= 0 {
		t.b, t.bad = nil, true
		return 0
	}
	t.b = t.b[n:]
	return v
}

func (t *thriftData) octet() byte {
	if v := t.take(1); v != nil {
		return v[0]
	}
	return 0
}

// Types of the compact protocol.
const (
	thriftTrue, thriftFalse                     = 1, 2
	thriftByte, thriftI16, thriftI32, thriftI64 = 3, 4, 5, 6
	thriftDouble, thriftBinary                  = 7, 8
	thriftList, thriftSet, thriftMap            = 9, 10, 11
	thriftStruct                                = 12
)

// fields walks over a structure. known takes a field of a number or a structure and
// says that it has; all others are skipped.
func (t *thriftData) fields(depth int, known func(id int, kind byte) bool) {
	id := 0
	for !t.bad {
		head := t.octet()
		if t.bad || head == 0 {
			return
		}
		if delta := int(head >> 4); delta > 0 {
			id += delta
		} else {
			id = int(t.integer())
		}
		if kind := head & 15; known == nil || !known(id, kind) {
			t.skip(kind, depth+1, false)
		}
	}
}

func (t *thriftData) integer() int64 {
	u := t.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// skip walks over a value; in lists a boolean takes a byte.
func (t *thriftData) skip(kind byte, depth int, listed bool) {
	switch kind {
	case thriftTrue, thriftFalse:
		if listed {
			t.take(1)
		}
	case thriftByte:
		t.take(1)
	case thriftI16, thriftI32, thriftI64:
		t.uvarint()
	case thriftDouble:
		t.take(8)
	case thriftBinary:
		t.take(t.uvarint())
	case thriftList, thriftSet:
		head := t.octet()
		n := uint64(head >> 4)
		if n == 15 {
			n = t.uvarint()
		}
		for ; n > 0 && !t.bad; n-- {
			t.skip(head&15, depth+1, true)
		}
	case thriftMap:
		n := t.uvarint()
		if n == 0 {
			return
		}
		kinds := t.octet()
		for ; n > 0 && !t.bad; n-- {
			t.skip(kinds>>4, depth+1, true)
			t.skip(kinds&15, depth+1, true)
		}
	case thriftStruct:
		if depth > 32 {
			t.bad = true
			return
		}
		t.fields(depth, nil)
	default:
		t.bad = true
	}
}

// footerShare of the memory is what a footer may take: the library makes several times its
// bytes of it.
const footerShare = 16

// checkFooter looks at the end of a file, the length of the footer and the magic,
// and walks over the footer.
func checkFooter(label string, at io.ReaderAt, size, most int64) error {
	var tail [8]byte
	if size < 12 {
		return &Error{File: label, Text: "damaged Parquet data: cut short"}
	}
	if _, err := at.ReadAt(tail[:], size-8); err != nil {
		return &Error{File: label, Text: "cannot be read: " + err.Error()}
	}
	long := int64(binary.LittleEndian.Uint32(tail[:]))
	if string(tail[4:]) != parquetMagic || long > size-12 {
		return &Error{File: label, Text: "damaged Parquet data: cut short, or the end is not that of such a file"}
	}
	if long > most/footerShare {
		return &Error{File: label, Refused: true, Text: fmt.Sprintf("its footer of %d bytes, if it is no damage, "+
			"takes more than the memory budget; give more with --memory", long)}
	}
	t := thriftData{b: make([]byte, long)}
	if _, err := at.ReadAt(t.b, size-8-long); err != nil {
		return &Error{File: label, Text: "cannot be read: " + err.Error()}
	}
	t.fields(0, nil)
	if t.bad {
		return &Error{File: label, Text: "damaged Parquet data: the footer has " + errThrift.Error()}
	}
	return nil
}

// checkPages walks over the pages of all columns. The library holds a page of each at a
// time, and the dictionaries.
func checkPages(label string, at io.ReaderAt, size int64, m *format.FileMetaData, most int64) error {
	total := int64(0)
	for _, g := range m.RowGroups {
		held := int64(0)
		for _, c := range g.Columns {
			meta := &c.MetaData
			start := meta.DataPageOffset
			if o := meta.DictionaryPageOffset; o > 0 && o < start {
				start = o
			}
			err := errThrift
			if start >= 4 && meta.TotalCompressedSize >= 0 && start <= size && meta.TotalCompressedSize <= size-start {
				var n int64
				n, err = checkChunk(io.NewSectionReader(at, start, meta.TotalCompressedSize), meta.NumValues)
				held += n
			}
			if err == nil && meta.NumValues != g.NumRows {
				err = fmt.Errorf("%d values for %d rows", meta.NumValues, g.NumRows)
			}
			if err != nil {
				return &Error{File: label, Column: strings.Join(meta.PathInSchema, "."),
					Text: "damaged Parquet data: " + oneLine(err)}
			}
		}
		if held > most {
			return &Error{File: label, Refused: true, Text: fmt.Sprintf("the pages of its %d columns unpack to %d "+
				"bytes at a time, more than the memory budget; give more with --memory, or write it with smaller pages",
				len(g.Columns), held)}
		}
		if g.NumRows < 0 {
			return &Error{File: label, Text: "damaged Parquet data: a negative number of rows"}
		}
		total += g.NumRows
	}
	if total != m.NumRows {
		return &Error{File: label, Text: fmt.Sprintf("damaged Parquet data: %d rows in its groups, %d in all",
			total, m.NumRows)}
	}
	return nil
}

// A pageHead is what matters of the head of a page.
type pageHead struct {
	kind, unpacked, packed, crc, values int64
	hasCRC                              bool
}

// checkChunk walks over the pages of a column until their values are complete, and returns
// the bytes of its largest page and its dictionary, packed and unpacked.
func checkChunk(in io.Reader, values int64) (held int64, err error) {
	r := bufio.NewReaderSize(in, longHead)
	var page, dictionary int64
	for seen := int64(0); seen < values; {
		b, err := r.Peek(longHead)
		if len(b) == 0 {
			return 0, fmt.Errorf("the column ends after %d of %d values", seen, values)
		}
		if err != nil && err != io.EOF {
			return 0, err
		}
		h, n, err := readPageHead(b)
		if err != nil {
			return 0, err
		}
		if h.packed < 0 || h.unpacked < 0 || h.values < 0 ||
			h.unpacked > min(max(longPage, pageGain*h.packed), mostPage) {
			return 0, fmt.Errorf("a page of %d values and %d bytes that unpacks to %d", h.values, h.packed, h.unpacked)
		}
		if _, err := r.Discard(n); err != nil {
			return 0, err
		}
		sum := crc32.NewIEEE()
		if got, err := io.CopyN(sum, r, h.packed); err != nil || got != h.packed {
			return 0, fmt.Errorf("a page of %d bytes where %d are left", h.packed, got)
		}
		if h.hasCRC && uint32(h.crc) != sum.Sum32() {
			return 0, errors.New("the checksum of a page does not match")
		}
		switch h.kind {
		case int64(format.DataPage), int64(format.DataPageV2):
			if h.values > values-seen {
				return 0, fmt.Errorf("%d values in its pages where there are %d", seen+h.values, values)
			}
			seen += h.values
			page = max(page, h.unpacked+h.packed)
		case int64(format.DictionaryPage):
			if h.values > values { // writers keep what occurs
				return 0, fmt.Errorf("a dictionary of %d entries for %d values", h.values, values)
			}
			dictionary = max(dictionary, h.unpacked+h.packed)
		}
	}
	return page + dictionary, nil
}

// readPageHead reads the head of a page and returns its length.
func readPageHead(b []byte) (h pageHead, n int, err error) {
	t := thriftData{b: b}
	number := func(to *int64) bool { *to = t.integer(); return true }
	t.fields(0, func(id int, kind byte) bool {
		switch {
		case kind == thriftI32 && id == 1:
			return number(&h.kind)
		case kind == thriftI32 && id == 2:
			return number(&h.unpacked)
		case kind == thriftI32 && id == 3:
			return number(&h.packed)
		case kind == thriftI32 && id == 4:
			h.hasCRC = true
			return number(&h.crc)
		case kind == thriftStruct && (id == 5 || id == 7 || id == 8):
			t.fields(1, func(id int, kind byte) bool { return id == 1 && kind == thriftI32 && number(&h.values) })
			return true
		}
		return false
	})
	if t.bad {
		return h, 0, errThrift
	}
	return h, len(b) - len(t.b), nil
}
