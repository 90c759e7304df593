package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/table"
)

// mostMends bounds how often a table is read again to find flags that mend it.
const mostMends = 4

// mend lists the problems with the flags that mend them, and finds a command that fits:
// the flags are tried, on the table, until nothing is wrong.
func (a *app) mend(name string, read reading, r *checkReport, t *table.Table, fault error) error {
	opt, err := read.inputs()
	if err != nil {
		return err
	}
	for try := range mostMends {
		var faults inputs.Faults
		if fault != nil && !errors.As(fault, &faults) {
			if try == 0 {
				r.Problems = append(r.Problems, checkProblem{Text: fault.Error()})
			}
			return nil // no flag mends it
		}
		mended, fresh := true, false
		for _, f := range faults {
			mend := f.Mend
			if len(mend) == 2 && mend[0] == "--missing" {
				mend = []string{"--missing", missingRule(t, opt)}
			}
			if try == 0 {
				r.Problems = append(r.Problems, checkProblem{f.Err.Error(), mendWords(mend)})
			}
			mended = mended && len(mend) > 1
			fresh = read.take(mend) || fresh
		}
		if !mended || len(faults) > 0 && !fresh {
			return nil
		}
		if len(faults) == 0 {
			r.Command = fitCommand(name, read)
			return nil
		}
		if name == table.Stdin {
			return nil // it cannot be read again
		}
		if opt, err = read.inputs(); err != nil {
			return err
		}
		if t, err = a.load(name, &read); err != nil {
			return nil // the flags do not go together
		}
		var plan *inputs.Plan
		if plan, _, fault = inputs.Make(t, opt); fault == nil && opt.Target != "" {
			_, fault = plan.Apply(t, true)
		}
	}
	return nil
}

// missingRule is drop where most rows survive it.
func missingRule(t *table.Table, opt inputs.Options) string {
	if 10*survivors(t, opt, t.Rows/2) >= 7*t.Rows {
		return "drop"
	}
	return "indicator"
}

// mendWords writes a flag with its values for a shell.
func mendWords(mend []string) string {
	if len(mend) == 0 {
		return ""
	}
	if mend[0] == "--na" {
		return "--na " + naArg(mend[1:])
	}
	return mend[0] + " " + table.ListArg(mend[1:]...)
}

// take sets a flag, and says whether there was one that is not set so already.
func (r *reading) take(mend []string) bool {
	if len(mend) < 2 {
		return false
	}
	add := func(to *[]string) bool {
		fresh := false
		for _, v := range mend[1:] {
			if !slices.Contains(*to, v) {
				*to, fresh = append(slices.Clone(*to), v), true
			}
		}
		return fresh
	}
	set := func(to *string) bool {
		fresh := *to != mend[1]
		*to = mend[1]
		return fresh
	}
	switch mend[0] {
	case "--ignore":
		return add(&r.ignore)
	case "--na":
		return add(&r.na)
	case "--text":
		return add(&r.text)
	case "--date":
		name, _, _ := strings.Cut(mend[1], ":")
		r.dates = slices.DeleteFunc(slices.Clone(r.dates), func(d string) bool { return d == name })
		return add(&r.dates)
	case "--missing":
		return set(&r.missing)
	case "--decimal":
		return set(&r.decimal)
	case "--comment":
		return set(&r.comment)
	}
	return false
}

// fitCommand is the command that fits a table with what flags say.
func fitCommand(name string, r reading) string {
	b := []string{"bbgp fit", table.Arg(name)}
	one := func(flag, value, usual string) {
		if value != usual && value != "" {
			b = append(b, "--"+flag+" "+table.Arg(value))
		}
	}
	list := func(flag string, values []string) {
		if len(values) > 0 {
			b = append(b, "--"+flag+" "+table.ListArg(values...))
		}
	}
	if r.target == "" {
		b = append(b, "--target NAME")
	}
	one("target", r.target, "")
	list("features", r.features)
	list("ignore", r.ignore)
	list("text", r.text)
	list("date", r.dates)
	one("weight", r.weight, "")
	one("noise-var", r.noiseVar, "")
	if len(r.na) > 0 {
		b = append(b, "--na "+naArg(r.na))
	}
	one("missing", r.missing, "stop")
	if r.levels != 20 {
		one("levels", strconv.Itoa(r.levels), "")
	}
	for _, f := range []struct{ flag, value, usual string }{
		{"delimiter", r.delimiter, ""}, {"decimal", r.decimal, ""}, {"header", r.header, "auto"},
		{"units", r.units, "auto"},
		{"comment", r.comment, ""}, {"ragged", r.ragged, "stop"}, {"encoding", r.encoding, ""},
		{"sheet", r.sheet, ""}} {
		one(f.flag, f.value, f.usual)
	}
	if r.skip > 0 {
		b = append(b, fmt.Sprintf("--skip %d", r.skip))
	}
	return strings.Join(b, " ")
}
