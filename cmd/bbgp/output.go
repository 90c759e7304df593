package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"bbgp.dev/internal/outfile"
)

// writeJSON prints v as one indented object.
func writeJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if _, err = w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// A rowWriter writes rows of numbers as CSV; its first error stays.
type rowWriter struct {
	w      *bufio.Writer
	buf    []byte
	digits int // significant ones; 0: all that are needed
}

func (r *rowWriter) header(names ...string) {
	for i, n := range names {
		if i > 0 {
			r.w.WriteByte(',')
		}
		r.w.WriteString(csvCell(n))
	}
	r.w.WriteByte('\n')
}

// csvCell quotes a cell that would not be read as one.
func csvCell(s string) string {
	if strings.ContainsAny(s, "\",;\r\n\t") || s != strings.TrimSpace(s) {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}

// texts writes the cells that a row begins with.
func (r *rowWriter) texts(cells [][]string, row int) {
	for _, c := range cells {
		r.w.WriteString(csvCell(c[row]))
		r.w.WriteByte(',')
	}
}

// row writes numbers in the shortest form that reads back as the same bits, or with as
// many digits as were asked for, and empty cells for what is not known: NaN and infinities.
func (r *rowWriter) row(v ...float64) {
	r.buf = r.buf[:0]
	for i, x := range v {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		if x-x == 0 {
			r.buf = strconv.AppendFloat(r.buf, x, 'g', cmp.Or(r.digits, -1), 64)
		}
	}
	r.buf = append(r.buf, '\n')
	r.w.Write(r.buf)
}

// empty writes a row of n cells without a value.
func (r *rowWriter) empty(n int) {
	for range n - 1 {
		r.w.WriteByte(',')
	}
	r.w.WriteByte('\n')
}

// writeFile lets write fill the file at path, which appears only when it is
// complete; "-" is standard output.
func writeFile(path string, stdout io.Writer, write func(*rowWriter) error) error {
	if path == "-" {
		if r, ok := stdout.(*resultWriter); ok {
			stdout = dataWriter{r}
		}
		w := &rowWriter{w: bufio.NewWriter(stdout)}
		if err := write(w); err != nil {
			w.w.Flush()
			return err
		}
		return w.w.Flush()
	}
	if err := outfile.Check(path); err != nil {
		return usagef("%s cannot be written: %s", path, folderReason(err))
	}
	return outfile.Write(path, func(f io.Writer) error {
		w := &rowWriter{w: bufio.NewWriterSize(f, 1<<16)}
		if err := write(w); err != nil {
			return err
		}
		return w.w.Flush()
	})
}

func folderReason(err error) string {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "no such folder"
	case errors.Is(err, os.ErrPermission):
		return "no permission to write there"
	case errors.Is(err, syscall.ENOTDIR):
		return "there is a file where its folder should be"
	}
	return oneLine(err.Error())
}

// A styled text has the colours of this program and prints as it is.
type styled string

// yellow colours a word on terminals, unless NO_COLOR is set (no-color.org).
func yellow(w io.Writer, word string) styled {
	if !isTerminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return styled(word)
	}
	return styled("\x1b[33m" + word + "\x1b[0m")
}
