package main

import (
	"errors"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/outfile"
)

// The flags that name files, of all commands.
var (
	outFlags = []string{"out", "holdout-out", "blanks", "checkpoint", "plot"}
	inFlags  = []string{"holdout", "start", "params", "costs", "data", configFlag}
)

// plotEnds are what pictures append to their name.
var plotEnds = []string{".png", ".svg"}

// A namedFile is a file of the command line; flag is "" for an argument.
type namedFile struct{ flag, path string }

func (n namedFile) String() string {
	if n.flag == "" {
		return table.Label(n.path)
	}
	return "--" + n.flag + " " + n.path
}

// addFileChecks makes every command look at the files it is to write before it does
// anything: that they can be written, and that none is read or written besides.
func (a *app) addFileChecks(root *cobra.Command) {
	for _, c := range root.Commands() {
		inner := c.RunE
		if inner == nil {
			continue
		}
		c.RunE = func(c *cobra.Command, args []string) error {
			if !a.other() {
				if err := a.checkFiles(c, args); err != nil {
					return err
				}
			}
			switch {
			case !a.together():
			case slices.Contains(sharedCommands, c.Name()):
				if err := a.forRanks(c, args); err != nil {
					return err
				}
			case a.other():
				return nil
			}
			return inner(c, args)
		}
	}
}

func (a *app) checkFiles(c *cobra.Command, args []string) error {
	var ins, outs []namedFile
	for i, p := range args {
		if p == "" {
			return usagef("argument %d is empty (a variable of the shell that is not set?): name a file", i+1)
		}
		ins = append(ins, namedFile{"", p})
	}
	for _, name := range slices.Concat(inFlags, outFlags) {
		f := c.Flags().Lookup(name)
		if f == nil || f.Value.String() == "" {
			continue
		}
		n := namedFile{name, f.Value.String()}
		switch {
		case slices.Contains(inFlags, name):
			ins = append(ins, n)
		case name == "plot":
			for _, end := range plotEnds {
				outs = append(outs, namedFile{name, n.path + end})
			}
		default:
			outs = append(outs, n)
		}
	}
	once := 0
	for _, in := range ins {
		if in.path == table.Stdin {
			once++
		}
		if once > 1 {
			return usagef("standard input can be read once: only one of the files can be -")
		}
		if in.path != table.Stdin && sameOpen(a.out.w, in.path) {
			return usagef("standard output goes to %v, which is read; send it to another file", in)
		}
	}
	for i, o := range outs {
		if o.path == table.Stdin {
			continue
		}
		if err := outfile.Check(o.path); err != nil {
			return usagef("%s cannot be written: %s", o.path, folderReason(err))
		}
		for _, in := range slices.Concat(ins, outs[:i]) {
			if a.same(in.path, o.path) {
				return usagef("%s is the same file as %v: it would be lost; name another file", o, in)
			}
		}
		if n := outfile.Links(o.path); n > 1 && o.flag != "checkpoint" {
			a.say("%s has %d names (hard links): the others will keep what it holds now", o.path, n)
		}
	}
	return nil
}

// same says whether a name of the command line and an output are one file.
func (a *app) same(in, out string) bool {
	if in != table.Stdin {
		return outfile.Same(in, out)
	}
	return sameOpen(a.in, out)
}

// sameOpen says whether an open file, if it is one, is the regular file at path.
func sameOpen(f any, path string) bool {
	open, ok := f.(*os.File)
	if !ok {
		return false
	}
	st, err := open.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	other, err := os.Stat(path)
	return err == nil && os.SameFile(st, other)
}

// A resultWriter is standard output. It keeps the first error of a write: not every print is
// looked at, and a full disk must not end with code 0.
type resultWriter struct {
	w   io.Writer
	err error
}

func (r *resultWriter) Write(b []byte) (int, error) {
	if _, err := (dataWriter{r}).Write(withoutControls(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// A dataWriter writes to standard output what is no text for people, as it is.
type dataWriter struct{ r *resultWriter }

func (d dataWriter) Write(b []byte) (int, error) {
	n, err := d.r.w.Write(b)
	if err != nil && d.r.err == nil {
		d.r.err = err
	}
	return n, err
}

// save writes a model; a signal ends the wait for the reader of a FIFO.
func (a *app) save(path string, m *bbgp.Model) error {
	return outfile.WriteUntil(a.ends, path, m.Write)
}

// openJournal opens the file of --checkpoint.
func openJournal(f *fitFlags) (*bbgp.Journal, error) {
	open := checkpoint.CreateJournal
	if f.resume {
		open = bbgp.ResumeJournal
	}
	if st, err := os.Stat(f.checkpoint); err == nil && !st.Mode().IsRegular() {
		return nil, usagef("--checkpoint %s is no plain file", f.checkpoint)
	}
	j, err := open(f.checkpoint)
	var bad *bbgp.FileError
	switch {
	case errors.Is(err, os.ErrExist):
		return nil, usagef("%s exists; go on from it with --resume, or remove it", f.checkpoint)
	case err != nil && !errors.As(err, &bad):
		return nil, usagef("%s cannot be written: %s", f.checkpoint, folderReason(err))
	}
	return j, err
}
