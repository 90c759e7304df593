package bbgp

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestParamsJSON(t *testing.T) {
	p := Params{Kernel: "matern52", Mean: -0.25, Variance: 9328.023505053347, Noise: 1e-6,
		Lengthscales: []float64{1.5, math.Inf(1), 3.453240989836742e+23}}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"kernel":"matern52","mean":-0.25,"variance":9328.023505053347,"noise":0.000001,` +
		`"lengthscales":[1.5,null,3.453240989836742e+23]}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	var q Params
	if err := json.Unmarshal(b, &q); err != nil {
		t.Fatal(err)
	}
	if q.Kernel != p.Kernel || q.Mean != p.Mean || q.Variance != p.Variance || q.Noise != p.Noise ||
		len(q.Lengthscales) != 3 {
		t.Fatalf("came back as %+v", q)
	}
	for j := range p.Lengthscales {
		if q.Lengthscales[j] != p.Lengthscales[j] {
			t.Errorf("lengthscale %d: %v, want %v", j, q.Lengthscales[j], p.Lengthscales[j])
		}
	}
}

func TestParamsJSONErrors(t *testing.T) {
	for _, c := range []struct{ in, key string }{
		{`{"mean":0,"noise":1,"lengthscales":[1]}`, "variance"},
		{`{"variance":1,"lengthscales":[1]}`, "noise"},
		{`{"variance":1,"noise":1}`, "lengthscales"},
		{`{"variance":-1,"noise":1,"lengthscales":[1]}`, "variance"},
		{`{"variance":1,"noise":0,"lengthscales":[1]}`, "noise"},
		{`{"variance":1,"noise":1,"lengthscales":[1,-2]}`, "lengthscales[1]"},
		{`{"kernel":"rbf","variance":1,"noise":1,"lengthscales":[1]}`, "kernel"},
	} {
		var p Params
		err := json.Unmarshal([]byte(c.in), &p)
		var bad *ParamError
		if !errors.As(err, &bad) || bad.Key != c.key {
			t.Errorf("%s: error %v, want one that names %q", c.in, err, c.key)
		}
	}
	var p Params
	if err := json.Unmarshal([]byte(`{"variance":1,"noise":1,"lengthscales":[1],"sigma":2}`), &p); err == nil ||
		!strings.Contains(err.Error(), "sigma") {
		t.Errorf("unknown key: error %v", err)
	}
	if err := DefaultParams("", 3).Check(4); err == nil || !strings.Contains(err.Error(), "lengthscales") {
		t.Errorf("3 lengthscales for 4 inputs: error %v", err)
	}
}
