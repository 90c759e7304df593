package main

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bbgp.dev/asm"
	"bbgp.dev/bbgp/enum"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/gp"
)

// shells are what completions can be written for.
var shells = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       bashCompletion,
	"zsh":        (*cobra.Command).GenZshCompletion,
	"fish":       func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
	"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
}

// withoutPackage is what the completions take from the package bash-completion, for shells
// that do not have it.
const withoutPackage = `# What bash-completion would bring.
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref()
    {
        local line="${COMP_LINE:0:COMP_POINT}"
        read -ra words <<< "$line"
        [[ $line == *[[:space:]] ]] && words+=("")
        cword=$((${#words[@]} - 1))
        cur=${words[cword]}
        prev=${words[cword > 0 ? cword - 1 : 0]}
    }
fi
if ! declare -F _filedir >/dev/null; then
    _filedir()
    {
        local name
        while IFS= read -r name; do
            if [[ -d $name ]]; then
                COMPREPLY+=("$name/")
            elif [[ -z $1 || $name =~ \.(${1%|})$ ]]; then
                COMPREPLY+=("$name")
            fi
        done < <(compgen -f -- "$cur")
        compopt -o nospace 2>/dev/null
    }
fi

`

func bashCompletion(c *cobra.Command, w io.Writer) error {
	if _, err := io.WriteString(w, withoutPackage); err != nil {
		return err
	}
	return c.GenBashCompletionV2(w, true)
}

// completeArgs offers models and the columns of the table that a command line names.
func (a *app) completeArgs(root *cobra.Command) error {
	models := map[string]bool{"predict": true, "sample": true, "report": true, "info": true}
	for _, c := range root.Commands() {
		if models[c.Name()] {
			c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				if len(args) == 0 {
					return []string{"bbgp"}, cobra.ShellCompDirectiveFilterFileExt
				}
				return nil, cobra.ShellCompDirectiveDefault
			}
		}
		for _, flag := range []string{"target", "features", "ignore", "text",
			"date", "weight", "noise-var", "keep", "group", "block"} {
			if c.Flags().Lookup(flag) == nil {
				continue
			}
			if err := c.RegisterFlagCompletionFunc(flag, a.completeColumns); err != nil {
				return err
			}
		}
	}
	return nil
}

// completeColumns offers the columns of the table that the arguments name last.
func (a *app) completeColumns(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 || args[len(args)-1] == table.Stdin {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	opt := table.ReadOptions{Live: true}
	f, err := table.Open(args[len(args)-1], nil, opt)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer f.Close()
	r, err := table.NewReader("", f, opt)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	before := word[:strings.LastIndexByte(word, ',')+1] // of a list
	var names []string
	for _, n := range r.Names {
		if name := before + n; strings.HasPrefix(name, word) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
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
		Example: "  bbgp completion bash > /etc/bash_completion.d/bbgp\n  bbgp completion fish > " +
			"~/.config/fish/completions/bbgp.fish",
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

// words returns values of an option as flags have them.
func words[T ~string](of []T) []string {
	out := make([]string, len(of))
	for i, v := range of {
		out[i] = string(v)
	}
	return out
}

// completeValues lets completions offer the values of flags that have few.
func completeValues(root *cobra.Command) error {
	values := map[string][]string{
		"kernel": gp.Families(), "method": words(enum.Methods()), "optimizer": words(enum.Optimizers()),
		"precision": words(enum.Precisions()), "product": words(enum.Products()), "missing": inputs.Rules,
		"progress": {"plain", "json", "none"},
		"header":   {"auto", "yes", "no"}, "units": {"auto", "yes", "no"}, "ragged": {"stop", "drop"},
		"decimal": {"point", "comma"}, "delimiter": {"tab", "space"}, "comment": {"#"},
		"encoding": {"utf-8", "latin1", "windows-1252", "utf-16le"},
		"rank":     {"auto", "0"}, "neighbours": {"auto", "0"}, "probes": {"auto"},
		"costs": {standardCosts, measuredCosts},
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
