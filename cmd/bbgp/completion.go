package main

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bbgp.dev/asm"
	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/table"
)

// shells are what completions can be written for.
var shells = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) },
	"zsh":        (*cobra.Command).GenZshCompletion,
	"fish":       func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
	"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
}

// completionCommand writes completions, from the same definitions as the help.
func (a *app) completionCommand() *cobra.Command {
	names := slices.Sorted(maps.Keys(shells))
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Completions for bash, zsh, fish or powershell",
		Long: `Completions for bash, zsh, fish or powershell, to be read by the shell:

  bash        source <(bbgp completion bash)
  zsh         bbgp completion zsh > "${fpath[1]}/_bbgp"
  fish        bbgp completion fish > ~/.config/fish/completions/bbgp.fish
  powershell  bbgp completion powershell | Out-String | Invoke-Expression`,
		Example:   "  bbgp completion bash > /etc/bash_completion.d/bbgp\n  bbgp completion fish > ~/.config/fish/completions/bbgp.fish",
		ValidArgs: names,
		Args: func(c *cobra.Command, args []string) error {
			if err := exactly("SHELL")(c, args); err != nil {
				return err
			}
			if shells[args[0]] != nil {
				return nil
			}
			near := table.Nearest(args[0], names)
			if near != "" {
				near = "; did you mean " + near + "?"
			}
			return usagef("no completions for %q%s; there are %s", args[0], near, strings.Join(names, ", "))
		},
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			return shells[args[0]](c.Root(), a.out)
		},
	}
}

// completeValues lets completions offer the values of flags that have few.
func completeValues(root *cobra.Command) error {
	values := map[string][]string{
		"kernel": bbgp.Families(), "method": bbgp.Methods(), "optimizer": bbgp.Optimizers(),
		"precision": bbgp.Precisions(), "missing": inputs.Rules, "progress": {"plain", "json", "none"},
		"header": {"auto", "yes", "no"}, "decimal": {"point", "comma"}, "delimiter": {"tab"},
		"rank": {"auto", "0"}, "neighbours": {"auto", "0"}, "probes": {"auto"}, "costs": {standardCosts, measuredCosts},
	}
	for _, im := range asm.All() {
		values["isa"] = append(values["isa"], im.Name)
	}
	for _, c := range root.Commands() {
		for flag, v := range values {
			if c.Flags().Lookup(flag) == nil {
				continue
			}
			others := cobra.ShellCompDirectiveNoFileComp
			if flag == "costs" {
				others = cobra.ShellCompDirectiveDefault // files
			}
			if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(v, others)); err != nil {
				return err
			}
		}
	}
	return nil
}
