package main

import (
	"fmt"
	"math"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bbgp.dev/asm"
	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/enum"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/cost"
	"bbgp.dev/linalg"
)

// exactly demands the named arguments.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		takes, given := strings.Join(names, " "), fmt.Sprintf("not %d arguments", len(args))
		if len(names) == 0 {
			takes = "no arguments"
		}
		if len(args) == 1 {
			given = "not " + table.Quote(args[0]) + " alone"
		}
		if len(names) == 0 {
			given = "not " + table.Quote(args[0])
		}
		return usagef("%s takes %s, %s; for example: %s", c.Name(), takes, given, firstExample(c))
	}
}

func firstExample(c *cobra.Command) string {
	line, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n")
	return strings.TrimSpace(line)
}

// machine flags choose what a command computes on.
type machine struct {
	isa     string
	threads int
}

func (m *machine) add(f *pflag.FlagSet) {
	f.StringVar(&m.isa, "isa", "", "routines to use (see bbgp info); beats BBGP_ISA")
	f.IntVar(&m.threads, "threads", 0, "threads; 0 is one per processor that this process may use")
}

func (m *machine) engine(a *app) (*linalg.Engine, error) {
	if m.threads < 0 || m.threads > 4096 {
		return nil, usagef("--threads %d is not between 0 and 4096", m.threads)
	}
	var impl *asm.Impl
	if m.isa != "" {
		var err error
		if impl, err = asm.Lookup(m.isa); err != nil {
			return nil, usagef("--isa: %v", err)
		}
	}
	e, err := linalg.NewEngine(impl, m.threads)
	if err != nil {
		return nil, usagef("%v", err)
	}
	if a.together() && a.ranks.joined {
		e.Comm = a.ranks.comm
	}
	return e, nil
}

// reading flags say how a table is read and what its columns are.
type reading struct {
	target                     string
	features, ignore           []string
	text, dates                []string
	weight, noiseVar           string
	missing                    string
	levels                     int
	delimiter, decimal, header string
	units, comment, ragged     string
	encoding, sheet            string
	skip                       int
	na                         []string
	memory                     *string        // of --memory; nil: the default
	like                       []inputs.Input // columns are read as these, of a model
}

func (r *reading) add(f *pflag.FlagSet) {
	f.StringVarP(&r.target, "target", "t", "", "column to model, by name or 1-based number")
	f.StringSliceVar(&r.features, "features", nil, "columns to use as inputs (default: all others)")
	f.StringSliceVar(&r.ignore, "ignore", nil, "columns to leave out")
	f.StringSliceVar(&r.text, "text", nil, "columns to read as text even where they look like numbers")
	f.StringSliceVar(&r.dates, "date", nil, "columns to read as dates, as days since 1970-01-01")
	f.StringVar(&r.weight, "weight", "",
		"column of weights: the noise variance of a row is that of the model over its weight")
	f.StringVar(&r.noiseVar, "noise-var", "", "column of known noise variances, added to that of the model")
	f.StringVar(&r.missing, "missing", "stop",
		"missing inputs: stop, drop (the row) or indicator (an input that tells)")
	f.IntVar(&r.levels, "levels", 20, "most different texts of a text column")
	r.addFormat(f)
}

func (r *reading) addFormat(f *pflag.FlagSet) {
	f.StringVar(&r.delimiter, "delimiter", "",
		"delimiter: a character, tab, or space for runs of blanks (default: detected)")
	f.StringVar(&r.decimal, "decimal", "", "decimal mark, point or comma (default: detected)")
	f.StringVar(&r.header, "header", "auto", "first line names the columns: yes, no or auto")
	f.StringVar(&r.units, "units", "auto", "the line under the header tells units: yes, no or auto")
	f.IntVar(&r.skip, "skip", 0, "lines before the header (default: detected)")
	f.StringVar(&r.comment, "comment", "", "leave out lines that begin with this, such as '#' or Total")
	f.Var((*naList)(&r.na), "na", "cells that are missing, beside the usual ones, such as -999 or '<0.5'")
	f.StringVar(&r.ragged, "ragged", "stop", "rows with too few or too many cells: stop or drop")
	f.StringVar(&r.encoding, "encoding", "", "encoding of the text, such as latin1 or utf-16le (default: detected)")
	f.StringVar(&r.sheet, "sheet", "", "sheet of a workbook (default: the first)")
}

