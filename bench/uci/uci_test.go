package uci

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made writes a set of n rows, in which y is twice the number of the row, and two permutations
// of them, and names its folder to Load.
func made(t *testing.T, n int) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("BBGP_DATA", dir)
	var text bytes.Buffer
	z := gzip.NewWriter(&text)
	fmt.Fprintln(z, "x1,x2,y")
	for i := range n {
		fmt.Fprintf(z, "%d,%g,%d\n", i, 0.5, 2*i)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	header := fmt.Sprintf("{'descr': '<u2', 'fortran_order': False, 'shape': (2, %d), }", n)
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	npy := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	npy = append(npy, header...)
	for split := range uint64(2) {
		for _, i := range rand.New(rand.NewPCG(split, 1)).Perm(n) {
			npy = binary.LittleEndian.AppendUint16(npy, uint16(i))
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "splits"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"made.csv.gz": text.Bytes(), "splits/made.npy": npy} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLoad(t *testing.T) {
	made(t, 300)
	train, test, err := Load("made", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(train.Rows) != 201 || len(test.Rows) != 99 || strings.Join(train.Names, " ") != "x1 x2 y" {
		t.Fatalf("%d training rows, %d test rows, columns %v", len(train.Rows), len(test.Rows), train.Names)
	}
	seen := map[float64]bool{}
	for _, r := range append(train.Rows[:201:201], test.Rows...) {
		if seen[r[0]] || r[2] != 2*r[0] {
			t.Fatalf("row %v twice, or of several", r)
		}
		seen[r[0]] = true
	}
	small, test2, err := Load("made", 1, 20)
	if err != nil || len(small.Rows) != 20 || len(test2.Rows) != 99 || small.Rows[7][0] != train.Rows[7][0] {
		t.Fatalf("%d rows of 20, %v", len(small.Rows), err)
	}
	d := small.Data()
	if d.X.Rows != 20 || d.X.Cols != 2 || d.Y[3] != 2*d.X.At(3, 0) {
		t.Errorf("data of %d×%d", d.X.Rows, d.X.Cols)
	}
	var b strings.Builder
	if err := small.WriteCSV(&b); err != nil || strings.Count(b.String(), "\n") != 21 {
		t.Errorf("csv %q, %v", b.String(), err)
	}
}

func TestLoadFaults(t *testing.T) {
	made(t, 30)
	for _, c := range []struct {
		name  string
		split int
	}{{"made", 2}, {"made", -1}, {"other", 0}} {
		if _, _, err := Load(c.name, c.split, 0); err == nil {
			t.Errorf("%s, split %d was accepted", c.name, c.split)
		}
	}
	short := filepath.Join(Dir(), "splits", "made.npy")
	if err := os.Truncate(short, 150); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load("made", 1, 0); err == nil {
		t.Error("permutations that are cut short were accepted")
	}
}
