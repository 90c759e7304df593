package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bbgp.dev/asm"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/checkpoint"
	"bbgp.dev/internal/comm"
)

// sharedCommands are computed by all ranks; rank 0 alone does what the others do.
var sharedCommands = []string{"fit", "predict", "sample", "lml", "cv", "report"}

// forRanks makes the flags and arguments of a command those of this rank.
func (a *app) forRanks(c *cobra.Command, args []string) error {
	r, fl := a.ranks, c.Flags()
	if v, _ := fl.GetString("costs"); v == measuredCosts {
		return usagef("--costs measured differs from rank to rank: bbgp bench costs --json > costs.json, " +
			"then --costs costs.json")
	}
	if err := a.forMachine(fl); err != nil {
		return err
	}
	r.joined = true
	for i := range args {
		if err := a.localCopy(args[i], func(path string) error { args[i] = path; return nil }); err != nil {
			return err
		}
	}
	for _, name := range inFlags {
		v := ""
		if f := fl.Lookup(name); f != nil {
			v = f.Value.String()
		}
		if name == configFlag || v == "" || v == standardCosts || strings.HasSuffix(v, "%") {
			continue // read before, or no file
		}
		if err := a.localCopy(v, fl.Lookup(name).Value.Set); err != nil {
			return err
		}
	}
	if err := a.forOutputs(fl); err != nil {
		return err
	}
	return a.forMemory(fl)
}

