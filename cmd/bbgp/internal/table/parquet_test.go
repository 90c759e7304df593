package table

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

type parquetRow struct {
	A    float64   `parquet:"a"`
	B    *int64    `parquet:"b"`
	Name string    `parquet:"name,zstd"`
	Day  time.Time `parquet:"day,timestamp(millisecond)"`
	On   bool      `parquet:"on"`
	F    float32   `parquet:"f"`
	Cost int64     `parquet:"cost,decimal(2:10)"`
	U    uint64    `parquet:"u"`
}

func parquetFile(t testing.TB, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[parquetRow](&b, parquet.MaxRowsPerRowGroup(100), parquet.Compression(&parquet.Snappy))
	for i := range n {
		r := parquetRow{A: math.Pi * float64(i), Name: []string{"x, y", "quo\"te", "z"}[i%3],
			Day: time.Date(2024, 2, 28+i, 6, 0, 0, 0, time.UTC), On: i%2 == 0,
			F: 0.1, Cost: int64(i) + 5, U: math.MaxUint64}
		if i%4 != 1 {
			v := int64(i) << 40
			r.B = &v
		}
		if _, err := w.Write([]parquetRow{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestParquet(t *testing.T) {
	b := parquetFile(t, 250)
	path := filepath.Join(t.TempDir(), "d.parquet")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, Stdin} {
		f, err := Open(name, bytes.NewReader(b), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(name, f, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tab, err := Load(r, Request{As: map[string]As{"day": AsDate}})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if tab.Rows != 250 || len(tab.Columns) != 8 {
			t.Fatalf("%d rows, %d columns", tab.Rows, len(tab.Columns))
		}
		c := map[string]*Column{}
		for _, col := range tab.Columns {
			c[col.Name] = col
		}
		const i = 121
		day := float64(time.Date(2024, 2, 28+i, 6, 0, 0, 0, time.UTC).Unix()) / 86400
		if c["a"].Num[i] != math.Pi*i || !math.IsNaN(c["b"].Num[i]) || c["b"].Num[i+1] != float64(int64(i+1)<<40) ||
			c["b"].Missing != 63 || c["day"].Num[i] != day || c["on"].Num[i] != 0 || c["f"].Num[i] != 0.1 ||
			c["cost"].Num[i] != (i+5)/100.0 || c["u"].Num[i] != math.MaxUint64 {
			t.Errorf("row %d: %v %v %v %v %v %v %v", i, c["a"].Num[i], c["b"].Num[i], c["day"].Num[i], c["on"].Num[i],
				c["f"].Num[i], c["cost"].Num[i], c["u"].Num[i])
		}
		if l := c["name"].Levels; len(l) != 3 || l[0] != "x, y" || l[1] != "quo\"te" {
			t.Errorf("texts %q", l)
		}
	}
}

func TestParquetLists(t *testing.T) {
	type row struct {
		A float64
		L []float64
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	if _, err := w.Write([]row{{1, []float64{1, 2}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := Open(Stdin, &b, ReadOptions{}); !errors.As(err, &e) || e.Column != "L" {
		t.Error(err)
	}
}

// LZ4 is refused, and so is an end that promises a longer footer than there is.
func TestParquetRefused(t *testing.T) {
	type row struct {
		A float64
		B int64 `parquet:"b,lz4"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	if _, err := w.Write([]row{{1, 2}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := Open(Stdin, bytes.NewReader(b.Bytes()), ReadOptions{}); !errors.As(err, &e) || e.Column != "b" ||
		!strings.Contains(e.Text, "LZ4") {
		t.Error(err)
	}
	long := parquetFile(t, 5)
	long[len(long)-6] = 0x7f
	if _, err := Open(Stdin, bytes.NewReader(long), ReadOptions{}); !errors.As(err, &e) ||
		!strings.Contains(e.Text, "damaged Parquet data: cut short") {
		t.Error(err)
	}
}

// Damage gives an *Error, never a panic.
func FuzzParquet(f *testing.F) {
	b := parquetFile(f, 20)
	f.Add(0, byte(0), b[:len(b)-10])
	for i := range 40 {
		f.Add(len(b)*i/40, byte(0x55), b)
	}
	f.Fuzz(func(t *testing.T, at int, flip byte, b []byte) {
		c := bytes.Clone(b)
		if len(c) > 0 {
			c[uint(at)%uint(len(c))] ^= flip
		}
		var e *Error
		in, err := Open(Stdin, bytes.NewReader(c), ReadOptions{})
		if err == nil {
			var r *Reader
			if r, err = NewReader("f", in, ReadOptions{}); err == nil {
				_, err = Load(r, Request{})
			}
		}
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
	})
}
