package inputs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

// columnKinds make the cells of columns of every kind that is read.
var columnKinds = []func(rng *rand.Rand, i int) string{
	func(rng *rand.Rand, i int) string { return fmt.Sprintf("%.3f", 1000*rng.NormFloat64()) },
	func(rng *rand.Rand, i int) string {
		return strings.Replace(fmt.Sprintf("%.2f", rng.NormFloat64()), ".", ",", 1)
	},
	func(rng *rand.Rand, i int) string {
		return fmt.Sprintf("%d.%03d,%d", 1+rng.IntN(9), rng.IntN(1000), rng.IntN(10))
	},
	func(rng *rand.Rand, i int) string {
		return fmt.Sprintf("$%d,%03d.%d", 1+rng.IntN(9), rng.IntN(1000), rng.IntN(10))
	},
	func(rng *rand.Rand, i int) string { return fmt.Sprintf("%.1f %%", 100*rng.Float64()) },
	func(rng *rand.Rand, i int) string {
		return fmt.Sprintf("%02d.%02d.2024", 1+rng.IntN(28), 1+rng.IntN(12))
	},
	func(rng *rand.Rand, i int) string { return fmt.Sprintf("%02d/%02d/2024", 13+i%15, 1+rng.IntN(12)) },
	func(rng *rand.Rand, i int) string {
		return fmt.Sprintf("%d/%d/24 3:%02d PM", 1+i%12, 13+i%15, rng.IntN(60))
	},
	func(rng *rand.Rand, i int) string {
		return fmt.Sprintf("2024-%02d-01T0%d:00:00+02:00", 1+rng.IntN(12), rng.IntN(10))
	},
	func(rng *rand.Rand, i int) string {
		return []string{"caf\xe9", "caf\xe8", "Müller", "a \"b\"", "x"}[rng.IntN(5)]
	},
	func(rng *rand.Rand, i int) string { return []string{"12 mm", "0.5 mm", "7 mm"}[rng.IntN(3)] },
	func(rng *rand.Rand, i int) string { return []string{"1.5D+03", "-2.5D-01"}[rng.IntN(2)] },
	func(rng *rand.Rand, i int) string { return []string{"n.a.", "-999", "17", "23.5"}[rng.IntN(4)] },
}

// What training made of a table, a prediction makes of it again, through the form that a
// model keeps: for all tables that a fit takes.
func TestTablesRoundTrip(t *testing.T) {
	taken := 0
	for seed := range 400 {
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		kinds := make([]int, 1+rng.IntN(4))
		var b strings.Builder
		for j := range kinds {
			kinds[j] = rng.IntN(len(columnKinds))
			fmt.Fprintf(&b, "c\xf6l %d;", j)
		}
		b.WriteString("y\n")
		for i := range 8 + rng.IntN(30) {
			for _, k := range kinds {
				cell := columnKinds[k](rng, i)
				if strings.Contains(cell, "ü") {
					cell = strings.ReplaceAll(cell, "ü", "\xfc")
				}
				b.WriteString("\"" + strings.ReplaceAll(cell, "\"", "\"\"") + "\";")
			}
			fmt.Fprintf(&b, "%d\n", i)
		}
		read := func() *table.Reader {
			opt := table.ReadOptions{NA: []string{"-999"}}
			f, err := table.Open(table.Stdin, strings.NewReader(b.String()), opt)
			if err != nil {
				t.Fatal(err)
			}
			r, err := table.NewReader("t.csv", f, opt)
			if err != nil {
				t.Fatalf("%q: %v", b.String(), err)
			}
			return r
		}
		tab, err := table.Load(read(), table.Request{})
		if err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
		p, _, err := Make(tab, Options{Target: "y", Missing: []string{"drop", "indicator"}[seed%2],
			NA: []string{"-999"}})
		if err != nil {
			continue // it is refused, with a reason
		}
		taken++
		kept, err := Decode(p.Encode(), p.Names())
		if err != nil || !slices.Equal(kept.Names(), p.Names()) {
			t.Fatalf("%q: %v, %q", b.String(), err, kept.Names())
		}
		rows := make([]int, tab.Rows)
		for i := range rows {
			rows[i] = i
		}
		want := p.Matrix(tab, rows)
		s, err := kept.NewStream("t.csv", read())
		if err != nil {
			t.Fatal(err)
		}
		got, y, ok := linalg.NewMatrix(tab.Rows+1, len(p.Inputs)), make([]float64, tab.Rows+1), make([]bool, tab.Rows+1)
		if n, err := s.Next(got, y, ok); !errors.Is(err, io.EOF) || n != tab.Rows {
			t.Fatalf("%q: %d rows, %v", b.String(), n, err)
		}
		for i := range rows {
			for j, v := range want.Row(i) {
				if g := got.At(i, j); ok[i] && g != v && !(math.IsNaN(g) && math.IsNaN(v)) {
					t.Fatalf("%q: row %d, input %s is %v, in the training %v", b.String(), i, p.Inputs[j].Name, g, v)
				}
			}
		}
	}
	if taken < 250 {
		t.Errorf("only %d of 400 tables are taken", taken)
	}
}
