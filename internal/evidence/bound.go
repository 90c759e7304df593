package evidence

import (
	"encoding/json"
	"math"

	"bbgp.dev/internal/gp"
)

// A Bound is a number that is null in JSON when it is infinite or NaN: there is
// no such bound.
type Bound float64

// MarshalJSON writes b.
func (b Bound) MarshalJSON() ([]byte, error) {
	if !gp.Finite(float64(b)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(b))
}

// UnmarshalJSON reads b; null gives NaN.
func (b *Bound) UnmarshalJSON(t []byte) error {
	if string(t) == "null" {
		*b = Bound(math.NaN())
		return nil
	}
	return json.Unmarshal(t, (*float64)(b))
}
