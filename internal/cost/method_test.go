package cost

import (
	"strings"
	"testing"
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
		method, reason := choose(border, d, ExactBytes(border)-1)
		if method != "bbgp" || !strings.Contains(reason, "budget") {
			t.Errorf("%d inputs: method %s beyond the budget: %s", d, method, reason)
		}
		if method, _ := choose(border, d, ExactBytes(border)); method != "exact" {
			t.Errorf("%d inputs: method %s within the budget", d, method)
		}
		t.Logf("%d inputs: exact up to %d rows", d, border)
	}
}
