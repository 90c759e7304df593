package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Stdin is the name that stands for standard input.
const Stdin = "-"

// Open opens the file name, or takes stdin if name is "-". Gzip and zstd are
// recognised by their first bytes and unpacked; a Parquet file is turned into text.
func Open(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == Stdin {
		return unpack("standard input", stdin, io.NopCloser(stdin))
	}
	f, err := os.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{File: name, Text: "no such file"}
	case errors.Is(err, fs.ErrPermission):
		return nil, &Error{File: name, Text: "no permission to read it"}
	case err != nil:
		return nil, &Error{File: name, Text: err.Error()}
	}
	if st, err := f.Stat(); err == nil && st.IsDir() {
		f.Close()
		return nil, &Error{File: name, Text: "is a folder; name a file in it"}
	}
	r, err := unpack(name, f, f)
	if err != nil {
		f.Close()
	}
	return r, err
}

// Label is how a file is called in messages.
func Label(name string) string {
	if name == Stdin {
		return "standard input"
	}
	return name
}

// readCloser closes a decompressor and what it reads from.
type readCloser struct {
	io.Reader
	close func() error
}

func (r readCloser) Close() error { return r.close() }

func unpack(label string, in io.Reader, c io.Closer) (io.ReadCloser, error) {
	br := bufio.NewReaderSize(in, 1<<16)
	head, err := br.Peek(4)
	if err != nil && err != io.EOF {
		return nil, &Error{File: label, Text: "cannot be read: " + err.Error()}
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, &Error{File: label, Text: "damaged gzip data: " + err.Error()}
		}
		return readCloser{z, c.Close}, nil
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, &Error{File: label, Text: "damaged zstd data: " + err.Error()}
		}
		return readCloser{z, func() error { z.Close(); return c.Close() }}, nil
	}
	if bytes.Equal(head, []byte(parquetMagic)) {
		return openParquet(label, br, c)
	}
	if kind := foreign(head); kind != "" {
		return nil, &Error{File: label, Text: fmt.Sprintf("is %s; export it as CSV in UTF-8", kind)}
	}
	return readCloser{br, c.Close}, nil
}

// foreign names formats that are no text table.
func foreign(head []byte) string {
	for magic, kind := range map[string]string{
		"PK\x03\x04":       "a zip archive or a spreadsheet",
		"\xd0\xcf\x11\xe0": "a spreadsheet of the old binary kind",
		"%PDF":             "a PDF file",
		"\x89HDF":          "an HDF5 file",
		"BZh":              "a bzip2 file",
		"\xfd7zX":          "an xz file",
		"\xff\xfe":         "UTF-16 text",
		"\xfe\xff":         "UTF-16 text",
	} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return kind
		}
	}
	return ""
}
