package table

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Stdin is the name that stands for standard input.
const Stdin = "-"

// Open opens the file name, or takes stdin if name is "-". Gzip and zstd are
// recognised by their first bytes and unpacked; a Parquet file and a sheet of a workbook
// are turned into text; text in other encodings into UTF-8.
func Open(name string, stdin io.Reader, opt ReadOptions) (io.ReadCloser, error) {
	if name == Stdin {
		return unpack("standard input", stdin, io.NopCloser(stdin), opt)
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
	r, err := unpack(name, f, f, opt)
	if err != nil {
		f.Close()
	}
	return r, err
}

// A windowed reader says what to do where zstd data look back further than is kept.
type windowed struct {
	z     *zstd.Decoder
	label string
}

func (w windowed) Read(p []byte) (int, error) {
	n, err := w.z.Read(p)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = &Error{File: w.label, Text: "is packed by zstd with a longer window (--long, --ultra) than is read; " +
			"pipe it through zstd -dc --long=31, or pack it without"}
	}
	return n, err
}

// What packed files begin with.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	zipMagic  = "PK\x03\x04"
)

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
	head  []string
}

func (r readCloser) Close() error { return r.close() }

func (r readCloser) notes() []string {
	if n, ok := r.Reader.(interface{ notes() []string }); ok {
		return append(n.notes(), r.head...)
	}
	return r.head
}

func unpack(label string, in io.Reader, c io.Closer, opt ReadOptions) (io.ReadCloser, error) {
	br := bufio.NewReaderSize(in, 1<<16)
	head, err := br.Peek(16)
	if err != nil && err != io.EOF {
		return nil, &Error{File: label, Text: "cannot be read: " + err.Error()}
	}
	closing := c.Close
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, &Error{File: label, Text: "damaged gzip data: " + err.Error()}
		}
		br = bufio.NewReaderSize(z, 1<<16)
	case bytes.HasPrefix(head, []byte(zstdMagic)):
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, &Error{File: label, Text: "damaged zstd data: " + err.Error()}
		}
		br, closing = bufio.NewReaderSize(windowed{z, label}, 1<<16), func() error { z.Close(); return c.Close() }
	case bytes.HasPrefix(head, []byte(parquetMagic)):
		return openParquet(label, br, c, opt)
	case bytes.HasPrefix(head, []byte(zipMagic)):
		return openWorkbook(label, br, c, opt)
	}
	if opt.Sheet != "" {
		return nil, &Error{File: label, Text: "is no workbook (.xlsx); leave --sheet out"}
	}
	head, _ = br.Peek(20) // an error comes again with the first read
	if kind := cmp.Or(packedInside(head), foreign(head)); kind != "" {
		return nil, &Error{File: label, Text: kind}
	}
	text, notes, err := decode(label, br, opt.Encoding)
	return readCloser{text, closing, notes}, err
}

// packedInside says what is wrong where data that were unpacked are packed still.
func packedInside(head []byte) string {
	for magic, text := range map[string]string{
		gzipMagic: "is packed twice; unpack it once: gzip -dc FILE | bbgp … -, or zstd -dc",
		zstdMagic: "is packed twice; unpack it once: zstd -dc FILE | bbgp … -, or gzip -dc",
		parquetMagic: "is a Parquet file that is packed once more; unpack it: gzip -dc FILE > table.parquet, " +
			"or zstd -dc",
		zipMagic: "is a workbook or archive that is packed once more; unpack it: gzip -dc FILE > table.xlsx, " +
			"or zstd -dc",
	} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return text
		}
	}
	return ""
}
