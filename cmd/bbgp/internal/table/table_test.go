package table

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func load(t *testing.T, s string, opt ReadOptions) *Table {
	t.Helper()
	r, err := NewReader("t.csv", strings.NewReader(s), opt)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := Load(r, Request{})
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func loadErr(s string) error {
	r, err := NewReader("t.csv", strings.NewReader(s), ReadOptions{})
	if err != nil {
		return err
	}
	_, err = Load(r, Request{})
	return err
}

func TestFormats(t *testing.T) {
	for name, s := range map[string]string{
		"comma":         "a,b,y\n1,2.5,3\n4,-5e-1,6\n",
		"no last end":   "a,b,y\n1,2.5,3\n4,-5e-1,6",
		"crlf":          "a,b,y\r\n1,2.5,3\r\n4,-.5,6\r\n",
		"cr":            "a,b,y\r1,2.5,3\r4,-.5,6\r",
		"bom":           "\xef\xbb\xbfa,b,y\n1,2.5,3\n4,-0.5,6\n",
		"tab":           "a\tb\ty\n1\t2.5\t3\n4\t-0.5\t6\n",
		"semicolon":     "a;b;y\n1;2.5;3\n4;-0.5;6\n",
		"bar":           "a|b|y\n1|2.5|3\n4|-0.5|6\n",
		"decimal comma": "a;b;y\n1;2,5;3\n4;-0,5;6\n",
		"comma in tab":  "a\tb\ty\n1,0\t2,5\t3,0\n4,0\t-0,5\t6,0\n",
		"quoted":        "\"a\",b,\"y\"\n\"1\",\"2.5\",3\n4,\" -0.5\",6\n",
		"blanks":        "a, b ,y\n 1 , 2.5,3\n\n  \n4,-0.5 ,6\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			tab := load(t, s, ReadOptions{})
			want := [][]float64{{1, 4}, {2.5, -0.5}, {3, 6}}
			if tab.Rows != 2 || len(tab.Columns) != 3 || !tab.HasHeader {
				t.Fatalf("%d rows, %d columns, header %v", tab.Rows, len(tab.Columns), tab.HasHeader)
			}
			for i, c := range tab.Columns {
				if c.Name != []string{"a", "b", "y"}[i] {
					t.Errorf("column %d is called %q", i, c.Name)
				}
				for j, v := range c.Num {
					if v != want[i][j] {
						t.Errorf("%s[%d] = %v, want %v", c.Name, j, v, want[i][j])
					}
				}
			}
		})
	}
}

func TestHeaderDetected(t *testing.T) {
	tab := load(t, "1,2\n3,4\n", ReadOptions{})
	if tab.HasHeader || tab.Rows != 2 || tab.Columns[1].Name != "c2" {
		t.Errorf("numbers only: header %v, %d rows", tab.HasHeader, tab.Rows)
	}
	if tab = load(t, "1,2\n3,4\n", ReadOptions{Header: HeaderYes}); tab.Rows != 1 || tab.Columns[1].Name != "2" {
		t.Errorf("header asked for: %d rows", tab.Rows)
	}
	if tab = load(t, "a,,a,a\n3,4,5,6\n", ReadOptions{}); tab.Columns[1].Name != "c2" || tab.Columns[3].Name != "a.3" {
		t.Errorf("empty and repeated names: %q %q", tab.Columns[1].Name, tab.Columns[3].Name)
	}
}

func TestQuotedCells(t *testing.T) {
	tab := load(t, "name,y\n\"a, \"\"b\"\"\",1\n\"two\nlines\",2\nin\"side,3\n\"x\"tail,4\n", ReadOptions{})
	want := []string{`a, "b"`, "two\nlines", `in"side`, "xtail"}
	if len(tab.Columns[0].Levels) != len(want) {
		t.Fatalf("levels %q", tab.Columns[0].Levels)
	}
	for i, w := range want {
		if got := tab.Columns[0].Levels[i]; got != w {
			t.Errorf("cell %d is %q, want %q", i, got, w)
		}
	}
	if tab.Line(0) != 2 || tab.Line(1) != 3 || tab.Line(2) != 5 || tab.Line(3) != 6 {
		t.Errorf("lines %v", tab.Lines)
	}
}

