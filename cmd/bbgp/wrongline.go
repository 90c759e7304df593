package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/pattern"
	"bbgp.dev/cmd/bbgp/internal/table"
)

// What is said of a wrong command line: one line that names the flag and what to do.

var (
	anUnknown = pattern.Of(`^unknown flag: --(\S+)`)
	aBadValue = pattern.Of(`^invalid argument ("(?:[^"\\]|\\.)*") for "(?:-., )?(--[^"]+)" flag: (.*)`)
	aNoNumber = pattern.Of(`strconv\.(Parse\w+|Atoi): .*: (invalid syntax|value out of range)`)
	aChoice   = pattern.Of(`^"(.*)" is not one of \[(.*)\]$`)
)

// flagError says of a flag that cannot be taken what it might be.
func flagError(c *cobra.Command, err error) error {
	text := err.Error()
	if m := anUnknown().FindStringSubmatch(text); m != nil {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		text = "unknown flag --" + m[1]
		if near := table.Nearest(m[1], names); near != "" {
			text += "; did you mean --" + near + "?"
		} else {
			text += "; see " + c.CommandPath() + " --help"
		}
	}
	if m := aBadValue().FindStringSubmatch(text); m != nil {
		text = m[2] + " " + m[1] + ": " + m[3]
		if n := aNoNumber().FindStringSubmatch(m[3]); n != nil {
			kind := map[string]string{"ParseFloat": "a number", "ParseUint": "a whole number from 0",
				"ParseBool": "true or false"}[n[1]]
			if kind == "" {
				kind = "a whole number"
			}
			text = m[2] + " " + m[1] + " is not " + kind
			if strings.HasSuffix(n[2], "range") {
				text += " that can be taken"
			}
		}
	}
	return &usageError{text}
}

// otherNames are what others call a covariance function.
var otherNames = map[string]string{
	"rbf": "gaussian", "se": "gaussian", "sqexp": "gaussian",
	"squared_exponential": "gaussian", "squared-exponential": "gaussian",
	"exponential": "matern12", "laplace": "matern12", "matern": "matern32",
	"float32": "f32", "single": "f32", "float64": "f64", "double": "f64",
}

// flagOf names the flag of an option, where they differ.
var flagOf = map[string]string{"scalefloor": "scale-floor", "lmlstderr": "lml-se", "maxsteps": "max-steps",
	"sdtol": "sd-tol", "meantol": "mean-tol"}

// optionText is the error of an option of the library as that of the flag that sets it.
func optionText(err error) string {
	var o *bbgp.OptionError
	var memory *bbgp.MemoryError
	if errors.As(err, &memory) {
		return strings.Replace(err.Error(), memory.Error(), ofProcess(memory).Error(), 1)
	}
	if !errors.As(err, &o) {
		return err.Error()
	}
	flag := cmp.Or(flagOf[o.Option], o.Option)
	text := fmt.Sprintf("--%s: %s", flag, o.Reason)
	m := aChoice().FindStringSubmatch(o.Reason)
	if m == nil {
		return text
	}
	choices := strings.Fields(m[2])
	text = fmt.Sprintf("--%s %q is not one of %s", flag, m[1], strings.Join(choices, ", "))
	near := otherNames[strings.ToLower(m[1])]
	if near == "" {
		near = table.Nearest(m[1], choices)
	}
	if near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

// helpCommand tells of a command, and refuses one that there is not.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "More about a command",
		RunE: func(c *cobra.Command, args []string) error {
			at := c.Root()
			for _, name := range args {
				i := slices.IndexFunc(at.Commands(), func(s *cobra.Command) bool { return s.Name() == name })
				if i < 0 {
					return unknownCommand(at, name)
				}
				at = at.Commands()[i]
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}
