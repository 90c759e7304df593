package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// packedParquet has columns of zeros, one page each, which pack to next to nothing.
func packedParquet(t *testing.T, columns, rows int) []byte {
	t.Helper()
	g := parquet.Group{}
	for j := range columns {
		g[fmt.Sprintf("c%d", j)] = parquet.Compressed(parquet.Encoded(parquet.Leaf(parquet.DoubleType),
			&parquet.Plain), &zstd.Codec{})
	}
	var b bytes.Buffer
	w := parquet.NewWriter(&b, parquet.NewSchema("s", g), parquet.PageBufferSize(8*rows))
	row := make(parquet.Row, columns)
	for j := range row {
		row[j] = parquet.DoubleValue(0).Level(0, 0, j)
	}
	batch := make([]parquet.Row, rows)
	for i := range batch {
		batch[i] = row
	}
	if _, err := w.WriteRows(batch); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What a file would take before its first row is read is held against the budget.
func TestFilesWithinMemory(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, "long.parquet") // a footer that is nearly all of a file of holes
	f, err := os.Create(long)
	if err != nil {
		t.Fatal(err)
	}
	const size = 3 << 30
	for at, s := range map[int64]string{0: parquetMagic, size: "\x00\x00\x00\xb0" + parquetMagic} {
		if _, err := f.WriteAt([]byte(s), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	packed := packedParquet(t, 20, 10_000)
	endless := io.MultiReader(strings.NewReader(parquetMagic), zeros{})
	book := io.MultiReader(strings.NewReader("PK\x03\x04"), zeros{})
	for _, tc := range []struct {
		name, want string
		in         io.Reader
		memory     int64
	}{
		{long, "footer", nil, 1 << 30},
		{long, "footer", nil, 0},
		{Stdin, "20 columns unpack to", bytes.NewReader(packed), 1 << 20},
		{Stdin, "", bytes.NewReader(packed), 1 << 23},
		{Stdin, "pipe of such a file", endless, 1 << 20},
		{Stdin, "pipe of such a file", book, 1 << 20},
	} {
		in, err := Open(tc.name, tc.in, ReadOptions{Memory: tc.memory})
		if err == nil {
			err = in.Close()
		}
		var e *Error
		if tc.want == "" && err != nil || tc.want != "" && (!errors.As(err, &e) || !e.Refused ||
			!strings.Contains(e.Text, tc.want)) {
			t.Errorf("%s within %d bytes: %v, want %q", filepath.Base(tc.name), tc.memory, err, tc.want)
		}
	}
}

// A window that is too long is no damage, and is told with what to do.
func TestLongWindow(t *testing.T) {
	// A frame of zstd: magic, a descriptor without length or checksum, a window of 2 GiB, no block.
	frame := "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"
	in, err := Open(Stdin, strings.NewReader(frame), ReadOptions{})
	if err == nil {
		_, err = NewReader("f", in, ReadOptions{})
	}
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Text, "zstd -dc --long=31") {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