func TestMissingAndText(t *testing.T) {
	var b strings.Builder
	b.WriteString("x,y\n")
	cells := []string{"NA", "na", "NaN", "nan", "N/A", "null", "", "?", ".", "0", "1"}
	for _, c := range cells {
		b.WriteString(c + ",1\n")
	}
	b.WriteString("abc,1\n")
	c := load(t, b.String(), ReadOptions{}).Columns[0]
	if c.Missing != 9 || c.Text != 1 || c.FirstText.Row != 12 || c.FirstText.Line != 13 || c.FirstText.Cell != "abc" {
		t.Errorf("missing %d, text %d, first %+v", c.Missing, c.Text, c.FirstText)
	}
	if c.Num[9] != 0 || c.Num[10] != 1 {
		t.Errorf("numbers %v", c.Num[9:11])
	}
	if c.Codes[0] != CodeMissing || c.Codes[9] != CodeOther || c.Codes[11] != 0 {
		t.Errorf("codes %v", c.Codes)
	}
	if len(c.SpellingsList()) != 9 {
		t.Errorf("spellings %q", c.SpellingsList())
	}
}

func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"empty":  {"", "t.csv: is empty; a header line and rows of numbers are expected"},
		"rules":  {"---\n---\n", "t.csv: is empty; a header line and rows of numbers are expected"},
		"rules2": {"# x\n---\n---", "t.csv: is empty; a header line and rows of numbers are expected"},
		"blank":  {"\n\n", "t.csv: is empty; a header line and rows of numbers are expected"},
		"header": {"a,b\n", "t.csv: has a header and no rows"},
		"few": {"a,b,c\n1,2,3\n4,5\n", "t.csv: row 2 (line 3), column c: the row has 2 of 3 cells; fill the " +
			"missing ones or leave them empty between delimiters"},
		"many": {"a,b\n1,2\n4,5,6\n", "t.csv: row 2 (line 3): the row has 3 cells, the header 2; name all " +
			"columns in the header, or delete the cells that are too many"},
		"quote": {"a,b\n1,\"2\n3,4\n",
			"t.csv: row 1 (line 2): a quote is opened and never closed, or the line has no end"},
		"zero": {"a,b\n1,\x00\n", "t.csv: row 1 (line 2): holds zero bytes, which no text has: a copy that was " +
			"cut short, or no text file; tr -d '\\000' takes them out"},
		"one row": {"a,b\n1,2", "<nil>"},
	} {
		err := loadErr(tc.in)
		if got := errString(err); got != tc.want {
			t.Errorf("%s: %s\nwant %s", name, got, tc.want)
		}
	}
}

func errString(err error) string {
	if err == nil {
		return "<nil>"
	}
	return err.Error()
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	plain := []byte("a,b\n1,2\n")
	var gz bytes.Buffer
	zw := gzip.NewWriter(&gz)
	zw.Write(plain)
	zw.Close()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"plain": plain, "gz": gz.Bytes(), "zst": enc.EncodeAll(plain, nil)} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, nil, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if f, err = Open("-", bytes.NewReader(b), ReadOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, err = io.ReadAll(f); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s as standard input: %q, %v", name, got, err)
		}
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "is a folder; name a file in it",
	} {
		var e *Error
		if _, err := Open(path, nil, ReadOptions{}); !errors.As(err, &e) || e.Text != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Open("-", strings.NewReader("PAR1...."), ReadOptions{}); err == nil ||
		!strings.Contains(err.Error(), "Parquet") {
		t.Errorf("Parquet: %v", err)
	}
	cut := gz.Bytes()[:gz.Len()-6]
	f, err := Open("-", bytes.NewReader(cut), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader("cut.gz", f, ReadOptions{})
	if err == nil {
		_, err = Load(r, Request{})
	}
	if err == nil || !strings.Contains(err.Error(), "reading stopped") {
		t.Errorf("cut gzip: %v", err)
	}
}

// What is packed still once it was unpacked is no text, and the refusal says what to do.
func TestPackedTwice(t *testing.T) {
	pack := func(b []byte) []byte {
		var gz bytes.Buffer
		zw := gzip.NewWriter(&gz)
		zw.Write(b)
		zw.Close()
		return gz.Bytes()
	}
	for inner, want := range map[string]string{string(pack([]byte("a,b\n1,2\n"))): "packed twice: gzip",
		zstdMagic: "packed twice: zstd", parquetMagic: "Parquet: gzip", zipMagic: "workbook: gzip"} {
		_, err := Open(Stdin, bytes.NewReader(pack([]byte(inner))), ReadOptions{})
		kind, tool, _ := strings.Cut(want, ": ")
		if err == nil || !strings.Contains(err.Error(), kind) || !strings.Contains(err.Error(), tool+" -dc") {
			t.Errorf("%.4q in gzip: %v, want %s", inner, err, want)
		}
	}
}

// Every number is read as strconv reads it, bit for bit.
func TestParseIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(s string) {
		t.Helper()
		want, err := strconv.ParseFloat(s, 64)
		got, k := parse([]byte(s), '.')
		if math.IsInf(want, 0) {
			if k != infinite {
				t.Errorf("%s: kind %d", s, k)
			}
			return
		}
		if v, n, _ := leading([]byte(s+","), '.'); n == len(s) && math.Float64bits(v) != math.Float64bits(want) {
			t.Errorf("leading %s: %v, want %v", s, v, want)
		}
		if err != nil || k != number || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s: %v (kind %d), want %v", s, got, k, want)
		}
	}
	for range 20000 {
		v := math.Float64frombits(rng.Uint64())
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		check(strconv.FormatFloat(v, 'g', -1, 64))
		check(strconv.FormatFloat(v, 'e', rng.IntN(25), 64))
		check(strconv.FormatFloat(rng.NormFloat64()*1e3, 'f', rng.IntN(25), 64))
	}
	for _, s := range []string{"-0", "0.0", "00000000000000000000000012", "1.", ".5", "+7", "1e400", "-1e400", "1e-400",
		"9007199254740993", "1e22", "1e23", "123456789012345678901234567890", "0.000000000000000000000000000001",
		"1e99999999999999999999", "18446744073709551616", "3.0E+2"} {
		check(s)
	}
	for _, s := range []string{"", ".", "-", "+", "e5", "1e", "1e+",
		"0x10", "1_000", "1 2", "1.2.3", "--1", "1,5", "nanx", "१"} {
		if _, k := parse([]byte(s), '.'); k == number || k == infinite {
			t.Errorf("%q is taken for a number", s)
		}
	}
	for _, s := range []string{"inf", "-Inf", "+Infinity"} {
		if _, k := parse([]byte(s), '.'); k != infinite {
			t.Errorf("%q: kind %d", s, k)
		}
	}
}

