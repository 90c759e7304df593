package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Names, levels and fields of files are written by others. On their way to a terminal
// nothing of them may be taken for a command to it, or for a line of ours.

const (
	mostLine   = 1000    // characters of a line of words
	maxCommand = 100_000 // of a command, which has to be whole
)

// printable shows a line with what is no visible character escaped, cut where it is
// long.
func printable(s string) string { return visible(s, mostLine) }

func visible(s string, most int) string {
	var b strings.Builder
	count := 0
	for i, r := range s {
		if count++; count > most {
			fmt.Fprintf(&b, "… (%d characters more)", utf8.RuneCountInString(s[i:]))
			break
		}
		if strconv.IsGraphic(r) && r != utf8.RuneError {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// ours are the escape sequences that reports have of their own.
var ours = [][]byte{[]byte("\x1b[33m"), []byte("\x1b[0m")}

// textf prints a report for people: whatever strings it is given stay on their line.
func textf(w io.Writer, format string, args ...any) (int, error) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = printable(s)
		}
	}
	return fmt.Fprintf(w, format, args...)
}

// withoutControls returns text with what does not print escaped, but for line ends, tabs
// and our own colours. What is no UTF-8 stays: letters may come in parts.
func withoutControls(b []byte) []byte {
	if !bytes.ContainsFunc(b, hidden) {
		return b
	}
	var out []byte
scan:
	for len(b) > 0 {
		for _, seq := range ours {
			if bytes.HasPrefix(b, seq) {
				out, b = append(out, seq...), b[len(seq):]
				continue scan
			}
		}
		r, n := utf8.DecodeRune(b)
		if hidden(r) {
			q := strconv.QuoteRuneToASCII(r)
			out = append(out, q[1:len(q)-1]...)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' && r != utf8.RuneError && !strconv.IsGraphic(r)
}
