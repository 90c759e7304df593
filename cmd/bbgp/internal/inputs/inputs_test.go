package inputs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

func load(t *testing.T, s string) *table.Table {
	t.Helper()
	r, err := table.NewReader("t.csv", strings.NewReader(s), table.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tab, err := table.Load(r, table.Request{As: map[string]table.As{"code": table.AsText, "day": table.AsDate}})
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

const mixed = `color,code,day,a,b,a2,c,y
red,1,1970-01-02,1,,1,5,10
blue,2,1970-01-03,2,4,2,5,
red,1,1970-01-01 12:00,3,6,3,5,30
green,NA,1970-01-05,4,8,4,5,40
`

// The numbers of every kind of input, at training and again as a stream.
func TestEveryKind(t *testing.T) {
	tab := load(t, mixed)
	p, notes, err := Make(tab, Options{Target: "y", Missing: "indicator"})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"color=red", "color=blue", "color=green", "code=1",
		"code=2", "code missing", "day", "a", "b", "b missing", "c"}
	if !slices.Equal(p.Names(), names) {
		t.Fatalf("inputs %q", p.Names())
	}
	if !slices.Contains(notes, "column a2 duplicates a and is left out") {
		t.Errorf("notes %q", notes)
	}
	rows := [][]float64{
		{1, 0, 0, 1, 0, 0, 1, 1, 6, 1, 5},
		{0, 1, 0, 0, 1, 0, 2, 2, 4, 0, 5},
		{1, 0, 0, 1, 0, 0, 0.5, 3, 6, 0, 5},
		{0, 0, 1, 0, 0, 1, 4, 4, 8, 0, 5},
	}
	set, err := p.Apply(tab, true)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(set.Rows, []int{0, 2, 3}) || !slices.Equal(set.Blank, []int{1}) ||
		!slices.Equal(set.Y, []float64{10, 30, 40}) {
		t.Errorf("rows %v, blank %v, y %v", set.Rows, set.Blank, set.Y)
	}
	for k, i := range set.Rows {
		if !slices.Equal(set.X.Row(k), rows[i]) {
			t.Errorf("row %d: %v, want %v", i, set.X.Row(k), rows[i])
		}
	}
	if q, err := Decode(p.Encode(), names); err != nil || !slices.Equal(q.Names(), names) {
		t.Errorf("the plan does not survive its encoding: %v", err)
	}

	// Columns in another order, one more, two levels that are new.
	s, x, y, ok := stream(t, p, "y,extra,c,b,a,day,code,color\n1,0,5,,1,1970-01-02,1,red\n,0,5,4,2,1970-01-03,7,pink\n")
	if !slices.Equal(x.Row(0), rows[0]) {
		t.Errorf("streamed %v, want %v", x.Row(0), rows[0])
	}
	none := math.NaN() // of all levels that are known
	want := []float64{none, none, none, none, none, 0, 2, 2, 4, 0, 5}
	if !slices.EqualFunc(x.Row(1), want, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
		t.Errorf("streamed %v, want %v", x.Row(1), want)
	}
	if y[0] != 1 || !math.IsNaN(y[1]) || !ok[0] || !ok[1] {
		t.Errorf("targets %v, ok %v", y[:2], ok[:2])
	}
	if want := []string{"columns extra are not used by the model",
		"column color: 1 row with a text that training had not seen: predicted as the mean over the 3 known texts, " +
			"with the spread between them",
		"column code: 1 row with a text that training had not seen: predicted as the mean over the 2 known texts, " +
			"with the spread between them",
		"1 row outside the range of the training rows, most by column b (1 row)"}; !slices.Equal(s.Notes(), want) {
		t.Errorf("notes %q", s.Notes())
	}
}

func stream(t *testing.T, p *Plan, in string) (s *Stream, x linalg.Matrix, y []float64, ok []bool) {
	t.Helper()
	r, err := table.NewReader("new.csv", strings.NewReader(in), table.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s, err = p.NewStream("new.csv", r); err != nil {
		t.Fatal(err)
	}
	x, y, ok = linalg.NewMatrix(10, len(p.Inputs)), make([]float64, 10), make([]bool, 10)
	if _, err = s.Next(x, y, ok); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return s, x, y, ok
}

func TestDropRule(t *testing.T) {
	tab := load(t, "a,b,y\n1,2,3\n,2,3\n4,NA,3\n5,6,7\n")
	p, _, err := Make(tab, Options{Target: "y", Missing: "drop"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := p.Apply(tab, true)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(set.Rows, []int{0, 3}) || !slices.Equal(set.Drop, []int{1, 2}) {
		t.Errorf("rows %v, dropped %v", set.Rows, set.Drop)
	}
	_, _, _, ok := stream(t, p, "a,b\n1,2\n,2\n")
	if !ok[0] || ok[1] {
		t.Errorf("ok %v", ok[:2])
	}
}

func TestColumnChoice(t *testing.T) {
	tab := load(t, "id,a,b,w,v,y\n1,5,2,1,0.5,3\n2,4,1,2,0,4\n3,3,9,4,1,5\n")
	p, _, err := Make(tab, Options{Target: "6", Ignore: []string{"id"}, Weight: "w", NoiseVar: "v"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Names(), []string{"a", "b"}) || p.Target != "y" {
		t.Errorf("inputs %q, target %q", p.Names(), p.Target)
	}
	set, err := p.Apply(tab, true)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(set.Scale, []float64{1, 0.5, 0.25}) || !slices.Equal(set.Extra, []float64{0.5, 0, 1}) {
		t.Errorf("scale %v, extra %v", set.Scale, set.Extra)
	}
	if p, _, err = Make(tab, Options{Target: "y", Features: []string{"b", "2"}}); err != nil ||
		!slices.Equal(p.Names(), []string{"b", "a"}) {
		t.Errorf("features: %v, %v", p, err)
	}
	if _, _, err = Make(tab, Options{Target: "y", Features: []string{"a", "b"}, Ignore: []string{"b"}}); err == nil {
		t.Error("a column that is asked for and left out")
	}
	if _, _, err = Make(tab, Options{Target: "y", Features: []string{"y"}}); err == nil {
		t.Error("the target is taken as an input")
	}
}

func TestPredictionNeedsItsColumns(t *testing.T) {
	tab := load(t, "apples,pears,y\n1,2,3\n4,5,6\n")
	p, _, err := Make(tab, Options{Target: "y"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := table.NewReader("new.csv", strings.NewReader("apples,pear\n1,2\n"), table.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.NewStream("new.csv", r)
	if err == nil || err.Error() != "new.csv: column pears: the model needs this column and the table does not have "+
		"it; did you mean pear?" {
		t.Error(err)
	}
	for in, want := range map[string]string{
		"apples,pears\n1,2\n3,x\n": `new.csv: row 2 (line 3), column pears: "x" is no number; mend it, or --na x ` +
			`takes it for missing`,
		"apples,pears\n1,\n": `new.csv: row 1 (line 2), column pears: the cell is missing, and the model was ` +
			`fitted without a rule for that; fill it, or fit again with --missing drop or --missing indicator`,
		"apples,pears\n1,inf\n": `new.csv: row 1 (line 2), column pears: "inf" is not finite; mend it, or --na ` +
			`inf takes it for missing`,
	} {
		r, err := table.NewReader("new.csv", strings.NewReader(in), table.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.NewStream("new.csv", r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Next(linalg.NewMatrix(5, 2), make([]float64, 5),
			make([]bool, 5)); err == nil || err.Error() != want {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// Identifiers and dates are pointed out.
func TestRemarks(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,day2,z,y\n")
	for i := range 30 {
		b.WriteString(strings.Join([]string{string(rune('0'+i/10)) + string(rune('0'+i%10)),
			"2024-01-" + string(rune('0'+i/10)) + string(rune('1'+i%9)), "3", "1"}, ",") + "\n")
	}
	tab := load(t, b.String())
	_, notes, err := Make(tab, Options{Target: "y"})
	if err != nil || len(notes) != 2 || !strings.Contains(notes[1],
		"column day2: dates, year first, from 2024-01-01 to") {
		t.Errorf("%q, %v", notes, err)
	}
	_, notes, err = Make(tab, Options{Target: "y", Ignore: []string{"day2"}, KeepDuplicates: true})
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "column id counts the rows like an identifier") {
		t.Errorf("%q, %v", notes, err)
	}
	b.Reset()
	b.WriteString("rowId,grid,day3,y\n")
	for i := range 30 {
		fmt.Fprintf(&b, "%d,%d,2024-01-0%d,1\n", 7*i%31, 7*i%31, 1+i%9)
	}
	_, notes, err = Make(load(t, b.String()), Options{Target: "y", KeepDuplicates: true})
	if err != nil || len(notes) != 2 || !strings.Contains(notes[0],
		"column rowId is called and differs in every row like an identifier") ||
		!strings.Contains(notes[1], "column day3: dates, year first,") {
		t.Errorf("%q, %v", notes, err)
	}
}
