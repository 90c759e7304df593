package table

import "bytes"

// split cuts a record without quotes at the delimiter and trims the cells. Like the other ways to cut, it
// makes no more than a cell beyond what a table may have: what is behind is in the last one, or left out.
func split(cells [][]byte, rec []byte, delimiter byte) [][]byte {
	from := 0
	for i, c := range rec {
		if c == delimiter && len(cells) < maxColumns {
			cells = append(cells, trim(rec[from:i]))
			from = i + 1
		}
	}
	return append(cells, trim(rec[from:]))
}

// splitAny cuts a record of any kind; one with quotes is changed.
func splitAny(cells [][]byte, rec []byte, delimiter byte, quoted bool) [][]byte {
	switch {
	case delimiter == Blanks:
		return splitBlanks(cells, rec)
	case quoted:
		return splitQuoted(cells, rec, delimiter)
	}
	return split(cells, rec, delimiter)
}

// splitBlanks cuts a record at runs of blanks; those at both ends do not count.
func splitBlanks(cells [][]byte, rec []byte) [][]byte {
	for i := 0; ; {
		for i < len(rec) && blank(rec[i]) {
			i++
		}
		if i == len(rec) || len(cells) > maxColumns {
			return cells
		}
		from := i
		if rec[i] == '"' {
			end := bytes.IndexByte(rec[i+1:], '"')
			if next := i + end + 2; end >= 0 && (next == len(rec) || blank(rec[next])) {
				cells = append(cells, trim(rec[i+1:i+1+end]))
				i += end + 2
				continue
			}
		}
		for i < len(rec) && !blank(rec[i]) {
			i++
		}
		cells = append(cells, rec[from:i])
	}
}

// trim cuts spaces, tabs and carriage returns off both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// A quote opens a cell only as its first character that is not blank; inside,
// two quotes stand for one. Elsewhere a quote is a character like any other.

// quotedEnd returns the length of the record at the start of data, which ends
// at a newline outside of quotes (closed), or with the data (not closed). The
// length is -1 where the data end inside of quotes.
func quotedEnd(data []byte, delimiter, newline byte) (n int, closed bool) {
	inside, fresh := false, true
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case inside:
			if c == '"' {
				if i+1 < len(data) && data[i+1] == '"' {
					i++
				} else {
					inside = false
				}
			}
		case c == newline:
			return i, true
		case c == delimiter:
			fresh = true
		case c == '"' && fresh:
			inside, fresh = true, false
		case !blank(c):
			fresh = false
		case delimiter == Blanks:
			fresh = true
		}
	}
	if inside {
		return -1, false
	}
	return len(data), false
}

// splitQuoted cuts a record that has quotes. Doubled quotes are made single in
// place, so rec is changed.
func splitQuoted(cells [][]byte, rec []byte, delimiter byte) [][]byte {
	i := 0
	for {
		from := i
		for from < len(rec) && blank(rec[from]) && rec[from] != delimiter {
			from++
		}
		if from < len(rec) && rec[from] == '"' {
			var cell []byte
			cell, i = unquote(rec, from+1, delimiter)
			cells = append(cells, cell)
		} else {
			for i < len(rec) && rec[i] != delimiter {
				i++
			}
			cells = append(cells, trim(rec[from:i]))
		}
		if i >= len(rec) || len(cells) > maxColumns {
			return cells
		}
		i++
	}
}

// unquote reads the cell behind an opening quote and returns it with the index
// of the delimiter after it. What stands between the closing quote and the
// delimiter is kept.
func unquote(rec []byte, i int, delimiter byte) (cell []byte, next int) {
	from, to := i, i
	inside := true
	for ; i < len(rec) && (inside || rec[i] != delimiter); i++ {
		if inside && rec[i] == '"' {
			if i+1 < len(rec) && rec[i+1] == '"' {
				i++
			} else {
				inside = false
				continue
			}
		}
		rec[to] = rec[i]
		to++
	}
	return trim(rec[from:to]), i
}
