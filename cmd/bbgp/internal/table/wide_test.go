package table

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// Lines of millions of cells are refused before they are cut, whatever stands between the cells and
// wherever the line stands; what is read takes little more than the line itself.
func TestTooWide(t *testing.T) {
	const n = 2 << 20
	for _, c := range []struct{ in, says string }{
		{strings.Repeat(",", n) + "\n", "columns; at most 1048576"},
		{"\"a\"" + strings.Repeat(";", n) + "\n1\n", "columns; at most 1048576"},
		{strings.Repeat("a ", n) + "\n", "columns; at most 1048576"},
		{"a,b,y\n1,2,3\n" + strings.Repeat(",", n) + "1\n", "the row has"},
		{strings.Repeat("a,", 1<<19) + "b\n1,2\n", "more than fit the memory budget"},
		{"\"a" + strings.Repeat(",", n) + "\n", ""},
		{strings.Repeat("\"a,", n) + "\n", ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := NewReader("t.csv", strings.NewReader(c.in), ReadOptions{Memory: 100 << 20})
		if err == nil {
			_, err = Load(r, Request{})
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 500<<20 {
			t.Errorf("%.10q... took %d MB", c.in, took>>20)
		}
		var e *Error
		if c.says != "" && (!errors.As(err, &e) || !strings.Contains(e.Text, c.says)) {
			t.Errorf("%.10q...: %v", c.in, err)
		}
	}
}
