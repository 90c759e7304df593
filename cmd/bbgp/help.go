package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageTemplate puts the examples first: they answer most questions.
const usageTemplate = `{{if .HasExample}}{{.Example}}

{{end}}Usage:{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{else if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

bbgp help COMMAND tells more about a command.{{end}}
`

// versionCommand prints what --version does.
func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "The version of the program",
		Example: "  bbgp version\n  bbgp version | cut -d ' ' -f 2",
		Args:    exactly(),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			_, err := fmt.Fprintf(a.out, "bbgp %s\n", versionString())
			return err
		},
	}
}

// kernelText is the section of the manual about covariance functions.
const kernelText = `The covariance of the function at x and z is s² h(r), where r² = sum over the
inputs d of ((x_d - z_d)/l_d)², s² is the variance of the function and l_d the
lengthscale of input d:

  matern12   h(r) = exp(-r)
  matern32   h(r) = (1 + a) exp(-a),           a = sqrt(3) r
  matern52   h(r) = (1 + a + a²/3) exp(-a),    a = sqrt(5) r
  gaussian   h(r) = exp(-r²/2)

Functions with matern12 are rough, those with matern32 have one derivative, those
with matern52 two, those with gaussian all.`

// manCommand writes manual pages from the same definitions as the help.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write manual pages into a folder",
		Example: "  bbgp man ~/.local/share/man/man1\n  bbgp man .",
		Args:    exactly("FOLDER"),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			for _, sub := range append([]*cobra.Command{c.Root()}, c.Root().Commands()...) {
				if !sub.IsAvailableCommand() && sub != c.Root() || sub.Name() == "help" {
					continue
				}
				name := strings.ReplaceAll(sub.CommandPath(), " ", "-") + ".1"
				err := writeFile(filepath.Join(args[0], name), nil, func(w *rowWriter) error {
					_, err := w.w.WriteString(manPage(sub))
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// manPage is the page of one command, in the man macros of roff.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	title := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q\n.SH NAME\n%s \\- %s\n", strings.ToUpper(title), "bbgp "+versionString(),
		roff(title), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", roff(c.UseLine()))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(c.Long))
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	if c.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		b.WriteString(".SH OPTIONS\n")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			short := ""
			if f.Shorthand != "" {
				short = "-" + f.Shorthand + ", "
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s", roff(short+"--"+f.Name), roff(f.Usage))
			if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
				fmt.Fprintf(&b, " (default %s)", roff(f.DefValue))
			}
			b.WriteByte('\n')
		})
	}
	if c.Flags().Lookup("kernel") != nil {
		fmt.Fprintf(&b, ".SH KERNELS\n.nf\n%s\n.fi\n", roff(kernelText))
	}
	b.WriteString(".SH EXIT STATUS\n0 done, 1 internal error, 2 wrong command line, 3 wrong data, 4 budget ended, 5 " +
		"refused for resources, 130, 143 or 129 interrupted by SIGINT, SIGTERM or SIGHUP.\n")
	return b.String()
}

// roff protects what the formatter would take for its own.
func roff(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// isTerminal says whether f is a terminal, where a line may be redrawn.
func isTerminal(f any) bool {
	if r, ok := f.(*resultWriter); ok {
		f = r.w
	}
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	st, err := file.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
