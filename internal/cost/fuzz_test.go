package cost

import (
	"encoding/json"
	"reflect"
	"testing"
)

// A file of costs is read or refused, and what is read can be written and read again.
func FuzzCosts(f *testing.F) {
	std, err := json.Marshal(StandardCosts())
	if err != nil {
		f.Fatal(err)
	}
	within := `{"costs":` + string(std) + "}"
	for _, s := range []string{string(std), within, "", "{}", "null", "[1]", `{"costs":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ReadCosts(b)
		if err != nil {
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ReadCosts(again); err != nil || !reflect.DeepEqual(back, c) {
			t.Fatalf("%s: %v, %+v, %+v", again, err, back, c)
		}
	})
}
