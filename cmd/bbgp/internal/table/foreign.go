package table

import (
	"bytes"
	"fmt"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/pattern"
)

// foreign says what a file is that is no text table, and what to do; "" if it may be one.
func foreign(head []byte) string {
	for _, f := range []struct{ magic, kind string }{
		{"\xd0\xcf\x11\xe0", "is a spreadsheet of the old binary kind (.xls); save it as .xlsx or as CSV"},
		{"%PDF", "is a PDF file; a table of text is expected"},
		{"\x89HDF", "is an HDF5 file; export it as CSV or Parquet"},
		{"BZh", "is a bzip2 file; unpack it first: bunzip2 -c FILE | bbgp … -"},
		{"\xfd7zXZ", "is an xz file; unpack it first: xz -dc FILE | bbgp … -"},
		{"7z\xbc\xaf", "is a 7z archive; unpack it first"},
		{"Rar!", "is a RAR archive; unpack it first"},
		{"\x93NUMPY", "is a NumPy file; save it with numpy.savetxt(..., delimiter=',')"},
		{"RDX", "is an R data file; save it with write.csv"},
		{"SQLite format 3", "is an SQLite data base; export a table as CSV"},
		{"$FL2", "is an SPSS file; export it as CSV"},
		{"<stata_dta>", "is a Stata file; export it as CSV"},
		{"MATLAB 5.0", "is a MATLAB file; save it with writematrix or writetable as CSV"},
		{"ARROW1", "is an Arrow or Feather file; save it as Parquet or CSV"},
		{"\x00\x00\x00\x00", "holds zero bytes; it is no text file"},
		{"bbgpmodl", "is a model of bbgp; a table is expected here"},
		{"CDF\x01", "is a NetCDF file; export it as CSV"},
		{"CDF\x02", "is a NetCDF file; export it as CSV"},
	} {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.kind
		}
	}
	return ""
}

// noTable says what a first line is that begins no table; "" if it may begin one.
func noTable(line []byte) string {
	s := strings.ToLower(strings.TrimSpace(string(line[:min(len(line), 200)])))
	switch {
	case strings.HasPrefix(s, "<!doctype") || strings.HasPrefix(s, "<html") || strings.HasPrefix(s, "<?xml"):
		return "is a page of HTML or XML; download or export the table itself as CSV"
	case strings.HasPrefix(s, `{"`) || strings.HasPrefix(s, "[{") || s == "{" || s == "[":
		return "is JSON; export it as CSV: a header line and one row a line"
	case strings.HasPrefix(s, "[[") || aList().MatchString(s):
		return "is a list as a program writes it; export it as CSV: a header line and one row a line, without brackets"
	case strings.HasPrefix(s, "insert into ") || strings.HasPrefix(s, "create table "):
		return "is SQL; export the table itself as CSV"
	case strings.HasPrefix(s, "- ") && strings.Contains(s, ": "):
		return "is YAML; export it as CSV: a header line and one row a line"
	case strings.Contains(s, " & ") && strings.HasSuffix(s, `\\`) || strings.HasPrefix(s, `\begin{`):
		return `is a table of LaTeX; write commas for & and take \\ off the ends of the lines`
	case libSVM(s):
		return fmt.Sprintf("has cells such as %s of LIBSVM's sparse format; write it as CSV, a column for each number",
			Quote(strings.Fields(s)[1]))
	}
	return ""
}

// aList is a list of numbers in brackets.
var aList = pattern.Of(`^\[[-0-9.][-0-9., e+]*\],?$`)

// assignments says whether a line is pairs of name=value.
func assignments(s string) bool {
	f := strings.FieldsFunc(s, func(c rune) bool { return c == ' ' || c == ',' || c == ';' || c == '\t' })
	for _, c := range f {
		name, value, ok := strings.Cut(c, "=")
		if !ok || name == "" || value == "" || name == "sep" {
			return false
		}
	}
	return len(f) > 1
}

// libSVM says whether a line is a number and pairs of index:value.
func libSVM(s string) bool {
	f := strings.Fields(s)
	if len(f) < 2 || strings.ContainsAny(s, ",;\t") {
		return false
	}
	for _, c := range f[1:] {
		index, value, ok := strings.Cut(c, ":")
		if _, k := parse([]byte(value), '.'); !ok || !allDigits([]byte(index)) || k != number {
			return false
		}
	}
	_, k := parse([]byte(f[0]), '.')
	return k == number
}
