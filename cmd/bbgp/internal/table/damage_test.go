package table

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// damaged returns b with a few bytes changed, cut, moved or put together with another file.
func damaged(rng *rand.Rand, b, other []byte) []byte {
	c := bytes.Clone(b)
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(c))
		if rng.IntN(3) == 0 { // the footer, or what tells of it
			at = max(0, len(c)-1-rng.IntN(min(len(c), 700)))
		}
		n := min(1+rng.IntN(16), len(c)-at)
		switch rng.IntN(7) {
		case 0, 1:
			c[at] ^= 1 << rng.IntN(8)
		case 2:
			c[at] = byte(rng.IntN(256))
		case 3:
			for i := range n { // a length without end
				c[at+i] = 0xff
			}
		case 4:
			c = append(c[:at], c[min(at+n, len(c)-1):]...)
		case 5:
			copy(c[at:at+n], other[rng.IntN(len(other)-n):])
		case 6:
			if rng.IntN(20) == 0 {
				c = c[:max(at, 1)]
			}
		}
	}
	return c
}

// damages is how many damaged files a test makes: BBGP_DAMAGE, or few.
func damages(few int) int {
	if n, err := strconv.Atoi(os.Getenv("BBGP_DAMAGE")); err == nil {
		return n
	}
	return few
}

// tryDamaged reads n damaged files: each is refused with an *Error of one line, or read as the whole file or, where
// nothing checks its cells, as a table of equal columns. None takes more than most bytes beyond the file.
func tryDamaged(t *testing.T, n int, whole [][]byte, most uint64, change func(rng *rand.Rand, b, other []byte) []byte) {
	t.Helper()
	refused, same, other := 0, 0, 0
	want := make([]string, len(whole))
	for i, b := range whole {
		var err error
		if want[i], err = readDamaged(b); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 0x64616d))
		k := rng.IntN(len(whole))
		b := change(rng, whole[k], whole[rng.IntN(len(whole))])
		var before, after runtime.MemStats
		if seed%64 == 0 {
			runtime.ReadMemStats(&before)
		}
		got, err := readDamaged(b)
		if seed%64 == 0 {
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("seed %d: %d bytes for a file of %d", seed, took, len(b))
			}
		}
		var e *Error
		switch {
		case err == nil && got == want[k]:
			same++
		case err == nil:
			other++
		case !errors.As(err, &e) || strings.Contains(err.Error(), "\n"):
			t.Errorf("seed %d: %v", seed, err)
		default:
			refused++
		}
	}
	t.Logf("%d refused, %d as they were, %d read with other cells", refused, same, other)
}

// readDamaged reads a table within a budget and returns its cells.
func readDamaged(b []byte) (string, error) {
	opt := ReadOptions{Memory: 128 << 20}
	tab, err := loadSound(bytes.NewReader(b), opt)
	if err != nil {
		return "", err
	}
	return render(tab), nil
}

// TestDamagedParquet: no damage panics, hangs, or takes memory that the file does not account for.
func TestDamagedParquet(t *testing.T) {
	whole := [][]byte{parquetFile(t, 20), parquetFile(t, 130), packedParquet(t, 3, 400)}
	tryDamaged(t, damages(300), whole, 256<<20, damaged)
}

// TestDamagedSheets: the parts of a workbook, unpacked, damaged and packed again, so that no checksum helps.
func TestDamagedSheets(t *testing.T) {
	rows := [][]any{{"day", "temp", "kind", "y"}}
	for i := range 12 {
		rows = append(rows, []any{45352 + i, 0.1 * float64(i), "a & \"b\"", i})
	}
	whole := [][]byte{book(t, rows, map[string]string{"A2:A13": "dd.mm.yyyy"}, nil)}
	tryDamaged(t, damages(150), whole, 256<<20, func(rng *rand.Rand, b, _ []byte) []byte {
		r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, hit := zip.NewWriter(&out), rng.IntN(len(r.File))
		for i, f := range r.File {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			part, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			if (i == hit || strings.Contains(f.Name, "sheet1.xml") && rng.IntN(2) == 0) && len(part) > 0 {
				part = damagedXML(rng, part)
			}
			to, err := w.Create(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := to.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	})
}

// oddXML are parts of workbooks that mean something.
var oddXML = []string{`r="XFD1048576"`, `r="A0"`, `r="AAAAAAAA99999999999"`, `t="s"`, `t="e"`, `t="str"`, `s="99999"`,
	"<v>-1</v>", "<v>1e999</v>", "<v>99999999999999999999</v>", "<c/>", "<row/>", "</row>", "<row r=\"-5\">", "&lt;",
	"&bad;", "&#0;", "<!DOCTYPE a [<!ENTITY b \"bb\">]>", "<![CDATA[", "]]>", "<is><t>a</t></is>", "\x00", "\xff",
	`count="4294967296"`, "<sheetData>", "</sheetData>", "<mergeCell ref=\"A1:XFD1048576\"/>"}

func damagedXML(rng *rand.Rand, part []byte) []byte {
	if rng.IntN(3) == 0 {
		return damaged(rng, part, part)
	}
	at := rng.IntN(len(part))
	if k := bytes.IndexByte(part[at:], '<'); k > 0 && rng.IntN(2) == 0 {
		at += k
	}
	odd := oddXML[rng.IntN(len(oddXML))]
	return append(append(bytes.Clone(part[:at]), odd...), part[min(at+rng.IntN(12), len(part)):]...)
}
