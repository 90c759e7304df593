package score

import (
	"encoding/json"
	"math"
	"testing"
)

// A score is read as it was written, with NaN for what does not exist.
func TestScoreJSON(t *testing.T) {
	want := Score{N: 4, RMSE: 0.5, NLPD: math.NaN(), Coverage95: 0.75, RMSEStd: 2, NLPDStd: math.Inf(1), R2: -1}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Score
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(got.NLPD) || !math.IsNaN(got.NLPDStd) {
		t.Errorf("%+v", got)
	}
	got.NLPD, got.NLPDStd, want.NLPD, want.NLPDStd = 0, 0, 0, 0
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
