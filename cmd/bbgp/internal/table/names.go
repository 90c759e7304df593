package table

import (
	"fmt"
	"math"
	"strings"
)

// Find returns the index of the column called name; failing that, name may be
// a 1-based number. The error suggests the nearest name.
func Find(file string, names []string, name string) (int, error) {
	for i, n := range names {
		if n == name {
			return i, nil
		}
	}
	if v, k := parse([]byte(name), '.'); k == number && v >= 1 && v <= float64(len(names)) && v == math.Trunc(v) {
		return int(v) - 1, nil
	}
	text := "there is no such column"
	if near := Nearest(name, names); near != "" {
		text += "; did you mean " + near + "?"
	} else {
		text += "; there are " + List(names, 12)
	}
	if note := BlanksNote(names); note != "" {
		text += "; " + note
	}
	return -1, &Error{File: file, Column: name, Text: text}
}

// Nearest returns the name that differs least from word, or "" if none is
// near: at most a third of its letters differ, or one of a short name, capitals
// aside.
func Nearest(word string, names []string) string {
	best, least := "", 0
	w := []rune(strings.ToLower(word))
	for _, n := range names {
		d := distance(w, []rune(strings.ToLower(n)))
		if best == "" || d < least {
			best, least = n, d
		}
	}
	long := max(len(w), len([]rune(best)))
	if best == "" || 3*least > max(long, 3) || least >= long {
		return ""
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour (optimal string alignment).
func distance(a, b []rune) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			differ := 1
			if a[i] == b[j] {
				differ = 0
			}
			row[j+1] = min(last[j]+differ, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// BlanksNote says what to do where a table has one column whose name has blanks: the
// cells may stand between them.
func BlanksNote(names []string) string {
	if len(names) != 1 || !strings.Contains(names[0], " ") {
		return ""
	}
	return "one column was found; for cells between blanks give --delimiter ' '"
}

// Rows is a number of rows in words.
func Rows(n int) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

// List joins at most n names with commas and counts the others.
func List(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

// makeUnique gives names that stand there more than once the suffixes .2, .3, …,
// passing over those that other columns bear: columns are found by their names. It returns how many
// it has changed, and of the first what it was and is.
func makeUnique(names []string) (changed int, was, is string) {
	taken := make(map[string]bool, len(names)) // by a column, from the start or by now
	for _, n := range names {
		taken[n] = true
	}
	next := map[string]int{} // suffix to try, of the names met
	for i, n := range names {
		if next[n] == 0 {
			next[n] = 2
			continue
		}
		name := n
		for ; taken[name]; next[n]++ {
			name = fmt.Sprintf("%s.%d", n, next[n])
		}
		if changed++; changed == 1 {
			was, is = n, name
		}
		names[i], taken[name] = name, true
	}
	return changed, was, is
}
