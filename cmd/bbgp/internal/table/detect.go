package table

import "bytes"

// delimiters are tried in this order: a comma may stand inside numbers.
var delimiters = []byte{'\t', ';', '|', ','}

// detectDelimiter chooses the delimiter from the first lines of a file: one
// that occurs equally often (and at all) in every line, else the most frequent
// one of the first line, else a comma.
func detectDelimiter(sample []byte) byte {
	lines := sampleLines(sample, 20)
	if len(lines) == 0 {
		return ','
	}
	best, most := byte(','), 0
	for _, d := range delimiters {
		first := countOutside(lines[0], d)
		if first == 0 {
			continue
		}
		even := true
		for _, l := range lines[1:] {
			even = even && countOutside(l, d) == first
		}
		if even && len(lines) > 1 {
			return d
		}
		if first > most {
			best, most = d, first
		}
	}
	return best
}

// detectDecimal tells a decimal comma: the delimiter is another one, some cell
// is a number only with a comma, and none is one only with a point.
func detectDecimal(sample []byte, delimiter byte) byte {
	if delimiter == ',' {
		return '.'
	}
	comma := false
	for _, l := range sampleLines(sample, 100) {
		for _, cell := range bytes.Split(l, []byte{delimiter}) {
			cell = bytes.Trim(cell, " \t\"")
			if bytes.IndexByte(cell, '.') >= 0 {
				if _, k := parse(cell, '.'); k == number {
					return '.'
				}
			}
			if bytes.IndexByte(cell, ',') >= 0 {
				_, k := parse(cell, ',')
				comma = comma || k == number
			}
		}
	}
	if comma {
		return ','
	}
	return '.'
}

// sampleLines returns at most n whole lines that are not blank; a last line
// without an end counts only if it is the only one, for it may be cut.
func sampleLines(sample []byte, n int) [][]byte {
	var lines [][]byte
	for len(sample) > 0 && len(lines) < n {
		i := bytes.IndexByte(sample, '\n')
		if i < 0 {
			if len(lines) > 0 {
				break
			}
			i = len(sample)
		}
		if line := bytes.TrimRight(sample[:i], "\r\n"); len(bytes.TrimSpace(line)) > 0 {
			lines = append(lines, line)
		}
		sample = sample[min(i+1, len(sample)):]
	}
	return lines
}

// countOutside counts d in line outside of quotes.
func countOutside(line []byte, d byte) int {
	if bytes.IndexByte(line, '"') < 0 {
		return bytes.Count(line, []byte{d})
	}
	n, quoted := 0, false
	for _, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case c == d && !quoted:
			n++
		}
	}
	return n
}
