package uci

import (
	"os"
	"strings"
	"testing"
)

func TestLoad(t *testing.T) {
	if _, err := os.Stat(Dir()); err != nil {
		if os.Getenv("BBGP_REQUIRE_DATA") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no data: %v", err)
	}
	train, test, err := Load("pol", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(train.Rows) != 10050 || len(test.Rows) != 4950 || len(train.Names) != 27 {
		t.Fatalf("pol: %d training rows, %d test rows, %d columns", len(train.Rows), len(test.Rows), len(train.Names))
	}
	small, test2, err := Load("pol", 0, 2000)
	if err != nil {
		t.Fatal(err)
	}
	if len(small.Rows) != 2000 || len(test2.Rows) != 4950 || &small.Rows[0] == &train.Rows[0] {
		t.Fatalf("pol: %d rows of 2000", len(small.Rows))
	}
	var b strings.Builder
	small.Rows = small.Rows[:1]
	if err := small.WriteCSV(&b); err != nil || strings.Count(b.String(), "\n") != 2 {
		t.Fatalf("csv %q, %v", b.String(), err)
	}
	if _, _, err := Load("pol", 9, 0); err == nil {
		t.Fatal("split 9 was accepted")
	}
}
