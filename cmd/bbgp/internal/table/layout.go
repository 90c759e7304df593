package table

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Columns by position: aligned text whose cells may be blank, so that the blanks between
// cells cannot be counted. The places where every line of the sample is blank divide it.

// A layout is columns by position.
type layout []span

// A span is the place of a column, in letters from 0; to is behind its last one.
type span struct{ from, to int }

const fewestAligned = 3 // lines that show a layout

// positions finds the columns of the sample by position, and the record that they begin at;
// nil where runs of blanks divide the lines as well, or where the lines are not aligned.
func (s *sample) positions() (l layout, start int) {
	if !s.has(Blanks) {
		return nil, 0
	}
	for start = range min(len(s.recs), 4) { // titles run across the columns
		if len(s.recs)-start < fewestAligned {
			break
		}
		if l = alignment(s.recs[start:]); l == nil {
			continue
		}
		for _, above := range s.recs[:start] {
			if cells, ok := l.cut(nil, above.text); ok && filled(cells) > 1 {
				return nil, 0 // it is no title, and may have the names
			}
		}
		return l, start
	}
	return nil, 0
}

func alignment(recs []record) layout {
	used := []bool{} // by a letter of some line, beside rules
	tokens := map[int]bool{}
	var rule layout
	for i, r := range recs {
		if bytes.IndexByte(r.text, '\t') >= 0 {
			return nil
		}
		if isRule(r.text) && !bytes.ContainsAny(r.text, "|+") && i < 3 {
			rule = runs(filledAt(nil, r.text))
			continue
		}
		used = filledAt(used, r.text)
		tokens[len(bytes.Fields(r.text))] = true
	}
	l := runs(used)
	if len(rule) > 1 {
		l = rule
	} else if len(tokens) < 2 {
		return nil
	}
	l = l.joined(recs)
	if len(l) < 2 || !l.holds(recs) {
		return nil
	}
	return l
}

// filledAt marks the letters of a line that are not blank.
func filledAt(used []bool, line []byte) []bool {
	i := 0
	for _, r := range string(line) {
		if i == len(used) {
			used = append(used, false)
		}
		used[i] = used[i] || r != ' ' && r != '\r'
		i++
	}
	return used
}

// runs returns the runs of places that are used.
func runs(used []bool) (l layout) {
	for i, u := range used {
		switch {
		case u && (i == 0 || !used[i-1]):
			l = append(l, span{i, i + 1})
		case u:
			l[len(l)-1].to = i + 1
		}
	}
	return l
}

// joined puts a name together with cells beside it that stand under no name.
func (l layout) joined(recs []record) layout {
	named, filled := make([]bool, len(l)), make([]bool, len(l))
	for i, r := range recs {
		cells, ok := l.cut(nil, r.text)
		if !ok || isRule(r.text) {
			continue
		}
		for j, c := range cells {
			named[j] = named[j] || i == 0 && len(c) > 0
			filled[j] = filled[j] || i > 0 && len(c) > 0
		}
	}
	var out layout
	head := 0 // the first part of the last of out
	for j := 0; j < len(l); j++ {
		if n := len(out) - 1; n >= 0 && named[j] != filled[j] && named[head] && filled[head] &&
			l[j].from == l[j-1].to+1 {
			out[n].to = l[j].to // a name, or cells, of several words
			continue
		}
		head = j
		if j+1 < len(l) && named[j] != filled[j] && named[j+1] == filled[j] && filled[j+1] == named[j] {
			out = append(out, span{l[j].from, l[j+1].to})
			j++
			continue
		}
		out = append(out, l[j])
	}
	return out
}

// holds says whether the lines are a table by this layout: every column has a name (or a
// cell of the first row) and a cell below, there are numbers, and no cell is two numbers.
func (l layout) holds(recs []record) bool {
	first, numbers, full := 0, 0, make([]bool, len(l))
	for i, r := range recs {
		if isRule(r.text) {
			continue
		}
		cells, ok := l.cut(nil, r.text)
		if !ok {
			return false
		}
		for j, c := range cells {
			words := bytes.Fields(c)
			full[j] = full[j] || i > 0 && len(words) > 0
			several := 0
			for _, w := range words {
				if looks(w) == number {
					several++
				}
			}
			if several > 1 && looks(c) != number {
				return false
			}
			if i == 0 && len(words) > 0 {
				first++
			} else if i > 0 && several > 0 {
				numbers++
			}
		}
	}
	return first == len(l) && numbers > len(recs)/3 && !slices.Contains(full, false)
}

// cut divides a line. What protrudes from a column into the blanks beside it belongs to
// it; ok is false where a cell reaches the next column.
func (l layout) cut(cells [][]byte, line []byte) (_ [][]byte, ok bool) {
	at := func(i int) int { return min(i, len(line)) }
	if n := utf8.RuneCount(line); n != len(line) {
		offsets := make([]int, 0, n)
		for i := range string(line) {
			offsets = append(offsets, i)
		}
		at = func(i int) int {
			if i >= n {
				return len(line)
			}
			return offsets[i]
		}
	}
	from := 0
	for j := range l[:len(l)-1] {
		gap, end := at(l[j].to), at(l[j+1].from)
		a, b := gap, end
		for a < end && !blank(line[a]) {
			a++
		}
		for b > a && !blank(line[b-1]) {
			b--
		}
		if end > gap && a == b && end < len(line) || len(trim(line[a:b])) > 0 {
			return cells, false
		}
		cells = append(cells, trim(line[from:a]))
		from = b
	}
	return append(cells, trim(line[from:])), true
}

// isRule says whether a line only draws a line: -----, +----+----+, |---|:-:|.
func isRule(line []byte) bool {
	for _, c := range line {
		if !slices.Contains([]byte("-=+|: \t\r"), c) {
			return false
		}
	}
	for _, part := range []string{"---", "===", "|:-", "-:|"} {
		if bytes.Contains(line, []byte(part)) {
			return true
		}
	}
	return false
}