// options returns how a table is read.
func (r *reading) options() (table.ReadOptions, error) {
	o := table.ReadOptions{Skip: r.skip, Comment: r.comment, NA: r.na, Encoding: r.encoding, Sheet: r.sheet,
		DropRows: r.ragged == "drop"}
	switch {
	case r.delimiter == "tab" || r.delimiter == `\t`:
		o.Delimiter = '\t'
	case r.delimiter == "space" || r.delimiter == "blank":
		o.Delimiter = table.Blanks
	case len(r.delimiter) == 1 && r.delimiter != "\"":
		o.Delimiter = r.delimiter[0]
	case r.delimiter != "":
		return o, usagef("--delimiter %q is not one character, tab or space", r.delimiter)
	}
	switch r.decimal {
	case "":
	case "point", ".":
		o.Decimal = '.'
	case "comma", ",":
		o.Decimal = ','
	default:
		return o, usagef("--decimal %q is not point or comma", r.decimal)
	}
	switch r.header {
	case "auto":
	case "yes":
		o.Header = table.HeaderYes
	case "no":
		o.Header = table.HeaderNo
	default:
		return o, usagef("--header %q is not yes, no or auto", r.header)
	}
	units := map[string]table.Units{"auto": table.UnitsAuto, "yes": table.UnitsYes, "no": table.UnitsNo}
	var ok bool
	if o.Units, ok = units[r.units]; !ok && r.units != "" {
		return o, usagef("--units %q is not yes, no or auto", r.units)
	}
	if r.ragged != "" && r.ragged != "stop" && r.ragged != "drop" {
		return o, usagef("--ragged %q is not stop or drop", r.ragged)
	}
	if r.skip < 0 {
		return o, usagef("--skip %d is negative", r.skip)
	}
	return r.budget(o)
}

// budget bounds what a table may take: half, for what is made of it takes as much again.
func (r *reading) budget(o table.ReadOptions) (table.ReadOptions, error) {
	flag := ""
	if r.memory != nil {
		flag = *r.memory
	}
	budget, err := memoryBudget(flag)
	o.Memory = budget / 2
	return o, err
}

func (r *reading) inputs() (inputs.Options, error) {
	o := inputs.Options{Target: r.target, Features: r.features, Ignore: r.ignore, Weight: r.weight,
		NoiseVar: r.noiseVar, Missing: r.missing, MaxLevels: r.levels, NA: r.na}
	if !slices.Contains(inputs.Rules, r.missing) {
		return o, usagef("--missing %q is not one of %s", r.missing, strings.Join(inputs.Rules, ", "))
	}
	if r.levels < 1 || r.levels > 1000 {
		return o, usagef("--levels %d is not between 1 and 1000", r.levels)
	}
	return o, nil
}

// modelling flags set how a model is computed.
type modelling struct {
	kernel, method, precision string
	product                   string
	tolerance                 float64
	eps, lmlStdErr            float64
	probes                    string
	rank, neighbours, costs   string
	seed                      uint64
	noScale                   bool
	scaleFloor                float64
	memory                    string
	time                      time.Duration
}

func (m *modelling) add(f *pflag.FlagSet) {
	f.StringVar(&m.method, "method", "",
		"bbgp, exact, sgpr, cglb, iterative or rr (default: bbgp, or exact where that is cheaper)")
	f.Float64Var(&m.eps, "eps", 1, "bound of the bias of an evaluation, in nats")
	f.StringVar(&m.probes, "probes", auto, "random probes, 1 to 63; 7, with the target, fill a block of 8 columns")
	f.StringVar(&m.rank, "rank", auto, "rank of the preconditioner, 0 for none")
	f.StringVar(&m.neighbours, "neighbours", auto, "neighbours per row in the preconditioner, 0 for none")
	f.StringVar(&m.costs, "costs", standardCosts, "what method, rank, neighbours and probes are chosen by: standard "+
		"(the same on every machine), measured, or a file of bbgp bench costs --json")
	f.Uint64Var(&m.seed, "seed", 0, "start of every random stream")
	f.StringVar(&m.precision, "precision", "auto", "of kernel products: f32, f64 or auto")
	f.StringVar(&m.product, "product", "auto",
		"form of kernel products: dense, h2 (below n², for up to three inputs in use) or auto")
	f.Float64Var(&m.tolerance, "tolerance", 0,
		"of an entry of the covariance matrix in product h2, in units of the variance (default: by the noise)")
	f.BoolVar(&m.noScale, "no-scale", false, "take inputs and target as they are, not standardised")
	f.Float64Var(&m.scaleFloor, "scale-floor", 0,
		"add this to the standard deviations that columns are divided by; 1e-6 is the rule of the BBGP paper")
	addMemory(f, &m.memory)
	f.Var((*span)(&m.time), "time", "time budget, such as 90s, or a number of seconds (default: none)")
}

// addMemory adds the budget of all that a command computes.
func addMemory(f *pflag.FlagSet, memory *string) {
	f.StringVar(memory, "memory", "",
		"memory budget, such as 2GiB (default: 80% of what the container or else the machine has)")
}

