package bbgp

import (
	"context"
	"fmt"
	"os"
	"testing"

	"bbgp.dev/bench/uci"
	"bbgp.dev/linalg"
)

func loadLead(t *testing.T, set string, n int) *Data {
	tr, _, err := uci.Load(set, 0, n)
	if err != nil {
		t.Fatal(err)
	}
	d := len(tr.Names) - 1
	x := make([][]float64, len(tr.Rows))
	y := make([]float64, len(tr.Rows))
	for i, r := range tr.Rows {
		x[i] = r[:d]
		y[i] = r[d]
	}
	data, err := NewData(x, y, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := NewScaling(data, false)
	return s.apply(data)
}

func TestLeadEval(t *testing.T) {
	if os.Getenv("LEAD") == "" {
		t.Skip()
	}
	e, _ := linalg.NewEngine(nil, 0)
	for _, set := range []string{"elevators"} {
		d := loadLead(t, set, 0)
		p := DefaultParams("", d.X.Cols)
		for _, c := range [][3]int{{300, 0, 8}, {300, 0, 7}, {300, 0, 15}, {100, 0, 7}, {600, 0, 7}} {
			o, err := newKrylovObjective(e, d, p)
			if err != nil {
				t.Fatal(err)
			}
			opt := EvalOptions{Eps: 1, Probes: c[2], Rank: c[0], Neighbours: c[1], Gradient: true}
			for range 2 {
				a, _ := usage()
				if err := o.Rebuild(context.Background(), p, opt); err != nil {
					t.Fatal(err)
				}
				b, _ := usage()
				ev, err := o.Evaluate(context.Background(), p, opt)
				if err != nil {
					t.Fatal(err)
				}
				cc, _ := usage()
				fmt.Printf("%s rank %d nn %d s %d: lml %.3f [%.3f %.3f] se %.2f passes %d R %d prec %s cpu build %.2f eval %.2f wall %.2f %v\n", set, c[0], c[1], c[2], ev.LML, ev.Lower, ev.Upper, ev.StdErr, ev.Passes, ev.GradColumns, ev.Precision, b-a, cc-b, ev.Seconds, ev.SecondsByPhase)
			}
		}
	}
}
