package table

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// render writes a table as names, a bar, and the rows: numbers, texts, - for missing.
func render(t *Table) string {
	var b strings.Builder
	for j, c := range t.Columns {
		if j > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.Name)
	}
	for i := range t.Rows {
		b.WriteString(" |")
		for _, c := range t.Columns {
			switch {
			case c.MissingAt(i):
				b.WriteString(" -")
			case c.Codes != nil && c.Codes[i] >= 0:
				fmt.Fprintf(&b, " %q", c.Levels[c.Codes[i]])
			case math.IsNaN(c.Num[i]):
				b.WriteString(" ?")
			default:
				fmt.Fprintf(&b, " %g", c.Num[i])
			}
		}
	}
	return b.String()
}

// readAs reads a text and returns what it says, or the error; and all notes and doubts.
func readAs(in string, opt ReadOptions) (got, notes string) {
	f, err := Open(Stdin, strings.NewReader(in), opt)
	if err != nil {
		return err.Error(), ""
	}
	r, err := NewReader("t.csv", f, opt)
	if err != nil {
		return err.Error(), ""
	}
	tab, err := Load(r, Request{})
	if err != nil {
		return err.Error(), ""
	}
	all := tab.Notes
	for _, c := range tab.Columns {
		if c.Note != "" {
			all = append(all, c.Note)
		}
		if c.Doubt != nil {
			all = append(all, "DOUBT "+c.Doubt.Error())
		}
	}
	return render(tab), strings.Join(all, "; ")
}