// The records do not depend on how the input arrives.
func TestSmallReads(t *testing.T) {
	var b strings.Builder
	b.WriteString("a,\"b\",c\n")
	for i := range 2000 {
		b.WriteString(strconv.Itoa(i) + ",\"x,\n" + strconv.Itoa(i%7) + "\",0.5\n")
	}
	want := load(t, b.String(), ReadOptions{})
	r, err := NewReader("t.csv", oneByte{strings.NewReader(b.String())}, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Load(r, Request{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows != 2000 || got.Rows != want.Rows || len(got.Columns[1].Levels) != 7 ||
		got.Line(1999) != want.Line(1999) {
		t.Errorf("%d rows, levels %q", got.Rows, got.Columns[1].Levels)
	}
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:1]) }

func TestFindAndNearest(t *testing.T) {
	names := []string{"temperature", "humidity", "y"}
	for name, want := range map[string]int{"humidity": 1, "3": 2} {
		if i, err := Find("f", names, name); err != nil || i != want {
			t.Errorf("%s: %d, %v", name, i, err)
		}
	}
	_, err := Find("f.csv", names, "Temprature")
	if errString(err) != "f.csv: column Temprature: there is no such column; did you mean temperature?" {
		t.Error(err)
	}
	_, err = Find("f.csv", names, "pressure")
	if errString(err) != "f.csv: column pressure: there is no such column; there are temperature, humidity, y" {
		t.Error(err)
	}
	if d := distance([]rune("abcd"), []rune("acbd")); d != 1 {
		t.Errorf("a swap counts %d", d)
	}
}

func BenchmarkLoad(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	var buf bytes.Buffer
	buf.WriteString("a,b,c,d,e,f,g,h\n")
	var line []byte
	for range 100000 {
		line = line[:0]
		for j := range 8 {
			line = strconv.AppendFloat(line, rng.NormFloat64(), 'g', 6+j, 64)
			line = append(line, ",\n"[j/7])
		}
		buf.Write(line)
	}
	b.SetBytes(int64(buf.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r, err := NewReader("b", bytes.NewReader(buf.Bytes()), ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Load(r, Request{}); err != nil {
			b.Fatal(err)
		}
	}
}

// What tells the mark of a usual number at once says what reading it both ways does.
func TestOnlyMark(t *testing.T) {
	seen := map[byte]int{}
	for _, whole := range []string{"", "0", "7", "12", "123", "1234", "12345678901234", "1234567890123456"} {
		for _, part := range []string{"", ".", ".1", ",12", ".123", ",123", ".1234", ",12345678901234567890", ".000",
			".1.2", ",123.4", ".1,2"} {
			for _, end := range []string{"", "e-05", "e+10", "e5", "E-05", "e-5", "e-050", " ", "%", "e", "x"} {
				for _, sign := range []string{"", "-", "+", "--", " "} {
					cell := []byte(sign + whole + part + end)
					got := onlyMark(cell)
					seen[got]++
					if want := bothWays(cell); got != unsure && got != want {
						t.Errorf("%s: %q, not %q", cell, got, want)
					}
				}
			}
		}
	}
	if seen['.'] < 50 || seen[','] < 50 || seen[0] < 50 {
		t.Error(seen)
	}
}
