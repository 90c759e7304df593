package table

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// book makes a workbook: rows of a sheet, the styles of columns, another sheet.
func book(t *testing.T, rows [][]any, formats map[string]string, change func(*excelize.File)) []byte {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	for i, row := range rows {
		cell, _ := excelize.CoordinatesToCellName(1, i+1)
		if err := f.SetSheetRow("Sheet1", cell, &row); err != nil {
			t.Fatal(err)
		}
	}
	for cells, format := range formats {
		style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &format})
		if err != nil {
			t.Fatal(err)
		}
		from, to, _ := strings.Cut(cells, ":")
		if err := f.SetCellStyle("Sheet1", from, to, style); err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		change(f)
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A sheet is read as its CSV would be: all digits, dates by how they are shown, titles,
// units, blank cells at the ends of rows.
func TestWorkbook(t *testing.T) {
	rows := [][]any{{"Report 7"}, {"day", "temp_°C", "kind", "y"}, {"", "°C", "", "kg"},
		{45352, 0.1, "a, \"b\"", 3}, {45353.5, 0.333333333333333, "c", nil}, {45354, 1e-9, nil, 12345678.25}}
	want := `day temp_°C kind y | 19783 0.1 "a, \"b\"" 3 | 19784.5 0.333333333333333 "c" - | 19785 1e-09 - ` +
		`1.234567825e+07`
	for _, format := range []string{"dd.mm.yyyy", "m/d/yy h:mm", "yyyy-mm-dd", "d mmm yy"} {
		got, notes := readAs(string(book(t, rows, map[string]string{"A4:A6": format, "D4:D6": "#,##0.00"}, nil)),
			ReadOptions{})
		if got != want || !strings.Contains(notes, "1 line before") || !strings.Contains(notes, "units") {
			t.Errorf("%s\ngot  %s\nwant %s\n%s", format, got, want, notes)
		}
	}
	since1904 := func(f *excelize.File) {
		yes := true
		if err := f.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &yes}); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := readAs(string(book(t, [][]any{{"day", "y"}, {1, 2}, {43890, 3}}, map[string]string{"A2:A3": "yyyy-mm-dd"},
		since1904)), ReadOptions{})
	if want := "day y | -24106 2 | 19783 3"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	second := func(f *excelize.File) {
		if _, err := f.NewSheet("More data"); err != nil {
			t.Fatal(err)
		}
		f.SetCellValue("More data", "A1", "z")
		f.SetCellValue("More data", "A2", 7)
	}
	b := string(book(t, rows, nil, second))
	if got, notes := readAs(b, ReadOptions{}); !strings.HasPrefix(got, "day") ||
		!strings.Contains(notes, "--sheet NAME takes another: More data") {
		t.Errorf("%s, %s", got, notes)
	}
	if got, _ := readAs(b, ReadOptions{Sheet: "More data"}); got != "z | 7" {
		t.Error(got)
	}
	hidden := string(book(t, rows, nil, func(f *excelize.File) {
		second(f)
		f.SetActiveSheet(1)
		if err := f.SetSheetVisible("Sheet1", false); err != nil {
			t.Fatal(err)
		}
	}))
	if got, notes := readAs(hidden, ReadOptions{}); got != "z | 7" ||
		!strings.Contains(notes, "the first sheet that is not hidden is read, \"More data\"") {
		t.Errorf("%s, %s", got, notes)
	}
	if got, _ := readAs(b, ReadOptions{Sheet: "none"}); got != `standard input: has no sheet "none"; there are `+
		`Sheet1, More data` {
		t.Error(got)
	}
}

// A damaged workbook is an error, or gives all that was in it; never a part, nor a panic.
func TestDamagedWorkbook(t *testing.T) {
	var rows [][]any
	for i := range 300 {
		rows = append(rows, []any{i, float64(i) / 7, "w"})
	}
	whole := book(t, rows, nil, nil)
	want, _ := readAs(string(whole), ReadOptions{})
	rng := rand.New(rand.NewPCG(3, 1))
	refused := 0
	for k := range 300 {
		b := bytes.Clone(whole)
		if k%3 == 0 {
			b = b[:rng.IntN(len(b))]
		}
		for range k % 4 {
			if len(b) > 4 {
				b[4+rng.IntN(len(b)-4)] ^= byte(1 << rng.IntN(8))
			}
		}
		got, _ := readAs(string(b), ReadOptions{})
		if got != want && !strings.HasPrefix(got, "standard input: ") && !strings.HasPrefix(got, "t.csv: ") {
			t.Fatalf("damage %d: %.200s", k, got)
		}
		if got != want {
			refused++
		}
	}
	if refused < 150 {
		t.Errorf("only %d of 300 are refused", refused)
	}
	if got, _ := readAs(string(whole), ReadOptions{Memory: 10000}); !strings.Contains(got,
		"more than the memory budget") {
		t.Error(got)
	}
}

// Cells far below a table are told; rows that are only formatted down there are nothing.
func TestWorkbookFarCells(t *testing.T) {
	rows := [][]any{{"a", "y"}, {1, 2}, {nil, nil}, {3, 4}}
	for cell, fault := range map[string]string{"B5": "", "B9000": "", "Z12000": "delete it"} {
		b := book(t, rows, nil, func(f *excelize.File) {
			if err := f.SetCellValue("Sheet1", cell, 5); err != nil {
				t.Fatal(err)
			}
		})
		in, err := Open(Stdin, bytes.NewReader(b), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var n int
		for err == nil {
			var k int
			k, err = in.Read(make([]byte, 1<<16))
			n += k
		}
		in.Close()
		if said := err.Error(); fault == "" && said != "EOF" || !strings.Contains(said, fault) || n > 1<<20 {
			t.Errorf("%s: %d bytes, %v", cell, n, err)
		}
	}
}