// What stands before the rows, and how lines are cut, of every kind that is told apart.
func TestHeads(t *testing.T) {
	two := "1 2 3 | 4 5 6"
	for _, tc := range []struct {
		name, in string
		opt      ReadOptions
		want     string // of render, or of an error
		note     string // a part of the notes
	}{
		{name: "aligned", in: "     1.000    2.000      3.00\n     4.000    5.000      6.00\n",
			want: "c1 c2 c3 | " + two, note: "numbers or dates only"},
		{name: "aligned with names", in: "  a       b          y\n  1.0   2.000      3.00\n  4.0   5.000      6.00\n",
			want: "a b y | " + two},
		{name: "tabs and blanks", in: "a \t b  y\n1 \t 2   3\n4  5 \t 6\n", want: "a b y | " + two},
		{name: "aligned, quoted", in: "18.0  8  \"ford torino\"\n15.0  8  \"amc rebel\"\n",
			want: `c1 c2 c3 | 18 8 "ford torino" | 15 8 "amc rebel"`},
		{name: "aligned, decimal comma", in: "a b y\n1,5 2,5 3,5\n4,25 5,25 6,25\n",
			want: "a b y | 1.5 2.5 3.5 | 4.25 5.25 6.25"},
		{name: "comment", in: "# unit: mm\na,b,y\n1,2,3\n4,5,6\n", want: "a b y | " + two,
			note: "1 line before the table left out: comments"},
		{name: "comments of Matlab", in: "% made by x\n% on Monday, 3 pm\n1 2 3\n4 5 6\n", want: "c1 c2 c3 | " + two,
			note: "2 lines before"},
		{name: "comments of C", in: "// run 7\n//\na;b;y\n1;2;3\n4;5;6\n", want: "a b y | " + two},
		{name: "header in a comment", in: "#a,b,y\n1,2,3\n4,5,6\n", want: "a b y | " + two, note: "in a comment"},
		{name: "header in a comment, blanks", in: "# a b y\n1 2 3\n4 5 6\n", want: "a b y | " + two},
		{name: "header in the last comment", in: "# test, of all\n# a\tb\ty\n1\t2\t3\n4\t5\t6\n",
			want: "a b y | " + two},
		{name: "percent in a name", in: "%fat,b,y\n1,2,3\n4,5,6\n", want: "%fat b y | " + two},
		{name: "colours", in: "color,b,y\n#FF0000,2,3\n#00FF00,5,6\n",
			want: `color b y | "#FF0000" 2 3 | "#00FF00" 5 6`},
		{name: "colours first", in: "#FF0000,2.5,3\n#00FF00,5.5,6\n",
			want: `c1 c2 c3 | "#FF0000" 2.5 3 | "#00FF00" 5.5 6`},
		{name: "title", in: "Extract of 2025\n\na;b;y\n1;2;3\n4;5;6\n", want: "a b y | " + two,
			note: `1 line before the table left out: "Extract of 2025"`},
		{name: "title of a spreadsheet", in: "Report,,\nof 2025,,\n,,\na,b,y\n1,2,3\n4,5,6\n", want: "a b y | " + two,
			note: "3 lines before"},
		{name: "title with the delimiter", in: "Plant 7, all shifts\na,b,y\n1,2,3\n4,5,6\n", want: "a b y | " + two},
		{name: "two titles and numbers", in: "Measured by K.\nLab 3\n1.5\t2\t3\n4.5\t5\t6\n",
			want: "c1 c2 c3 | 1.5 2 3 | 4.5 5 6"},
		{name: "sep", in: "sep=;\na;b;y\n1;2;3\n4;5;6\n", want: "a b y | " + two, note: "the first line says"},
		{name: "sep, tab", in: "\"sep=\t\"\na\tb\ty\n1\t2\t3\n4\t5\t6\n", want: "a b y | " + two},
		{name: "units", in: "a,b,y\nmm,mm/s,kN\n1,2,3\n4,5,6\n", want: "a b y | " + two, note: "taken for units"},
		{name: "units in brackets", in: "t;p;y\n[s];[bar];[-]\n1;2;3\n4;5;6\n", want: "t p y | " + two},
		{name: "units, one row", in: "a,b,y\n(m),,(kg)\n1,2,3\n", want: "a b y | 1 2 3"},
		{name: "units of one column", in: "name,y\n,mm\nx,1\nz,2\n", want: `name y | "x" 1 | "z" 2`},
		{name: "no units: words", in: "name,b,y\nred,2,3\nblue,5,6\n", want: `name b y | "red" 2 3 | "blue" 5 6`},
		{name: "no units: missing", in: "a,b,y\nNA,NA,NA\n1,2,3\n", want: "a b y | - - - | 1 2 3"},
		{name: "no units: limit", in: "name,y\nfoo,<0.5\nbar,3\nbaz,4\n",
			want: `name y | "foo" "<0.5" | "bar" 3 | "baz" 4`},
		{name: "units told not", in: "a,b,y\nmm,mm,mm\n1,2,3\n", opt: ReadOptions{Units: UnitsNo},
			want: `a b y | "mm" "mm" "mm" | 1 2 3`},
		{name: "row names of R", in: "\"a\" \"b\" \"y\"\n\"1\" 1 2 3\n\"2\" 4 5 6\n", want: "a b y | " + two,
			note: "name of the row"},
		{name: "row names, comma", in: "mpg,cyl,y\nMazda RX4,1,2,3\nFiat 128,4,5,6\n", want: "mpg cyl y | " + two},
		{name: "row names, one column", in: "y\n\"a\" 1\n\"b\" 2\n", want: "y | 1 | 2"},
		{name: "a name too few", in: "a,b\n0.5,2,3\n0.7,5,6\n",
			want: "t.csv: row 1 (line 2): the row has 3 cells, the header 2; quote cells that contain the delimiter " +
				"',', or name all columns in the header"},
		{name: "trailing in rows", in: "a,b,y\n1,2,3,\n4,5,6,\n", want: "a b y | " + two,
			note: "2 lines of the table: empty cells beyond"},
		{name: "trailing in some", in: "a;b;y\n1;2;3\n4;5;6;;\n", want: "a b y | " + two, note: "1 line of the table"},
		{name: "trailing everywhere", in: "a\tb\ty\t\n1\t2\t3\t\n4\t5\t6\t\n", want: "a b y | " + two,
			note: "neither a name nor cells"},
		{name: "trailing in the header", in: "a,b,y,,\n1,2,3\n4,5,6\n", want: "a b y | " + two},
		{name: "GeoEAS", in: "Some data\n3 grid 5 5\nx [m]\ny\nZn ppm\n 1 2 3\n 4 5 6\n",
			want: "x [m] y Zn ppm | " + two, note: "GeoEAS"},
		{name: "GeoEAS without a title", in: "\n2\nx\nz\n1 2\n4 5\n", want: "x z | 1 2 | 4 5"},
		{name: "ARFF", in: "% c\n@RELATION a\n\n@ATTRIBUTE 'x 1' NUMERIC\n@attribute y {p,q}\n@DATA\n1,p\n?,q\n",
			want: `x 1 y | 1 "p" | - "q"`, note: "ARFF"},
		{name: "pandas index", in: ",a,b,y\n0,1,2,3\n1,4,5,6\n", want: "a b y | " + two, note: "counts the rows"},
		{name: "skip", in: "x,1\nz,2\na,b\n1,2\n", opt: ReadOptions{Skip: 2}, want: "a b | 1 2"},
		{name: "skip many", in: strings.Repeat("x,1,7\n", 700) + "a,b\n1,2\n",
			opt: ReadOptions{Skip: 700}, want: "a b | 1 2"},
		{name: "skip to a part of the lines", in: "a,b\n1,2\n\n3,4.5\n5,6\n", opt: ReadOptions{Skip: 3},
			want: "c1 c2 | 3 4.5 | 5 6"},
		{name: "skip all", in: "a,b\n1,2\n", opt: ReadOptions{Skip: 9},
			want: "t.csv: --skip 9 leaves nothing: the table has 2 lines"},
		{name: "comments between", in: "a,y\n1,2\n# pause\n3,4\n", opt: ReadOptions{Comment: "#"},
			want: "a y | 1 2 | 3 4"},
		{name: "comments not told", in: "a,y\n1,2\n# pause\n3,4\n",
			want: "t.csv: row 2 (line 3), column y: the row has 1 of 2 cells; if it is a comment, --comment '#' " +
				"leaves such lines out"},
		{name: "header again", in: "a,b,y\n1,2,3\na,b,y\n4,5,6\n", want: "a b y | " + two,
			note: "1 line of the table: the header again"},
		{name: "rows without cells", in: "a,b,y\n1,2,3\n,,\n4,5,6\n,,\n,,\n", want: "a b y | 1 2 3 | - - - | 4 5 6",
			note: "2 lines of the table: no cells"},
		{name: "merged header", in: "Inputs,,Output\na,b,y\n1,2,3\n4,5,6\n", want: "a b y | " + two},
		{name: "two lines of names", in: "T,T,p\nmean,max,total\n1,2,3\n4,5,6\n", want: "T mean T max p total | " + two,
			note: "two lines of names are joined: T mean, T max, p total"},
		{name: "two lines, units", in: "T;T;p\n[°C];[K];[bar]\n1;2;3\n4;5;6\n", want: "T [°C] T [K] p [bar] | " + two},
		{name: "two lines, merged cells", in: "A,,B,\nmean,sd,mean,sd\n1,2,3,4\n5,6,7,8\n",
			want: "A mean A sd B mean B sd | 1 2 3 4 | 5 6 7 8"},
		{name: "two lines of pandas", in: ",A,A,B\n,mean,std,mean\ng,,,\nx,1,2,3\nz,4,5,6\n",
			want: `g A mean A std B mean | "x" 1 2 3 | "z" 4 5 6`},
		{name: "two lines under a title", in: "Report 7,,\nT,T,p\nmean,max,mean\n1,2,3\n4,5,6\n",
			want: "T mean T max p mean | " + two},
		{name: "two lines, unlike", in: "T,p,y\nTemperatur,Druck,Ausbeute\n1,2,3\n4,5,6\n",
			want: "T p y | " + two, note: "left out"},
		{name: "the same names", in: "a,a,y\n1,2,3\n4,5,6\n", want: "a a.2 y | " + two},
		{name: "two lines, aligned", in: "T     T     p\nmean  max   mean\n1     2     3\n4     5     6\n",
			want: "T mean T max p mean | " + two},
		{name: "units and kinds", in: "a,b,y\nmm,kN,s\nraw,raw,calc\n1,2,3\n4,5,6\n", want: "a b y | " + two,
			note: "two lines under the header"},
		{name: "tibble", in: "# A tibble: 2 × 3\n      a     b     y\n  <dbl> <dbl> <dbl>\n1     1     2     3\n2   " +
			"  4     5     6\n3     7     8     9\n4     7     8     9\n", want: "a b y | " + two + " | 7 8 9 | 7 8 9"},
		{name: "aligned, blank cells", in: "name        x     y\nab       1.00  2.00\ncd             3.00\nef       " +
			"4.00  5.00\n", want: `name x y | "ab" 1 2 | "cd" - 3 | "ef" 4 5`, note: "by their positions"},
		{name: "aligned, blank, no header", in: "   1.00  2.00  3.00\n   4.00        6.00\n         5.00  9.00\n   " +
			"7.00  5.00  9.00\n", want: "c1 c2 c3 | 1 2 3 | 4 - 6 | - 5 9 | 7 5 9"},
		{name: "aligned, words with blanks", in: "city        pop  area\nBonn        331   141\nNew York   8804   " +
			"778\nUlm         127      \nLa Paz            472\n", want: `city pop area | "Bonn" 331 141 | "New ` +
			`York" 8804 778 | "Ulm" 127 - | "La Paz" - 472`},
		{name: "aligned, names with blanks", in: "first name  last name   age\nAnna        de Vries     34\nBo      " +
			"    Li           27\n            Kim          41\nEve         van Dam\n",
			want: `first name last name age | "Anna" "de Vries" 34 | "Bo" "Li" 27 | - "Kim" 41 | "Eve" "van Dam" -`},
		{name: "aligned, cells of two words", in: "a     b     c\n1.5   2     x y\n      3     z\n2.5         w\n7  " +
			"   1     q r s\n", want: `a b c | 1.5 2 "x y" | - 3 "z" | 2.5 - "w" | 7 1 "q r s"`},
		{name: "aligned, title", in: "Stations of the network in 2024\n\nname        x     y\nab       1.00  2.00\n" +
			"cd             3.00\nef       " +
			"4.00  5.00\n", want: `name x y | "ab" 1 2 | "cd" - ` +
			`3 | "ef" 4 5`, note: "1 line before the table left out"},
		{name: "aligned, ruled", in: "name     x y\n---- ----- -----\nab    1.00  2.00\ncd          3.00\nef       4\n",
			want: `name x y | "ab" 1 2 | "cd" - 3 | "ef" 4 -`},
		{name: "aligned, letters", in: "Ort         x     y\nKöln     1.00  2.00\nTrier          3.00\nBärn     " +
			"4.00  5.00\n", want: `Ort x y | "Köln" 1 2 | "Trier" - 3 | "Bärn" 4 5`},
		{name: "aligned, names apart", in: "a          b          y\n      1.00       2.00       3.00\n      4.00   " +
			"               6.00\n      7.00       8.00       9.00\n", want: "a b y | 1 2 3 | 4 - 6 | 7 8 9"},
		{name: "not aligned", in: "a b y\n1 2 3\n10  20 \n4 5 6\n",
			want: "t.csv: row 2 (line 3), column y: the row has 2 of 3 cells; write NA where a cell is blank, for " +
				"blanks cannot be told from the delimiter; if the table begins further down, --skip N " +
				"leaves out N lines"},
		{name: "ruled, psql", in: "   a   |   b   |   y\n-------+-------+-------\n     1 |     2 |     3\n     4 |  " +
			"   5 |     6\n", want: "a b y | " + two},
		{name: "ruled, mysql", in: "+---+---+---+\n| a | b | y |\n+---+---+---+\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n" +
			"+---+---+---+\n", want: "a b y | " + two},
		{name: "ruled, Markdown", in: "| a | b | y |\n|---|:-:|--:|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n",
			want: "a b y | " + two},
		{name: "dashes are missing", in: "a,b,y\n---,--,-\n1,2,3\n", want: "a b y | - - - | 1 2 3"},
		{name: "caret", in: "a^b^y\n1^2^3\n4^5^6\n", want: "a b y | " + two},
		{name: "tilde", in: "a~b~y\n1~2~3\n4~5~6\n", want: "a b y | " + two},
		{name: "control A", in: "a\x01b\x01y\n1\x012\x013\n4\x015\x016\n", want: "a b y | " + two},
		{name: "whole lines quoted", in: "\"a,b,y\"\n\"1,2,3\"\n\"4,5,6\"\n",
			want: `t.csv: every line stands in quotes as a whole; take the outer quotes off: sed 's/^"//; ` +
				`s/"$//; s/""/"/g'`},
		{name: "header again, quoted", in: "a,b,y\n1,2,3\n\"a\",\"b\",\"y\"\n4,5,6\n", want: "a b y | " + two,
			note: "the header again"},
		{name: "header again, capitals", in: "a,b,y\n1,2,3\nA, B, Y\n4,5,6\n", want: "a b y | " + two,
			note: "the header again"},
		{name: "no header, decimals", in: "M,0.455,15\nF,0.53,9\n", want: `c1 c2 c3 | "M" 0.455 15 | "F" 0.53 9`,
			note: "taken for one"},
		{name: "no header, dates", in: "2024-01-02;5\n2024-01-03;6\n", want: "c1 c2 | 19724 5 | 19725 6"},
		{name: "years as names", in: "site,2015,2016\nx,1,2\nz,3,4\n", want: `site 2015 2016 | "x" 1 2 | "z" 3 4`},
		{name: "a note below", in: "a,b,y\n1,2,3\nSource: own\n",
			want: `t.csv: row 2 (line 3), column b: the row has 1 of 3 cells; if the line is no row ("Source: ` +
				`own"), delete it, or --ragged drop leaves it out`},
		{name: "a note below, dropped", in: "a,b,y\n1,2,3\nSource: own\n", opt: ReadOptions{DropRows: true},
			want: "a b y | 1 2 3", note: "--ragged drop"},
		{name: "line ends mixed", in: "a,b\r\n1,2\n3,4\r\n\r\n", want: "a b | 1 2 | 3 4"},
		{name: "quotes with newlines", in: "name,y\n\"a\nb\",1\n\"c, \"\"d\"\"\",2\n",
			want: `name y | "a\nb" 1 | "c, \"d\"" 2`},
		{name: "HTML", in: "<!DOCTYPE html>\n<html>\n", want: "t.csv: is a page of HTML or XML; download or export " +
			"the table itself as CSV"},
		{name: "JSON", in: "[{\"a\": 1}]\n", want: "t.csv: is JSON; export it as CSV: a header line and " +
			"one row a line"},
		{name: "LIBSVM", in: "1.5 1:0.2 2:0.3\n2 1:0.1\n",
			want: `t.csv: has cells such as "1:0.2" of LIBSVM's sparse format; write it as CSV, a column ` +
				`for each number`},
		{name: "LaTeX", in: "a & b \\\\\n1 & 2 \\\\\n", want: `t.csv: is a table of LaTeX; write commas for & and ` +
			`take \\ off the ends of the lines`},
		{name: "SQL", in: "INSERT INTO t (a,b) VALUES\n(1,2),\n",
			want: "t.csv: is SQL; export the table itself as CSV"},
		{name: "YAML", in: "- a: 1\n  b: 2\n", want: "t.csv: is YAML; export it as CSV: a header line and " +
			"one row a line"},
		{name: "a list", in: "[1.5, 2],\n[3, 4],\n", want: "t.csv: is a list as a program writes it; export it as " +
			"CSV: a header line and one row a line, without brackets"},
		{name: "names in cells", in: "a=1 b=2\na=3 b=4\n",
			want: `t.csv: has the names of columns in its cells ("a=1 b=2"); write them once, in a header line, and ` +
				`the values below`},
		{name: "names with =", in: "T=20,T=30,y\n1,2,3\n4,5,6\n", want: "T=20 T=30 y | " + two},
		{name: "names in brackets", in: "[m],[s],[K]\n1,2,3\n4,5,6\n", want: "[m] [s] [K] | " + two},
		{name: "single quotes", in: "n,y\n'a, b',2\n'c, d',3\n",
			want: "t.csv: row 1 (line 2): the row has 3 cells, the header 2; cells that contain the delimiter need " +
				"double quotes, not single ones"},
		{name: "same names", in: "a,a,a.2,y\n1,2,3,4\n", want: "a a.3 a.2 y | 1 2 3 4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, notes := readAs(tc.in, tc.opt)
			if got != tc.want || !strings.Contains(notes, tc.note) {
				t.Errorf("%q\ngot  %s\nwant %s\nnotes %s", tc.in, got, tc.want, notes)
			}
		})
	}
}