// forOutputs sends what ranks other than 0 write to nothing. Their checkpoint is a copy, for all answer from it.
func (a *app) forOutputs(fl *pflag.FlagSet) error {
	for _, name := range outFlags {
		f := fl.Lookup(name)
		if f == nil || f.Value.String() == "" || f.Value.String() == table.Stdin {
			continue
		}
		var err error
		switch {
		case name == "checkpoint":
			err = a.localCheckpoint(fl)
		case !a.other():
		case name == "plot":
			err = f.Value.Set("")
		default:
			err = f.Value.Set(os.DevNull)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) localCheckpoint(fl *pflag.FlagSet) error {
	f := fl.Lookup("checkpoint")
	if resume, _ := fl.GetBool("resume"); resume {
		if err := a.localCopy(f.Value.String(), f.Value.Set); err != nil {
			return err
		}
	}
	if !a.other() {
		return nil
	}
	if !strings.HasPrefix(f.Value.String(), privateFiles) { // nothing to go on from
		copied, err := a.ranks.newPrivate()
		if err != nil {
			return err
		}
		if err := f.Value.Set(privateName(copied)); err != nil {
			return err
		}
	}
	return fl.Set("resume", "true") // the file is there
}

// What rank 0 finds at a path.
const (
	noFile  = iota // others do not find it either
	regular        // rank 0 reads it there
	stream         // standard input or a pipe, which can be read once: rank 0 reads a copy, too
)

// localCopy shares the file at a path of the command line and has set given the name of the copy. What cannot be
// opened, or is a folder, keeps its name: rank 0 will say what is wrong with it.
func (a *app) localCopy(path string, set func(string) error) error {
	r := a.ranks
	kind := []byte{noFile}
	var from io.Reader
	if r.comm.Rank() == 0 {
		var err error
		if kind[0], from, err = a.source(path); err != nil {
			return err
		}
		if f, ok := from.(*os.File); ok && path != table.Stdin {
			defer f.Close()
		}
	}
	if err := r.comm.BcastBytes(kind); err != nil || kind[0] == noFile {
		return err
	}
	var to *os.File
	if r.comm.Rank() > 0 || kind[0] == stream {
		var err error
		if to, err = r.newPrivate(); err != nil {
			return err
		}
	}
	if err := r.stream(to, from); err != nil {
		return fmt.Errorf("%s: %w", table.Label(path), err)
	}
	switch {
	case to == nil:
		return nil
	case path == table.Stdin:
		a.in = to
		return nil
	}
	return set(privateName(to))
}

// source opens what rank 0 has at a path.
func (a *app) source(path string) (kind byte, from io.Reader, err error) {
	if path == table.Stdin {
		return stream, a.in, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return noFile, nil, nil
	}
	st, err := f.Stat()
	switch {
	case err != nil:
		return noFile, f, err
	case st.IsDir():
		return noFile, f, nil
	case st.Mode().IsRegular():
		return regular, f, nil
	}
	return stream, f, nil
}

// stream copies what rank 0 reads to a file of every rank that has one.
func (r *team) stream(to *os.File, from io.Reader) error {
	var piece []byte
	if r.comm.Rank() == 0 {
		piece = make([]byte, 16<<20)
	}
	for {
		n := 0
		if r.comm.Rank() == 0 {
			var err error
			if n, err = io.ReadFull(from, piece); err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
				return err
			}
		}
		got, err := comm.Share(r.comm, piece[:n])
		if err != nil {
			return err
		}
		if to != nil {
			if len(got) == 0 {
				_, err = to.Seek(0, io.SeekStart)
				return err
			}
			if _, err := to.Write(got); err != nil {
				return err
			}
		} else if len(got) == 0 {
			return nil
		}
	}
}

// privateFiles is where open files have names on Linux, the system of ranks.
const privateFiles = "/proc/self/fd/"

// newPrivate makes a file in TMPDIR that vanishes with the process, however that ends. It is left open till then.
func (r *team) newPrivate() (*os.File, error) {
	f, err := os.CreateTemp("", "bbgp-rank-")
	if err != nil {
		return nil, fmt.Errorf("a copy of rank 0's file (TMPDIR names another place): %w", err)
	}
	r.private = append(r.private, f) // or the collector closes it
	return f, os.Remove(f.Name())
}

func privateName(f *os.File) string { return fmt.Sprint(privateFiles, f.Fd()) }

// forMachine sets what the flags leave open: the routines of rank 0, for others would give other bits; and this
// rank's share of the processors.
func (a *app) forMachine(fl *pflag.FlagSet) error {
	r := a.ranks
	name, _ := fl.GetString("isa")
	if im, err := asm.Default(); name == "" && err == nil {
		name = im.Name
	}
	shared, err := comm.Share(r.comm, []byte(name))
	if err != nil {
		return err
	}
	if err := fl.Set("isa", string(shared)); err != nil {
		return err
	}
	host, _ := os.Hostname()
	if r.hosts, err = r.gather(hash(host)); err != nil {
		return err
	}
	cpus, err := r.gather(hash(host + allowedCPUs()))
	if err != nil {
		return err
	}
	me := r.comm.Rank()
	threads, _ := fl.GetInt("threads")
	threads = cmp.Or(threads, max(1, runtime.GOMAXPROCS(0)/count(cpus, cpus[me])))
	if err := fl.Set("threads", fmt.Sprint(threads)); err != nil {
		return err
	}
	if quiet, _ := fl.GetBool("quiet"); !quiet {
		machines := slices.Compact(slices.Sorted(slices.Values(r.hosts)))
		a.say("%d ranks on %s; rank 0 has %s and calls %v", r.comm.Size(), counted(len(machines), "machine"),
			counted(threads, "thread"), r.comm.Comm)
		if n := onlineCPUs(); runtime.NumCPU() == 1 && n > 1 {
			a.say("rank 0 may use 1 of %d processors: mpirun binds ranks to single ones; see --bind-to and --map-by "+
				"in docs/CLUSTER.md", n)
		}
	}
	return nil
}

// forMemory sets the budget to what every rank has, where neither the flag nor a checkpoint tells.
func (a *app) forMemory(fl *pflag.FlagSet) error {
	r := a.ranks
	own := float64(defaultMemory()) / float64(count(r.hosts, r.hosts[r.comm.Rank()]))
	budgets, err := r.gather(own)
	if err != nil {
		return err
	}
	if path, err := fl.GetString("checkpoint"); err == nil && path != "" {
		if _, ok := checkpoint.Memory(path); ok {
			return nil
		}
	}
	if v, err := fl.GetString("memory"); err != nil || v != "" || slices.Min(budgets) == 0 {
		return nil
	}
	return fl.Set("memory", fmt.Sprintf("%.0fB", slices.Min(budgets)))
}

// gather returns v of every rank.
func (r *team) gather(v float64) ([]float64, error) {
	all, off := make([]float64, r.comm.Size()), make([]int, r.comm.Size()+1)
	for k := range off {
		off[k] = k
	}
	all[r.comm.Rank()] = v
	return all, r.comm.AllGather(all, off)
}

// hash is a number of 52 bits.
func hash(text string) float64 {
	h := fnv.New64a()
	io.WriteString(h, text)
	return float64(h.Sum64() >> 12)
}

func count(list []float64, v float64) (n int) {
	for _, w := range list {
		if w == v {
			n++
		}
	}
	return n
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprint(n, " ", what, "s")
}

// allowedCPUs is the list of processors that this process may use, as Linux has it.
func allowedCPUs() string {
	b, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(b), "Cpus_allowed_list:")
	list, _, _ := strings.Cut(rest, "\n")
	return list
}

// onlineCPUs is the number of processors of the machine, 0 where it is not known.
func onlineCPUs() int {
	b, _ := os.ReadFile("/proc/stat")
	return max(0, strings.Count(string(b), "\ncpu"))
}
