package main

import (
	"encoding/csv"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/pattern"
	"bbgp.dev/cmd/bbgp/internal/table"
)

// A naList is the value of --na: spellings between commas, where that of a limit of
// detection with a decimal comma, <0,5, is one.
type naList []string

var (
	aLimit  = pattern.Of(`^[<>≤≥]=?\s*[0-9]+$`)
	someMax = pattern.Of(`^[0-9]+$`)
)

func (l *naList) Set(s string) error {
	if s == "" {
		return nil
	}
	parts, err := csv.NewReader(strings.NewReader(s)).Read()
	if err != nil {
		return err
	}
	for i := 0; i < len(parts); i++ {
		p := strings.TrimSpace(parts[i])
		if i+1 < len(parts) && aLimit().MatchString(p) && someMax().MatchString(parts[i+1]) {
			i++
			p += "," + parts[i]
		}
		*l = append(*l, p)
	}
	return nil
}

func (l *naList) Type() string { return "strings" }

// String writes the list such that Set reads it.
func (l *naList) String() string {
	var b []string
	for _, s := range *l {
		if n := (naList{}); n.Set(s) != nil || len(n) != 1 || n[0] != s {
			s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
		b = append(b, s)
	}
	return strings.Join(b, ",")
}

// naArg quotes spellings for a shell.
func naArg(spellings []string) string {
	l := naList(spellings)
	return table.Arg(l.String())
}
