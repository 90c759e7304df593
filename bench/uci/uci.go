// Package uci reads the UCI regression sets that the experiments use, from the
// folder that BBGP_DATA names (default ../shared/data beside the module):
// NAME.csv.gz, a header and numbers with the output last, and
// splits/NAME.npy, permutations of the rows as little-endian uint16.
package uci

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"bbgp.dev/bbgp"
)

// TrainShare is the part of the rows that trains: the first int(0.67 n) of a
// permutation.
const TrainShare = 0.67

// A Table holds rows of numbers, the output in the last column.
type Table struct {
	Names []string
	Rows  [][]float64
}

// Dir returns the data folder.
func Dir() string {
	if dir := os.Getenv("BBGP_DATA"); dir != "" {
		return dir
	}
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "shared", "data")
}

// Load returns the training and the test rows of a split of the set name. With
// n > 0 only the first n rows of the permutation train; the test rows stay.
func Load(name string, split, n int) (train, test Table, err error) {
	all, err := read(filepath.Join(Dir(), name+".csv.gz"))
	if err != nil {
		return train, test, err
	}
	perm, err := permutation(filepath.Join(Dir(), "splits", name+".npy"), split, len(all.Rows))
	if err != nil {
		return train, test, err
	}
	cut := int(TrainShare * float64(len(perm)))
	first := cut
	if n > 0 && n < cut {
		first = n
	}
	return all.pick(perm[:first]), all.pick(perm[cut:]), nil
}

// Data returns the rows as training data.
func (t Table) Data() *bbgp.Data {
	d := len(t.Names) - 1
	x, y := make([][]float64, len(t.Rows)), make([]float64, len(t.Rows))
	for i, row := range t.Rows {
		x[i], y[i] = row[:d], row[d]
	}
	data, err := bbgp.NewData(x, y, t.Names[:d])
	if err != nil {
		panic(err) // rows of one table are equally long
	}
	return data
}

func (t Table) pick(rows []uint16) Table {
	out := Table{Names: t.Names, Rows: make([][]float64, len(rows))}
	for i, r := range rows {
		out.Rows[i] = t.Rows[r]
	}
	return out
}

// WriteCSV writes the table with its header, every digit kept.
func (t Table) WriteCSV(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, strings.Join(t.Names, ","))
	var line []byte
	for _, row := range t.Rows {
		line = line[:0]
		for j, v := range row {
			if j > 0 {
				line = append(line, ',')
			}
			line = strconv.AppendFloat(line, v, 'g', -1, 64)
		}
		if _, err := b.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return b.Flush()
}

func read(path string) (t Table, err error) {
	f, err := os.Open(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		cells := strings.Split(strings.TrimSpace(lines.Text()), ",")
		if t.Names == nil {
			t.Names = cells
			continue
		}
		row := make([]float64, len(cells))
		for j, c := range cells {
			if row[j], err = strconv.ParseFloat(c, 64); err != nil {
				return t, fmt.Errorf("%s: row %d: %w", path, len(t.Rows)+1, err)
			}
		}
		if len(row) != len(t.Names) {
			return t, fmt.Errorf("%s: row %d has %d cells, the header %d", path, len(t.Rows)+1, len(row), len(t.Names))
		}
		t.Rows = append(t.Rows, row)
	}
	return t, lines.Err()
}

// permutation reads row split of a (splits, n) array of uint16 in numpy's
// format 1.0.
func permutation(path string, split, n int) ([]uint16, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(b) < 10 || string(b[:6]) != "\x93NUMPY" {
		return nil, fmt.Errorf("%s: not a numpy file", path)
	}
	body := b[10+int(binary.LittleEndian.Uint16(b[8:])):]
	if split < 0 || len(body) < 2*n*(split+1) {
		return nil, fmt.Errorf("%s: no split %d of %d rows", path, split, n)
	}
	perm := make([]uint16, n)
	for i := range perm {
		perm[i] = binary.LittleEndian.Uint16(body[2*(split*n+i):])
		if int(perm[i]) >= n {
			return nil, fmt.Errorf("%s: entry %d is out of range", path, perm[i])
		}
	}
	return perm, nil
}
