package table

import (
	"strings"
	"testing"
)

// Dates in the forms that people write, decided by the whole column.
func TestWrittenDates(t *testing.T) {
	for _, tc := range []struct {
		name, cells, want, note string
	}{
		{"ISO", "2024-03-01,2024-03-02", "19783 19784", "year first"},
		{"ISO with times", "2024-03-01 12:00,2024-03-02T06:00:00", "19783.5 19784.25", ""},
		{"zones", "2015-01-01T05:25:00UTC,2015-01-01T06:00:00Z,2015-01-01T06:00:00+06:00,2015-01-01 06:00 " +
			"GMT,2015-01-01T06:00:00-0600",
			"16436.225694444445 16436.25 16436 16436.25 16436.5", ""},
		{"zones by name", "2024-03-01 12:00 CET,2024-07-01 12:00:00 CEST,2024-03-01 7:00 AM EST,2024-03-01 12:00 aest",
			"19783.458333333332 19905.416666666668 19783.5 19783.083333333332", ""},
		{"zones of several meanings", "2024-03-01 12:00 IST,2024-03-02 12:00 IST",
			`"2024-03-01 12:00 IST" "2024-03-02 12:00 IST"`, ""},
		{"zones with a note", "2024-03-01T12:00:00+01:00[Europe/Berlin],2024-07-01T12:00+02:00[Europe/Berlin]",
			"19783.458333333332 19905.416666666668", ""},
		{"what browsers print", "Fri Mar 01 2024 12:00:00 GMT+0100 (Central European Standard Time),Mon Jul 01 2024 " +
			"12:00:00 GMT+0200 (CEST)",
			"19783.458333333332 19905.416666666668", ""},
		{"what date prints",
			"Fri Mar  1 12:00:00 UTC 2024,Fri Mar 15 12:00:00 CET 2024", "19783.5 19797.458333333332", ""},
		{"SAS", "01MAR2024,02mar2024:12:00:00", "19783 19784.5", ""},
		{"hours by h", "2024-03-01 12h30,2024-03-02 6h00", "19783.520833333332 19784.25", ""},
		{"slashes", "2024/03/01,2024/3/2", "19783 19784", ""},
		{"points", "01.03.2024,2.3.2024", "19783 19784", "day first"},
		{"points, two digits", "01.03.24,02.03.24", "19783 19784", ""},
		{"points with times", "01.03.2024 12:00,02.03.2024 06:00:00", "19783.5 19784.25", ""},
		{"day first", "13/04/2024,03/04/2024", "19826 19816", "day first"},
		{"month first", "04/13/2024,04/03/2024", "19826 19816", "month first"},
		{"month first with AM", "4/13/2024 12:00 PM,4/3/2024 6:00 AM", "19826.5 19816.25", ""},
		{"dashes", "13-04-2024,03-04-2024", "19826 19816", "day first"},
		{"in doubt", "03/04/2024,05/06/2024", "19816 19879",
			`DOUBT t.csv: row 1 (line 2), column x: "03/04/2024" may be 2024-04-03 (dd/mm/yyyy) or 2024-03-04 ` +
				`(mm/dd/yyyy), and so may all of the column; say which with --date x:dd/mm/yyyy or --date ` +
				`x:mm/dd/yyyy`},
		{"both ways the same", "01/01/2024,02/02/2024", "19723 19755", "day first"},
		{"contradiction", "13/04/2024,04/13/2024", `"13/04/2024" "04/13/2024"`, ""},
		{"months by name", "13-Apr-2024,03-Apr-24", "19826 19816", ""},
		{"months by name, American", "\"Apr 13, 2024\",\"April 3, 2024\"", "19826 19816", ""},
		{"months", "2024-03,2024-04", "19783 19814", ""},
		{"with a missing one", "2024-03-01,NA,2024-03-02", "19783 - 19784", ""},
		{"leap days", "29.02.2024,29.02.2023", `"29.02.2024" "29.02.2023"`, ""},
		{"no dates: numbers", "1-2,3-4", `"1-2" "3-4"`, ""},
		{"weeks", "2024-W05,2024W06,2024-W01-3", "19751 19758 19725", "year first"},
		{"the first week of a year", "2021-W01,2020-W53", "18631 18624", ""},
		{"quarters", "2024-Q1,2024Q2,Q3 2024", "19723 19814 19905", ""},
		{"days of the year", "2024-001,2024-366", "19723 20088", ""},
		{"no days of the year", "2024-000,2024-367", `"2024-000" "2024-367"`, ""},
		{"months of a year", "March 2024,Apr-2024,May 2024", "19783 19814 19844", ""},
		{"months, German", "1. März 2024,2.Dez.2024", "19783 20059", "day first"},
		{"months, French", "1 févr. 2024,2 août 2024", "19754 19937", ""},
		{"months, Spanish", "1 enero 2024,2 ago 2024", "19723 19937", ""},
		{"weekdays", "\"Fri, 01 Mar 2024 12:00:00 +0000\",\"Sat, 02 Mar 2024 06:00:00 GMT\"", "19783.5 19784.25", ""},
		{"logs of Apache", "01/Mar/2024:12:00:00 +0000,02/Mar/2024:06:00:00 +0000", "19783.5 19784.25", ""},
		{"together", "20240301T120000,20240302T0600Z", "19783.5 19784.25", ""},
		{"Chinese", "2024年3月1日,2024年3月2日", "19783 19784", ""},
		{"numbers together", "20240131,20240201,20240301", "19753 19754 19783", "all dates, yyyymmdd"},
		{"seconds together", "20240131120000,20240201120000,20240301000000", "19753.5 19754.5 19783", "yyyymmddhhmmss"},
		{"months together", "202401,202402,202403,202404,202405,202406,202407,202408,202409,202410,202411,202412",
			"19723 19754 19783 19814 19844 19875 19905 19936 19967 19997 20028 20058", "yyyymm"},
		{"numbers that are no dates", "20240131,20240201,20241301", "2.0240131e+07 2.0240201e+07 2.0241301e+07", ""},
		{"few numbers", "20240131,20240201", "2.0240131e+07 2.0240201e+07", ""},
		{"hours", "12:30,23:45,0:15", "12.5 23.75 0.25", "taken as hours"},
		{"hours with seconds", "12:30:36,1:00:00.0", "12.51 1", ""},
		{"hours with points", "18.30.00,00.15.36,23.00.00", "18.5 0.26 23", "taken as hours"},
		{"dates with points that might be hours", "01.02.03,11.12.13", "12084 16050", "day first"},
		{"hours, AM and PM", "12:30 AM,12:30 p.m.,1:15pm", "0.5 12.5 13.25", ""},
		{"durations", "30:15:00,2 days 03:30:00", "30.25 51.5", ""},
		{"durations, ISO", "PT1H30M,P1DT2H,PT36S", "1.5 26 0.01", ""},
		{"durations in words", "1h30,2 h 15 min,0h45", "1.5 2.25 0.75", ""},
		{"minutes and seconds", "1:30.0,2:15.5", "0.025 0.03763888888888889", ""},
		{"two parts and three", "1:30,1:02:10", "1.5 1.0361111111111112",
			`DOUBT t.csv: row 1 (line 2), column x: "1:30" has two parts and other cells have three`},
		{"no times", "25:61,99", `"25:61" 99`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := "x\n"
			for _, c := range strings.Split(strings.ReplaceAll(tc.cells, ", ", "@"), ",") {
				in += strings.ReplaceAll(c, "@", ", ") + "\n"
			}
			got, notes := readAs(strings.ReplaceAll(in, "\n", ";7\n"), ReadOptions{Delimiter: ';'})
			_, rows, _ := strings.Cut(got, " | ")
			rows = strings.ReplaceAll(strings.ReplaceAll(rows, " 7 | ", " "), " 7", "")
			if rows != tc.want || !strings.Contains(notes, tc.note) {
				t.Errorf("%q\ngot  %s\nwant %s\nnotes %s", in, rows, tc.want, notes)
			}
		})
	}
}

