package table

import (
	"encoding/csv"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/pattern"
)

var safeArg = pattern.Of(`^[A-Za-z0-9_./:,+=@%^-]+$`)

// Arg quotes an argument for a shell.
func Arg(s string) string {
	if safeArg().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ListArg quotes names for a flag that takes a list of them.
func ListArg(names ...string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	if err := w.Write(names); err != nil {
		return Arg(strings.Join(names, ",")) // no name makes a strings.Builder fail
	}
	w.Flush()
	return Arg(strings.TrimSuffix(b.String(), "\n"))
}
