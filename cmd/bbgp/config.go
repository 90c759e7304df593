package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bbgp.dev/cmd/bbgp/internal/table"
)

// A config file sets flags by their names, one `name = value` per line, with
// comments after #. What the command line sets beats it.

const (
	configFlag = "config"
	printFlag  = "print-config"
)

// addConfig gives every command that has flags of its own the two flags.
func (a *app) addConfig(root *cobra.Command) {
	for _, c := range root.Commands() {
		if !c.HasAvailableLocalFlags() || c.RunE == nil {
			continue
		}
		c.Flags().String(configFlag, "", "`FILE` of flags, a line name = value each; the command line beats it")
		c.Flags().Bool(printFlag, false, "print all flags as such a file and stop")
		inner := c.RunE
		c.RunE = func(c *cobra.Command, args []string) error {
			if err := checkEmpty(c.Flags(), false); err != nil {
				return err
			}
			if path, _ := c.Flags().GetString(configFlag); path != "" {
				if a.together() {
					if err := a.localCopy(path, func(copied string) error { path = copied; return nil }); err != nil {
						return err
					}
				}
				if err := cmp.Or(readConfig(c.Flags(), path), checkEmpty(c.Flags(), true)); err != nil {
					return err
				}
			}
			if print, _ := c.Flags().GetBool(printFlag); print {
				return printConfig(c)
			}
			return inner(c, args)
		}
	}
}

// checkEmpty refuses flags that are given without a value, as by a variable of the shell that is
// not set: a model would not be saved, a weight not be used, in silence. A file of flags may
// say of those that are empty by default that they are.
func checkEmpty(flags *pflag.FlagSet, fromFile bool) (err error) {
	empty := func(v string) bool { return v == "" || v == "[]" }
	flags.Visit(func(f *pflag.Flag) {
		if empty(f.Value.String()) && !(fromFile && empty(f.DefValue)) && err == nil {
			err = usagef("--%s has no value (a variable of the shell that is not set?): give one, or leave it out",
				f.Name)
		}
		if _, ok := f.Value.(*span); ok && !fromFile && err == nil && f.Value.String() == noSpan {
			err = usagef("--%s %s: %v", f.Name, noSpan, errNoTime)
		}
	})
	return err
}

// readConfig sets the flags that the file names and the command line did not.
func readConfig(flags *pflag.FlagSet, path string) error {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return usagef("%s: no such file", path)
		}
		return usagef("%s", oneLine(err.Error()))
	}
	defer f.Close()
	return setFlags(flags, path, f)
}

// setFlags does what readConfig does with the text of the file at path.
func setFlags(flags *pflag.FlagSet, path string, text io.Reader) error {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	sc := bufio.NewScanner(text)
	lines := map[string]int{}
	for line := 1; sc.Scan(); line++ {
		written := sc.Text()
		if line == 1 {
			written = strings.TrimPrefix(written, "\ufeff")
		}
		if strings.IndexByte(written, 0) >= 0 {
			return usagef("%s: line %d holds zero bytes: this is no file of flags", path, line)
		}
		name, value, ok := configLine(written)
		if name == "" && !ok {
			continue
		}
		if !ok {
			return usagef("%s: line %d: %q is no `name = value`", path, line, name)
		}
		flag := flags.Lookup(name)
		if flag == nil || name == configFlag || name == printFlag || name == "help" {
			near := table.Nearest(name, names)
			if near != "" {
				near = "; did you mean " + near + "?"
			}
			return usagef("%s: line %d: there is no flag %s%s", path, line, name, near)
		}
		if before := lines[name]; before > 0 && !isList(flag.Value) {
			return usagef("%s: line %d: %s stands in line %d, too", path, line, name, before)
		}
		lines[name] = line
		if given[name] {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			return usagef("%s: line %d: %s", path, line, oneLine(err.Error()))
		}
		if flag.Value.String() == flag.DefValue { // as in files that --print-config has written
			flag.Changed = false
		}
	}
	switch err := sc.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return usagef("%s: a line is longer than %d bytes: this is no file of flags", path, bufio.MaxScanTokenSize)
	case err != nil:
		return usagef("%s: %s", path, oneLine(err.Error()))
	}
	return nil
}

// isList says whether a flag may stand more than once, each time with more of its values.
func isList(v pflag.Value) bool {
	_, slice := v.(pflag.SliceValue)
	_, missing := v.(*naList)
	return slice || missing
}

// configLine divides a line; a comment begins with # at its start or behind a blank, unless
// the value stands between single quotes.
func configLine(text string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(text, "=")
	value = strings.TrimSpace(value)
	if i := strings.LastIndexByte(value, '\''); ok && i > 0 && value[0] == '\'' && !strings.Contains(name, "#") {
		if rest := strings.TrimSpace(value[i+1:]); rest == "" || rest[0] == '#' {
			return strings.TrimSpace(name), strings.ReplaceAll(value[1:i], "''", "'"), true
		}
	}
	for i := range text {
		if text[i] == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t') {
			text = text[:i]
			break
		}
	}
	name, value, ok = strings.Cut(text, "=")
	return strings.TrimSpace(name), strings.TrimSpace(value), ok
}

// configValue quotes a value that would not be read as it is.
func configValue(v string) string {
	if _, back, _ := configLine("x = " + v); back == v {
		return v
	}
	return "'" + strings.ReplaceAll(v, "'", "''") + "'"
}

// printConfig writes the flags as they stand.
func printConfig(c *cobra.Command) error {
	var err error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == configFlag || f.Name == printFlag || f.Name == "help" || err != nil {
			return
		}
		value := f.Value.String()
		if f.Value.Type() == "stringSlice" { // [a,b]; other values may end with a bracket
			value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s = %s\n", f.Name, configValue(value))
	})
	return err
}