// What --date names is read so, or refused by row and value.
func TestToldDates(t *testing.T) {
	for _, tc := range []struct {
		order       Order
		cells, want string
	}{
		{"", "44927.25 44928", "19358.25 19359"},
		{"", "20240301 20240302", "19783 19784"},
		{"", "1709251200 1709337600", "19783 19784"},
		{"", "1709251200000 1709337600000", "19783 19784"},
		{"", "2001 2024", "11323 19723"},
		{"", "0.5 0.7", "t.csv: column x: numbers from 0.5 to 0.7 are no dates of a known kind; name it with --date " +
			"x:FORMAT, or leave --date out"},
		{"", "2024-03-01 soon", `t.csv: row 2 (line 3), column x: "soon" is no date`},
		{"", "20240301 20241301", "t.csv: row 2 (line 3), column x: 20241301 is no date"},
		{MDY, "03/04/2024 05/06/2024", "19786 19849"},
		{DMY, "03/04/2024 2024-04-04", "19816 19817"},
		{DMY, "03/04/2024 04/13/2024",
			`t.csv: row 2 (line 3), column x: "04/13/2024" is no date in the format dd/mm/yyyy that --date names`},
		{Excel, "1 2.5", "-25568 -25566.5"},
		{Unix, "86400 0", "1 0"},
	} {
		in := "x,z\n" + strings.ReplaceAll(tc.cells, " ", ",1\n") + ",1\n"
		r, err := NewReader("t.csv", strings.NewReader(in), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tab, err := Load(r, Request{As: map[string]As{"x": AsDate}, Order: map[string]Order{"x": tc.order}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if c := tab.Columns[0]; c.Doubt != nil {
			got = c.Doubt.Error()
		} else {
			_, got, _ = strings.Cut(render(tab), " | ")
			got = strings.TrimSuffix(strings.ReplaceAll(got, " 1 | ", " "), " 1")
		}
		if got != tc.want {
			t.Errorf("%s %q: %s\nwant %s", tc.order, tc.cells, got, tc.want)
		}
	}
	for s, want := range map[string]Order{"dd.mm.yyyy": DMY, "%m/%d/%Y": MDY, "yyyy-mm-dd HH:MM": YMD, "Excel": Excel,
		"d/m/yy": DMY, "yyyymmdd": Compact} {
		if o, ok := ParseOrder(s); !ok || o != want {
			t.Errorf("%s is %s, %v", s, o, ok)
		}
	}
}
