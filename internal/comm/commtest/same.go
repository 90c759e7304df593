package commtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"bbgp.dev/internal/comm"
)

// Same fails t unless what compute finds on each of 2 and of 5 ranks, with -short of 2, is what it finds alone, without
// a Comm: as JSON, which has all digits of a number.
func Same(t *testing.T, compute func(c comm.Comm) (any, error)) {
	t.Helper()
	on := func(c comm.Comm) ([]byte, error) {
		found, err := compute(c)
		if err != nil {
			return nil, err
		}
		return json.Marshal(found)
	}
	want, err := on(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ranks := range []int{2, 5} {
		if testing.Short() && ranks > 2 {
			break
		}
		err := Run(ranks, func(c comm.Comm) error {
			got, err := on(c)
			if err == nil && !bytes.Equal(got, want) {
				err = fmt.Errorf("found\n%.1000s\nand alone\n%.1000s", got, want)
			}
			return err
		})
		if err != nil {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
}
