package inputs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

// Whatever table training takes, a prediction reads the same numbers from, by the plan
// that a model keeps. From a pipe, of which it does not wait for the whole sample, it may
// refuse the table instead.
func FuzzTables(f *testing.F) {
	for i, s := range []string{"a,b,y\n1,x,3\n2,y,4\n3,x,5\n", "a;y\n1,5;2\n2,5;3\n3;4\n",
		"a,a,a.2,y\n1,2,3,4\n5,6,7,8\n",
		"d\ty\n2024-01-31\t1\n2024-02-01\t2\n", "\"a\nb\",y\n\"x\"\"\",1\n,2\nx,3\n", "caf\xe9;y\nM\xfcller;1\nx;2\n",
		"p y\n12% 1\n13% 2\n", "t,y\n12:30,1\n1:07,2\n", "a,y\n$1,1\n$2,2\n", "a,y\nn.a.,1\n1,2\n2,\n",
		"y\n1\n2\n",
		"# x\na|y\n01.02.2024|1\n13.02.2024|2\n", "a,y\n1.234,1\n2.345,2\n\n",
		"\xef\xbb\xbfa,y\r\n\u0661,1\r\n2,2\r\n"} {
		f.Add(s, uint8(i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, s string, rule uint8, pipe bool) {
		tab, err := readAll(s)
		if err != nil {
			return
		}
		names := columnNames(tab)
		if len(names) == 0 {
			return
		}
		p, _, err := Make(tab, Options{Target: names[len(names)-1], Missing: Rules[int(rule)%len(Rules)]})
		if err != nil {
			return
		}
		kept, err := Decode(p.Encode(), p.Names())
		if err != nil || !slices.Equal(kept.Names(), p.Names()) {
			t.Fatalf("%q: %v, %q", s, err, p.Names())
		}
		r, err := reader(s, pipe)
		if err == nil {
			err = sameNumbers(tab, p, kept, r)
		}
		if err != nil && (!pipe || errors.Is(err, errOther)) {
			t.Fatalf("%q: %v", s, err)
		}
	})
}

func readAll(s string) (*table.Table, error) {
	r, err := reader(s, false)
	if err != nil {
		return nil, err
	}
	return table.Load(r, table.Request{})
}

func reader(s string, live bool) (*table.Reader, error) {
	opt := table.ReadOptions{Live: live}
	f, err := table.Open(table.Stdin, strings.NewReader(s), opt)
	if err != nil {
		return nil, err
	}
	return table.NewReader("f", f, opt)
}

var errOther = errors.New("the prediction reads another table")

// sameNumbers compares the inputs of the training with those that a prediction reads.
func sameNumbers(tab *table.Table, p, kept *Plan, r *table.Reader) error {
	rows := make([]int, tab.Rows)
	for i := range rows {
		rows[i] = i
	}
	want := p.Matrix(tab, rows)
	st, err := kept.NewStream("f", r)
	if err != nil {
		return err
	}
	got, y, ok := linalg.NewMatrix(tab.Rows+1, len(p.Inputs)), make([]float64, tab.Rows+1), make([]bool, tab.Rows+1)
	n, err := st.Next(got, y, ok)
	if !errors.Is(err, io.EOF) {
		return err
	}
	if n != tab.Rows {
		return fmt.Errorf("%d rows: %w", n, errOther)
	}
	for i := range rows {
		for j, v := range want.Row(i) {
			if g := got.At(i, j); ok[i] && math.Float64bits(g) != math.Float64bits(v) {
				return fmt.Errorf("row %d, input %s is %v, not %v: %w", i+1, p.Inputs[j].Name, g, v, errOther)
			}
		}
	}
	return nil
}

// What a model file says of its inputs is refused, or can be followed without a panic, and
// is written again as it was.
func FuzzExtra(f *testing.F) {
	const s = "a,b,d,y\n1,x,2024-01-31,3\n2,y,2024-02-01,4\n,x,2024-03-01,5\n"
	tab, err := readAll(s)
	if err != nil {
		f.Fatal(err)
	}
	p, _, err := Make(tab, Options{Target: "y", Missing: "indicator"})
	if err != nil {
		f.Fatal(err)
	}
	names := p.Names()
	f.Add(p.Encode())
	nameless := *p // of a program that has not named its target
	nameless.Target = ""
	f.Add(nameless.Encode())
	for _, s := range []string{"", "{}", "null", `{"missing":"stop","inputs":[{}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b, names)
		if err != nil {
			return
		}
		again, err := Decode(p.Encode(), names)
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Fatalf("%s: %v, written as %s", b, err, p.Encode())
		}
		p.Know(Prior{SD: 1, Scales: make([]float64, len(names)), Only: make([]float64, len(names))})
		_, _ = p.Apply(tab, true) // the table may lack what the plan names
		r, err := reader(s, true)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := p.NewStream("f", r); err == nil {
			x := linalg.NewMatrix(4, len(names))
			_, _ = st.Next(x, make([]float64, 4), make([]bool, 4))
			st.Notes()
		}
	})
}
