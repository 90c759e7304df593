package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

// Exit codes; docs/USAGE.md explains them to users.
const (
	exitOK          = 0
	exitInternal    = 1
	exitUsage       = 2
	exitData        = 3
	exitBudget      = 4
	exitRefused     = 5
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), interrupts()...)
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	a.quit = os.Exit
	if err := a.join(); err != nil {
		a.last(err.Error())
		a.end(exitUsage)
	}
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the program at once
		a.leave(ctx)
	})
	if a.together() {
		a.ranks.signalled = ctx
		ctx, _ = a.ranks.comm.Context(ctx)
	}
	a.end(a.run(ctx, os.Args[1:]))
}

// collectAt is the growth of the heap, per cent, after which garbage is collected:
// large arrays without pointers cost the collector nothing, and memory is dear.
// Until it is collected for the first time, collectFirst stands: at 16 MiB and not at 2, which
// a quick command passes a dozen times.
const collectAt, collectFirst = 50, 400

// collect sets when garbage is collected, until the function that it returns is called.
func collect() (end func()) {
	before := debug.SetGCPercent(collectFirst)
	var ended atomic.Bool
	runtime.AddCleanup(new([64]byte), func(ended *atomic.Bool) {
		if !ended.Load() {
			debug.SetGCPercent(collectAt)
		}
	}, &ended)
	return func() {
		ended.Store(true)
		debug.SetGCPercent(before)
	}
}

// run executes a command line and returns its exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	return newApp(in, out, errw).run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) (code int) {
	a.ends = ctx
	if os.Getenv("GOGC") == "" {
		defer collect()()
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1)) // see keepWithin
	defer func() {
		r := recover()
		if lost, ok := r.(*linalg.RankError); ok {
			a.last(lost.Error())
			code = exitInternal
		} else if r != nil {
			fmt.Fprintf(a.errw, "bbgp: internal error: %v; set BBGP_TRACE=1 to see where, and please report it with "+
				"the output of bbgp info\n", r)
			if os.Getenv("BBGP_TRACE") != "" {
				a.errw.Write(debug.Stack())
			}
			code = exitInternal
		}
	}()
	root := a.root()
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if c == root && len(args) > 0 && !strings.HasPrefix(args[0], "-") { // a command mistyped, before its flags
			return unknownCommand(root, args[0])
		}
		return flagError(c, err)
	})
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.errw)
	err := root.ExecuteContext(ctx)
	if err == nil && a.out.err == nil {
		return exitOK
	}
	code = a.exitCode(err)
	if a.out.err != nil {
		code, err = exitInternal, fmt.Errorf("standard output: %w", a.out.err)
	}
	if code == exitInterrupted {
		return a.interrupted(ctx)
	}
	a.last(lineOf(err))
	return code
}

// lineOf is what an error says, on one line: errors that were joined have a line each, as has a name
// of two lines.
func lineOf(err error) string {
	return strings.ReplaceAll(oneLine(optionText(err)), context.DeadlineExceeded.Error(), errTimeOver.Error())
}

// last writes the one line of a failure.
func (a *app) last(line string) {
	line = printable(line)
	if isTerminal(a.errw) {
		line += clearLine // a line of progress may be there
	}
	fmt.Fprintln(a.errw, "bbgp: "+line)
}

// An app is one run of the program.
type app struct {
	in       io.Reader
	out      *resultWriter
	errw     io.Writer
	started  bool        // a command's own code runs: flags and arguments were right
	keeps    atomic.Bool // there is or will be something that an interrupt must not lose
	farewell sync.Once
	ends     context.Context // by a signal
	quit     func(code int)  // ends the process; nil where it is not ours to end
	ranks    *team           // nil alone
}

func newApp(in io.Reader, out, errw io.Writer) *app {
	return &app{in: in, out: &resultWriter{w: out}, errw: errw}
}

// usageError is a mistake in the command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// budgetError ends a run whose time is used up; what it has is kept.
type budgetError struct{ text string }

func (e *budgetError) Error() string { return e.text }

func (a *app) exitCode(err error) int {
	var (
		usage  *usageError
		option *bbgp.OptionError
		tab    *table.Error
		data   *bbgp.DataError
		param  *bbgp.ParamError
		file   *bbgp.FileError
		memory *bbgp.MemoryError
		budget *budgetError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &budget), errors.Is(err, context.DeadlineExceeded):
		return exitBudget
	case errors.As(err, &memory), errors.As(err, &tab) && tab.Refused:
		return exitRefused
	case errors.As(err, &tab), errors.As(err, &data), errors.As(err, &param), errors.As(err, &file):
		return exitData
	case !a.started, errors.As(err, &usage), errors.As(err, &option):
		return exitUsage
	}
	return exitInternal
}

// root makes the tree of commands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "bbgp",
		Short: "Gaussian process regression with bounds on every answer",
		Long: `Bbgp trains Gaussian processes on tables and predicts with them. Every
likelihood it computes comes with bounds of its bias.`,
		Example: `  bbgp fit train.csv --target y --out model.bbgp
  bbgp predict model.bbgp new.csv --sd --out predictions.csv`,
		Version:                    versionString(),
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		Args:                       subcommand,
		RunE:                       func(c *cobra.Command, args []string) error { return c.Help() },
	}
	root.SetUsageTemplate(usageTemplate)
	root.SetVersionTemplate("bbgp {{.Version}}\n")
	root.AddCommand(a.fitCommand(), a.planCommand(), a.predictCommand(), a.sampleCommand(), a.lmlCommand(),
		a.cvCommand(), a.checkCommand(), a.infoCommand(), a.versionCommand(), a.benchCommand(), a.reportCommand(),
		a.demoCommand(), a.completionCommand(), a.manCommand())
	root.SetHelpCommand(helpCommand())
	a.addFileChecks(root) // inside addConfig, which may set the flags
	a.addConfig(root)
	if err := cmp.Or(completeValues(root), a.completeArgs(root)); err != nil {
		panic("completions: " + err.Error()) // a flag registered twice
	}
	return root
}

// subcommand takes no arguments: what stands there is a command mistyped.
func subcommand(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(c, args[0])
	}
	return nil
}

func unknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() {
			names = append(names, s.Name())
		}
	}
	if near := table.Nearest(name, names); near != "" {
		return usagef("unknown command %q; did you mean %s?", name, near)
	}
	return usagef("unknown command %q; there are %s", name, strings.Join(names, ", "))
}
