package inputs

import (
	"strings"
	"testing"
)

// Numbers that cannot be squared are told by their column, whatever it is for; rows that are
// not trained on may lie anywhere.
func TestComputable(t *testing.T) {
	for _, tc := range []struct {
		in, fault string
		opt       Options
	}{
		{"a,b,y\n1,2,3\n2,1e200,4\n3,-1e200,5\n", "column b: values from -1e+200", Options{}},
		{"a,y\n1,1e160\n2,-1e160\n3,3\n", "column y", Options{}},
		{"a,w,y\n1,1e300,3\n2,1e-300,4\n3,1,5\n", "column w: as 1/weight, values", Options{Weight: "w"}},
		{"a,w,y\n1,1e300,3\n2,1e-300,4\n3,1,5\n", "column w: as noise variances, values", Options{NoiseVar: "w"}},
		{"a,b,y\n1,2,3\n2,1e200,\n3,5,5\n", "", Options{}},
		{"a,b,y\n1,2,3\n2,1e150,4\n3,5,5\n", "", Options{}},
	} {
		tc.opt.Target = "y"
		tab := load(t, tc.in)
		p, _, err := Make(tab, tc.opt)
		if err != nil {
			t.Fatal(err)
		}
		set, err := p.Apply(tab, true)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Computable(tab, set)
		if (err == nil) != (tc.fault == "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
			t.Errorf("%q: %v", tc.in, err)
		}
		if in := p.Inputs[0]; in.Low != 1 || in.High != 3 {
			t.Errorf("%q: %v to %v", tc.in, in.Low, in.High)
		}
		_, err = p.Held(load(t, "a,b,w,y\n1,2,1,1e300\n"))
		if err == nil || !strings.Contains(err.Error(), "row 1") {
			t.Errorf("%q: a target of 1e300: %v", tc.in, err)
		}
	}
}
