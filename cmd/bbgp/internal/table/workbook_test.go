package table

import (
	"archive/zip"
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

// zipped makes a workbook of one sheet by hand: what stands in its sheetData, its strings
// and the xf of its styles, with namespaces as strict writers have them.
func zipped(t *testing.T, rows, strs, xfs string, missing ...string) string {
	t.Helper()
	relation := func(id, kind, target string) string {
		return `<Relationship Id="` + id + `" Type="http://purl.oclc.org/ooxml/officeDocument/relationships/` + kind +
			`" Target="` + target + `"/>`
	}
	parts := [][2]string{
		{"_rels/.rels", `<Relationships>` + relation("1", "officeDocument", `/XL\book/workbook.xml`) +
			`</Relationships>`},
		{"xl/book/workbook.xml", `<x:workbook xmlns:x="x" xmlns:r="r"><x:sheets>` +
			`<x:sheet name="Plot" sheetId="1" r:id="c"/>` +
			`<x:sheet name="S" sheetId="2" r:id="s"/></x:sheets></x:workbook>`},
		{"xl/book/_rels/workbook.xml.rels", `<Relationships>` + relation("c", "chartsheet", "c.xml") +
			relation("s", "worksheet", "../sheets/s.xml") + relation("t", "sharedStrings", "strings.xml") +
			relation("y", "styles", "styles.xml") + `</Relationships>`},
		{"xl/sheets/s.xml", `<x:worksheet xmlns:x="x"><x:sheetData>` + rows + `</x:sheetData></x:worksheet>`},
		{"xl/book/strings.xml", `<sst>` + strs + `</sst>`},
		{"xl/book/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="` +
			`[$-407]&quot;day&quot; 0.0\d_d"/><numFmt numFmtId="165" formatCode="mmm"/></numFmts><cellXfs>` + xfs +
			`</cellXfs></styleSheet>`},
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, p := range parts {
		if len(missing) > 0 && p[0] == missing[0] {
			continue
		}
		w, err := z.Create(p[0])
		if err == nil {
			_, err = w.Write([]byte(p[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Workbooks as others write them: places that are not given, text in runs with how it is
// read aloud, strings in cells, truth values, errors, formulas, dates and what looks alike.
func TestWorkbookByHand(t *testing.T) {
	const head = `<x:row><x:c t="inlineStr"><x:is><x:t>a</x:t></x:is></x:c><x:c t="s"><x:v>0</x:v></x:c>` +
		`<x:c r="D1" t="str"><x:f>"y"</x:f><x:v>y</x:v></x:c></x:row>`
	const strs = `<si><r><t>day</t></r><r><rPr><b/></rPr><t xml:space="preserve"> b</t></r>` +
		`<rPh><t>aloud</t></rPh></si><si><t>line_x000A_two_x005F_x_</t></si>`
	const xfs = `<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/>`
	for _, c := range []struct{ rows, missing, want string }{
		{rows: head + `<x:row r="2"><x:c t="b"><x:v>1</x:v></x:c><x:c s="3"><x:v>45352</x:v></x:c>` +
			`<x:c><x:v>7</x:v></x:c>` +
			`<x:c s="2"><x:v>5</x:v></x:c></x:row><x:row/><x:row><x:c t="e"><x:v>#N/A</x:v></x:c><x:c/>` +
			`<x:c r="D4" s="4"><x:v>0.5</x:v></x:c></x:row>`,
			want: `a day b c3 y | 1 19783 7 5 | - - - - | - - - 0.5`},
		{rows: head + `<x:row><x:c r="A3" t="s"><x:v>1</x:v></x:c><x:c s="99"><x:v>1</x:v></x:c></x:row>`,
			want: "a day b y | \"line\\ntwo_x_\" 1 -"},
		{rows: head, missing: "xl/book/strings.xml", want: `"xl/book/strings.xml" is missing`},
		{rows: head, missing: "xl/book/styles.xml", want: `"xl/book/styles.xml" is missing`},
		{rows: head, missing: "xl/sheets/s.xml", want: `"xl/sheets/s.xml" is missing`},
		{rows: head, missing: "xl/book/_rels/workbook.xml.rels", want: `"xl/book/_rels/workbook.xml.rels" is missing`},
		{rows: head, missing: "_rels/.rels", want: `"_rels/.rels" is missing`},
		{rows: head, missing: "xl/book/workbook.xml", want: "is a zip archive"},
		{rows: `<x:row><x:c t="s"><x:v>2</x:v></x:c></x:row>`, want: `row 1: there is no string "2"`},
		{rows: `<x:row r="3"/><x:row r="2"/>`, want: "not in their order"},
		{rows: `<x:row><x:c r="C1"/><x:c r="B1"/></x:row>`, want: "not in their order"},
		{rows: `<x:row r="1048577"/>`, want: "beyond the last"},
		{rows: `<x:row><x:c r="XFE1"/></x:row>`, want: "beyond the last"},
		{rows: `<x:row><x:c r="1"/><x:c r="?2"/></x:row>`, want: `"?2" is no place`},
		{rows: head + `<x:row><x:c>`, want: "damaged workbook"},
		{rows: head + `<x:row><x:c><x:v>1<x:v></x:c>`, want: "damaged workbook"},
	} {
		if got, _ := readAs(zipped(t, c.rows, strs, xfs, c.missing), ReadOptions{}); !strings.Contains(got, c.want) {
			t.Errorf("%s, without %s\ngot  %s\nwant %s", c.rows, c.missing, got, c.want)
		}
	}
}

func TestShowsDate(t *testing.T) {
	for format, want := range map[string]bool{"General": false, "0.00": false, "m/d/yy": true, "d": true,
		"h:mm:ss": false, "[h]:mm": false, "mm:ss.0": false, "mmm": true, `0 "days"`: false,
		`#,##0.00\ _d;[Red]yyyy`: false, `"`: false,
		"[Red": false, `0\`: false, "@": false, `[$-411]ggge"年"m"月"d"日"`: true, "h:mm AM/PM": false, "MMMM": true} {
		if got := showsDate(format); got != want {
			t.Errorf("%s: %v", format, got)
		}
	}
}