// Numbers as people write them, decided by the whole column.
func TestWrittenNumbers(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cells []string
		also  string // cells of a second column, the same in each row
		opt   ReadOptions
		want  string
		note  string
	}{
		{name: "English", cells: []string{"1,234.5", "1,000,000", "12"}, want: "1234.5 1e+06 12",
			note: "thousands between commas"},
		{name: "German", cells: []string{"2.277,9", "1.000.000", "12"}, want: "2277.9 1e+06 12",
			note: "thousands between points"},
		{name: "French", cells: []string{"1 234,5", "12 000", "0,5"}, want: "1234.5 12000 0.5",
			note: "thousands between blanks"},
		{name: "no-break blanks", cells: []string{"1\u00a0234,5", "12\u202f000", "0,5"}, want: "1234.5 12000 0.5"},
		{name: "Swiss", cells: []string{"1'234.50", "1’000", "7"}, want: "1234.5 1000 7", note: "apostrophes"},
		{name: "per cent", cells: []string{"12,5 %", "3%", "100 %"}, want: "12.5 3 100", note: "per cent"},
		{name: "per cent, some", cells: []string{"12.5%", "0.3", "1"}, want: "12.5 0.3 1",
			note: "DOUBT t.csv: column x: 1 cells have a per cent sign and 2 have none"},
		{name: "dollars", cells: []string{"$1,234", "$5", "-$7.50"}, want: "1234 5 -7.5", note: "$ left off"},
		{name: "euros", cells: []string{"1.234,00 €", "5,00 €", "-7,50 €"}, want: "1234 5 -7.5"},
		{name: "currencies", cells: []string{"$5", "€7", "$1"}, want: "5 7 1",
			note: "DOUBT t.csv: column x: cells are in different currencies"},
		{name: "accounting", cells: []string{"(1,234.5)", "5.5", "(7)"}, want: "-1234.5 5.5 -7", note: "parentheses"},
		{name: "units", cells: []string{"12 mm", "0,5 mm", "1.250 mm"}, want: "12 0.5 1250", note: "mm left off"},
		{name: "units, close", cells: []string{"12.5°C", "-3°C", "7°C"}, want: "12.5 -3 7", note: "°C left off"},
		{name: "units, some", cells: []string{"12 mm", "0.5 cm", "1"}, want: "12 0.5 1",
			note: "DOUBT t.csv: column x: cells have different units"},
		{name: "codes with a letter", cells: []string{"12a", "14a", "15a"}, want: `"12a" "14a" "15a"`},
		{name: "Fortran", cells: []string{"1.5D+03", "2.d-1", "-1.0D0"}, want: "1500 0.2 -1", note: "after a D"},
		{name: "minus", cells: []string{"−4.5", "–2", "3"}, want: "-4.5 -2 3"},
		{name: "exponents", cells: []string{"1e5", "2E-1", "3"}, want: "100000 0.2 3"},
		{name: "in doubt", cells: []string{"1,234", "5,678", "9,012"}, want: "1234 5678 9012",
			note: `DOUBT t.csv: row 1 (line 2), column x: "1,234" may be 1234 (--decimal point) or 1.234 (--decimal ` +
				`comma), and so may all of the column; say which`},
		{name: "decided by another column", cells: []string{"1,234", "5,678", "9,012"}, also: "0.5",
			want: "1234 5678 9012"},
		{name: "decided by another column, comma", cells: []string{"1.234", "5.678", "9.012"}, also: "0,5",
			want: "1234 5678 9012"},
		{name: "three decimals", cells: []string{"1.234", "5.678", "9.012"}, want: "1.234 5.678 9.012"},
		{name: "three decimals beside points", cells: []string{"1.234", "5.678", "9.012"}, also: "0.5",
			want: "1.234 5.678 9.012"},
		{name: "told comma", cells: []string{"1,234", "5,678", "9,012"}, opt: ReadOptions{Decimal: ','},
			want: "1.234 5.678 9.012"},
		{name: "told point", cells: []string{"1,234", "5,678", "9,012"}, opt: ReadOptions{Decimal: '.'},
			want: "1234 5678 9012"},
		{name: "both marks", cells: []string{"1.5", "2,5", "3.5"}, want: `1.5 "2,5" 3.5`},
		{name: "comma late", cells: []string{"1", "2", "3,25"}, want: "1 2 3.25"},
		{name: "missing", cells: []string{"None", "--", "1.5"}, want: "- - 1.5"},
		{name: "missing, German", cells: []string{"n.a.", "k.A.", "1,5"}, want: "- - 1.5"},
		{name: "errors of Excel", cells: []string{"#DIV/0!", "#WERT!", "(null)", "NaT", "<NA>", "-", "2"},
			want: "- - - - - - 2"},
		{name: "na told", cells: []string{"-999", "<0,5", "-999.0", "2,5"},
			opt: ReadOptions{NA: []string{"-999", "<0,5"}}, want: "- - - 2.5"},
		{name: "limits", cells: []string{"<0,5", "0,7", "0,9"}, want: `"<0,5" 0.7 0.9`},
		{name: "codes", cells: []string{"2a7", "1e5", "3b1"}, want: `"2a7" 100000 "3b1"`},
		{name: "versions", cells: []string{"1.2.10", "1.3.1", "2.0.0"}, want: `"1.2.10" "1.3.1" "2.0.0"`},
		{name: "groups of another size", cells: []string{"1,23,4", "12,34", "1,2,3"}, want: `"1,23,4" 12.34 "1,2,3"`},
		{name: "Indian", cells: []string{"1,23,456", "12,34,567.50", "45,678"}, want: "123456 1.2345675e+06 45678",
			note: "thousands between commas"},
		{name: "Indian, wrong", cells: []string{"1,23,45,6", "123,45,678", "1,23"},
			want: `"1,23,45,6" "123,45,678" 1.23`},
		{name: "units in parentheses", cells: []string{"12 (kg)", "0.5 (kg)", "7(kg)"}, want: "12 0.5 7",
			note: "(kg) left off"},
		{name: "units of others", cells: []string{"12 Kč", "0,5 Kč", "7 Kč"}, want: "12 0.5 7", note: "Kč left off"},
		{name: "currencies of others", cells: []string{"R$ 1.234,50", "R$ 5,00", "-R$ 7"},
			want: "1234.5 5 -7", note: "R$ left off"},
		{name: "dollars of the States", cells: []string{"US$1,234.50", "US$5", "US$7"}, want: "1234.5 5 7"},
		{name: "minus behind", cells: []string{"12.5-", "3", "1,234.0-"}, want: "-12.5 3 -1234",
			note: "the minus behind them"},
		{name: "no minus behind", cells: []string{"A-", "B-", "-5-"}, want: `"A-" "B-" "-5-"`},
		{name: "full width", cells: []string{"１．５", "−２", "－３"}, want: "1.5 -2 -3", note: "another script"},
		{name: "Arabic", cells: []string{"١٫٥", "٢", "٣٠"}, want: "1.5 2 30"},
		{name: "Devanagari", cells: []string{"१.५", "२", "९०"}, want: "1.5 2 90"},
		{name: "powers of ten", cells: []string{"1.5 × 10^3", "2·10⁻²", "3*10^0"}, want: "1500 0.02 3",
			note: "powers of ten"},
		{name: "letters that do not show", cells: []string{"\u200b1.5", "\ufeff2", "\u00a03"}, want: "1.5 2 3"},
		{name: "text of a spreadsheet", cells: []string{`="1.5"`, "'2", "3"}, want: "1.5 2 3",
			note: "text in a spreadsheet"},
		{name: "hexadecimal", cells: []string{"0x10", "0x1f", "0x20"}, want: `"0x10" "0x1f" "0x20"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := "x;z\n"
			for _, c := range tc.cells {
				in += c + ";" + tc.also + "\n"
			}
			if tc.also == "" {
				in = strings.ReplaceAll(in, ";\n", ";7\n")
			}
			got, notes := readAs(in, tc.opt)
			_, rows, _ := strings.Cut(got, " | ")
			var cells []string
			for _, row := range strings.Split(rows, " | ") {
				cells = append(cells, row[:max(strings.LastIndexByte(row, ' '), 0)])
			}
			if g := strings.Join(cells, " "); g != tc.want || !strings.Contains(notes, tc.note) {
				t.Errorf("%q\ngot  %s\nwant %s\nnotes %s", in, g, tc.want, notes)
			}
		})
	}
}