func (m *modelling) options(e *linalg.Engine) (bbgp.Options, error) {
	o := bbgp.Options{Kernel: m.kernel, Method: enum.Method(m.method), Eps: m.eps, LMLStdErr: m.lmlStdErr,
		Precision: enum.Precision(m.precision), Product: enum.Product(m.product), Tolerance: m.tolerance,
		NoScale: m.noScale, ScaleFloor: m.scaleFloor, Seed: m.seed, Time: m.time, Engine: e}
	var err error
	if !(m.eps > 0) || math.IsInf(m.eps, 0) {
		return o, usagef("--eps %v is not a positive number", m.eps)
	}
	if !(m.scaleFloor >= 0 && m.scaleFloor <= 1e100) {
		return o, usagef("--scale-floor %v is not a number from 0 to 1e100", m.scaleFloor)
	}
	if !(m.lmlStdErr > 0) || math.IsInf(m.lmlStdErr, 0) {
		return o, usagef("--lml-se %v is not a positive number", m.lmlStdErr)
	}
	if !(m.tolerance >= 0 && m.tolerance < 1) {
		return o, usagef("--tolerance %v is not between 0 and 1", m.tolerance)
	}
	if m.probes != auto {
		if o.Probes, err = strconv.Atoi(m.probes); err != nil || o.Probes < 1 {
			return o, usagef("--probes %s is not auto or between 1 and 63", m.probes)
		}
	}
	if m.time < 0 {
		return o, usagef("--time %v is negative", m.time)
	}
	if o.Rank, err = autoNumber("rank", m.rank); err != nil {
		return o, err
	}
	if o.Neighbours, err = autoNumber("neighbours", m.neighbours); err != nil {
		return o, err
	}
	if err := m.checkUnused(); err != nil {
		return o, err
	}
	o.Memory, err = memoryBudget(m.memory)
	return o, err
}

// auto leaves a number to the program.
const auto = "auto"

// autoNumber reads auto as 0 (choose) and 0 as -1 (none), as bbgp.Options have it.
func autoNumber(flag, s string) (int, error) {
	if s == auto {
		return 0, nil
	}
	v, err := strconv.Atoi(s)
	if err != nil || v < 0 {
		return 0, usagef("--%s %q is not auto or a number from 0", flag, s)
	}
	if v == 0 {
		return -1, nil
	}
	return v, nil
}

// memoryShare of what the control group or else the machine has is the default
// budget.
const memoryShare = 0.8

// defaultMemory returns 0, no budget, where the system does not tell, which is asked once.
var defaultMemory = sync.OnceValue(func() int64 {
	limit, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil {
		return 0
	}
	return int64(memoryShare * float64(min(limit, 1<<60)))
})

// ownMemory is what the process has beside the collector's: the parts of its file that it uses.
const ownMemory = 21 << 20

// memoryBudget reads --memory, empty for the default, and keeps the process within it.
func memoryBudget(flag string) (int64, error) {
	budget, err := parseBytes(flag)
	if err == nil && flag != "" && budget < cost.ProgramBytes {
		return 0, &bbgp.MemoryError{What: "the program alone", Needed: cost.ProgramBytes, Budget: budget}
	}
	if budget == 0 {
		budget = defaultMemory()
	}
	keepWithin(budget)
	return budget, err
}

// keepWithin makes the collector keep the process within the budget; run undoes it.
func keepWithin(budget int64) {
	if budget > 0 {
		debug.SetMemoryLimit(max(budget-ownMemory, (budget+2)/3))
	}
}

// ofProcess tells what was refused within Go's limit of memory in the terms of --memory, which is of the process.
func ofProcess(e *bbgp.MemoryError) error {
	if e.Budget != debug.SetMemoryLimit(-1) {
		return e
	}
	own := min(ownMemory, 2*e.Budget) // as keepWithin has it
	return &bbgp.MemoryError{What: e.What, Needed: e.Needed + ownMemory, Budget: e.Budget + own}
}

// parseBytes reads sizes such as 500MB, 2GiB or 1.5g.
func parseBytes(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	m := regexp.MustCompile(`(?i)^([0-9.]+)\s*([kmgt]?)(i?)b?$`).FindStringSubmatch(s)
	if m != nil {
		base := 1000.0
		if m[3] != "" {
			base = 1024
		}
		power := float64(strings.Index("kmgt", strings.ToLower(m[2])) + 1)
		if m[2] == "" {
			power = 0
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err == nil && m[2] == "" && v < 1<<20 {
			return 0, usagef("--memory %s is %[1]s bytes; give it a unit, such as %[1]sGiB", m[1])
		}
		if err == nil && v > 0 && v*math.Pow(base, power) < 1<<60 {
			return int64(v * math.Pow(base, power)), nil
		}
	}
	return 0, usagef("--memory %q is not a size such as 2GiB", s)
}

func formatBytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
