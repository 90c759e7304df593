package table

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// oddParts are what mutations are made of.
var oddParts = []string{"#", "%", "//", "\"", "\"\"", ",", ";", "\t", " ", "\n", "\r\n", "\r", "|", "1", "1.5", "1,5",
	"1.234", "1,234.5", "-", "NA", "<0,5", "mm", "[s]", "a", "y",
	"sep=;", "@data", "@attribute a numeric", "2024-01-01", "03/04/2024", "13/04/2024", "12 %", "$5", "\xe9",
	"é", "\x00", "\xff\xfe", "1e5", "inf", "Total", "3\na\nb\nc\n",
	"\u00a0", "−4", "1 234", "(5)", "2 mm", "Jan 5, 2024", "1e400", "99999999999999999999", "5s\t15s\n", "{\"", "<html"}

// Tables put together at random are read or refused: no panic, all columns of one length,
// lines that rise, and the same whatever the pieces that they arrive in.
func TestRandomTables(t *testing.T) {
	n := 3000
	if s := os.Getenv("BBGP_TABLES"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		var b strings.Builder
		for range 1 + rng.IntN(6) { // lines of the same kind, with odd parts between
			line := ""
			mark := oddParts[5+rng.IntN(4)]
			for range 1 + rng.IntN(4) {
				line += oddParts[rng.IntN(len(oddParts))] + mark
			}
			for range 1 + rng.IntN(4) {
				b.WriteString(strings.TrimSuffix(line, mark) + "\n")
			}
			if rng.IntN(3) == 0 {
				b.WriteString(oddParts[rng.IntN(len(oddParts))])
			}
		}
		in := b.String()
		whole, err := loadRandom(in, false)
		var e *Error
		if err != nil && (!errors.As(err, &e) || strings.Contains(err.Error(), "\n")) {
			t.Fatalf("seed %d, %q: %v", seed, in, err)
		}
		if seed%10 == 0 {
			if pieces, err2 := loadRandom(in, true); errString(err) != errString(err2) || pieces != whole {
				t.Fatalf("seed %d, %q: whole %s, %v; in pieces %s, %v", seed, in, whole, err, pieces, err2)
			}
		}
	}
}

func loadRandom(in string, pieces bool) (string, error) {
	var src io.Reader = strings.NewReader(in)
	if pieces {
		src = oneByte{src}
	}
	tab, err := loadSound(src, ReadOptions{})
	if err != nil {
		return "", err
	}
	for i := 1; i < tab.Rows; i++ {
		if tab.Line(i) <= tab.Line(i-1) {
			panic("lines that do not rise")
		}
	}
	return render(tab), nil
}

// loadSound loads a table from src, and panics if its columns differ in length.
func loadSound(src io.Reader, opt ReadOptions) (*Table, error) {
	in, err := Open(Stdin, src, opt)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r, err := NewReader("f", in, opt)
	if err != nil {
		return nil, err
	}
	tab, err := Load(r, Request{})
	if err != nil {
		return nil, err
	}
	for _, c := range tab.Columns {
		if len(c.Num) != tab.Rows || c.Codes != nil && len(c.Codes) != tab.Rows {
			panic("a column of another length")
		}
	}
	return tab, nil
}
