package cost

import (
	"errors"
	"strings"
	"testing"

	"bbgp.dev/internal/gp"
)

// TestChooseMethod: dense where that is cheaper, which changes once as the rows
// grow, and only where the two matrices fit.
func TestChooseMethod(t *testing.T) {
	choose := func(n, d int, memory int64) (method, reason string) {
		return Method(n, d, OrStandard(nil), memory)
	}
	for _, d := range []int{1, 2, 18, 100} {
		border := 0
		for n := 1; n <= 5000; n++ {
			method, reason := choose(n, d, 0)
			if !strings.Contains(reason, "cycles") {
				t.Fatalf("reason %q", reason)
			}
			if method == "exact" {
				if border != n-1 {
					t.Fatalf("%d inputs: exact again at %d rows", d, n)
				}
				border = n
			}
		}
		if border < 400 || border > 2000 {
			t.Errorf("%d inputs: exact up to %d rows", d, border)
		}
		exact := Budget{Method: "exact"}
		need := exact.LeastBytes(border, border, d)
		method, reason := choose(border, d, need-1)
		if method != "bbgp" || !strings.Contains(reason, "budget") {
			t.Errorf("%d inputs: method %s beyond the budget: %s", d, method, reason)
		}
		if method, _ := choose(border, d, need); method != "exact" {
			t.Errorf("%d inputs: method %s within the budget", d, method)
		}
		t.Logf("%d inputs: exact up to %d rows", d, border)
	}
}

// What is the least that any method needs is enough: no other is chosen that needs more.
func TestLeastMemory(t *testing.T) {
	for _, n := range []int{40, 700, 2000, 5000, 20000, 100000} {
		for _, d := range []int{1, 3, 8, 100, 500} {
			least := int64(1)
			for range 3 { // until no method asks for more
				method, _ := Method(n, d, OrStandard(nil), least)
				b := Budget{Bytes: least, Method: method, Probes: FewProbes,
					Preconditioner: Size{Rank: -1, Neighbours: -1}, Costs: OrStandard(nil)}
				var short *gp.MemoryError
				if errors.As(b.Check(n, n, d), &short) {
					if least > 1 {
						t.Errorf("%d x %d: %d bytes were enough, method %s needs %d", n, d, least, method,
							short.Needed)
					}
					least = short.Needed
				}
			}
		}
	}
}
