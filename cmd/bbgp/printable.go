package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Names, levels and fields of files are written by others. On their way to a terminal
// nothing of them may be taken for a command to it, or for a line of ours.

// mostLine is the number of characters of a line of words.
const mostLine = 1000

// printable shows a line with what is no visible character escaped, cut where it is
// long.
func printable(s string) string {
	var b strings.Builder
	count := 0
	for i, r := range s {
		if count++; count > mostLine {
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

// withoutControls returns text with control characters escaped but for line ends, tabs
// and our own colours.
func withoutControls(b []byte) []byte {
	if !bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }) {
		return b
	}
	var out []byte
scan:
	for i := 0; i < len(b); i++ {
		for _, seq := range ours {
			if bytes.HasPrefix(b[i:], seq) {
				out = append(out, seq...)
				i += len(seq) - 1
				continue scan
			}
		}
		if c := b[i]; c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			out = fmt.Appendf(out, `\x%02x`, c)
		} else {
			out = append(out, c)
		}
	}
	return out
}
