package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/inputs"
	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/internal/cost"
)

// say writes a line of words to standard error.
func (a *app) say(format string, args ...any) {
	fmt.Fprintln(a.errw, "bbgp: "+printable(fmt.Sprintf(format, args...)))
}

// load reads a whole table.
func (a *app) load(name string, r *reading) (*table.Table, error) {
	opt, err := r.options()
	if err != nil {
		return nil, err
	}
	f, err := table.Open(name, a.in, opt)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rd, err := table.NewReader(table.Label(name), f, opt)
	if err != nil {
		return nil, err
	}
	q, err := r.request(table.Label(name), rd.Names)
	if err != nil {
		return nil, err
	}
	return table.Load(rd, q)
}

// request resolves the columns that flags, or a model, name.
func (r *reading) request(file string, names []string) (table.Request, error) {
	q := table.Request{As: map[string]table.As{}, Order: map[string]table.Order{}, Decimal: map[string]byte{}}
	for _, n := range r.text {
		i, err := table.Find(file, names, n)
		if err != nil {
			return q, err
		}
		q.As[names[i]] = table.AsText
	}
	for _, d := range r.dates {
		name, order := d, table.Order("")
		if i := strings.LastIndexByte(d, ':'); i > 0 && !slices.Contains(names, d) {
			// A column may have a colon in its name: then what follows is no format.
			if o, ok := table.ParseOrder(d[i+1:]); ok {
				name, order = d[:i], o
			} else if _, err := table.Find(file, names, d[:i]); err == nil {
				return q, usagef("--date %s: %q is no format; there are dd/mm/yyyy, mm/dd/yyyy, yyyy-mm-dd, "+
					"yyyymmdd, yyyymm, yyyymmddhhmmss, yyyy, excel, unix, unix-ms and time", d, d[i+1:])
			}
		}
		i, err := table.Find(file, names, name)
		if err != nil {
			return q, err
		}
		q.As[names[i]], q.Order[names[i]] = table.AsDate, order
	}
	for _, in := range r.like {
		switch {
		case !slices.Contains(names, in.Column):
		case in.Kind == inputs.Date:
			q.As[in.Column], q.Order[in.Column] = table.AsDate, in.Order
		case in.Kind == inputs.Level:
			q.As[in.Column] = table.AsText
		case in.Decimal == ",":
			q.Decimal[in.Column] = ','
		}
	}
	return q, nil
}

// A trainingSet is a table made ready for a fit.
type trainingSet struct {
	held  *heldRows
	table *table.Table
	plan  *inputs.Plan
	set   *inputs.Set
	data  *bbgp.Data
	notes []string
	// learnt are notes that need a fit.
	learnt []string
}

// training reads a table and makes its columns inputs and target.
func (a *app) training(name string, r *reading, keepDuplicates bool) (*trainingSet, error) {
	opt, err := r.inputs()
	if err != nil {
		return nil, err
	}
	opt.KeepDuplicates = keepDuplicates
	if r.target == "" {
		return nil, usagef("--target is missing: name the column to model; bbgp check %s lists them", name)
	}
	t, err := a.load(name, r)
	if err != nil {
		return nil, err
	}
	ts := &trainingSet{table: t}
	if ts.plan, ts.notes, err = inputs.Make(t, opt); err != nil {
		return nil, err
	}
	ts.notes = append(slices.Clone(t.Notes), ts.notes...)
	if ts.set, err = ts.plan.Apply(t, true); err != nil {
		return nil, err
	}
	if err := ts.plan.Computable(t, ts.set); err != nil {
		return nil, err
	}
	if n := len(ts.set.Blank); n > 0 {
		ts.notes = append(ts.notes, fmt.Sprintf("%s without %s: set aside for prediction, %s used", table.Rows(n),
			ts.plan.Target, table.Rows(len(ts.set.Rows))))
	}
	if n := len(ts.set.Drop); n > 0 {
		ts.notes = append(ts.notes, fmt.Sprintf("%s with missing inputs: dropped, %s used", table.Rows(n),
			table.Rows(len(ts.set.Rows))))
	}
	ts.data = &bbgp.Data{X: ts.set.X, Y: ts.set.Y, Names: ts.plan.Names(), Target: ts.plan.Target,
		NoiseScale: ts.set.Scale, NoiseExtra: ts.set.Extra}
	return ts, nil
}

// locate adds file and line to a fault that the engine found in the data.
func (ts *trainingSet) locate(err error) error { return located(err, ts.table, ts.set.Rows) }

// located adds file and line to a fault that was found in these rows of a table.
func located(err error, t *table.Table, rows []int) error {
	var d *bbgp.DataError
	if !errors.As(err, &d) {
		return err
	}
	e := &table.Error{File: t.File, Column: d.Column, Text: d.Reason}
	if d.Row >= 0 && d.Row < len(rows) {
		i := rows[d.Row]
		e.Row, e.Line = i+1, t.Line(i)
	}
	return e
}

// sizeOf returns the length of a file, 0 where there is none.
func sizeOf(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// loadModel reads a model and how its inputs are made. What predictions make of it is
// kept within the budget of --memory, empty for the default, or refused.
func loadModel(path, memory string) (*bbgp.Model, *inputs.Plan, error) {
	if err := checkModel(path); err != nil {
		return nil, nil, err
	}
	budget, err := memoryBudget(memory)
	if err != nil {
		return nil, nil, err
	}
	// The file as it is and as numbers.
	need := cost.ProgramBytes + 2*sizeOf(path)
	if memory != "" && need > budget {
		return nil, nil, &bbgp.MemoryError{What: "the model " + path, Needed: need, Budget: budget}
	}
	m, err := bbgp.Load(path)
	var system *fs.PathError
	if errors.As(err, &system) {
		err = &table.Error{File: path, Text: fileReason(system.Err)}
	}
	if err != nil {
		return nil, nil, err
	}
	plan, err := modelPlan(path, m)
	if err == nil {
		know(plan, m)
	}
	return m, plan, err
}

// know tells the plan what the model falls back to, in the units of the table.
func know(plan *inputs.Plan, m *bbgp.Model) {
	if m.Result.ConstantTarget {
		return
	}
	s := &m.Scaling
	p := inputs.Prior{Mean: s.YMean + s.YScale*m.Parameters.Mean, SD: s.YScale * math.Sqrt(m.Parameters.Variance)}
	for j, l := range m.Parameters.Lengthscales {
		p.Scales, p.Only = append(p.Scales, l*s.XScale[j]), append(p.Only, math.NaN())
		if slices.Contains(m.Result.Constant, m.Names[j]) {
			p.Only[j] = onlyValue(s, plan.Inputs[j].Low, plan.Inputs[j].High, j)
		}
	}
	plan.Know(p)
}

// isScaled says whether a model has standardised its columns, and so has means of them.
func isScaled(s *bbgp.Scaling) bool { return s.YMean != 0 || s.YScale != 1 }

// onlyValue is what input j had in all training rows: its mean, which --no-scale does not keep; the range
// is that of the table, of which rows may have been held out. NaN where it is not known.
func onlyValue(s *bbgp.Scaling, low, high float64, j int) float64 {
	switch {
	case isScaled(s):
		return s.XMean[j]
	case low == high:
		return low
	}
	return math.NaN()
}

// openStream begins to read the rows of a table for a model; the caller closes it.
func (a *app) openStream(plan *inputs.Plan, name string, r *reading) (*inputs.Stream, io.Closer, error) {
	opt, err := r.options()
	if err != nil {
		return nil, nil, err
	}
	opt.Live = a.mayWait(name)
	in, err := table.Open(name, a.in, opt)
	if err != nil {
		return nil, nil, err
	}
	rd, err := table.NewReader(table.Label(name), in, opt)
	if err == nil {
		var s *inputs.Stream
		if s, err = plan.NewStream(table.Label(name), rd); err == nil {
			return s, in, nil
		}
	}
	in.Close()
	return nil, nil, err
}

// mayWait says whether more of a table may come late, as by a pipe. A file is looked at as
// the training looks at it.
func (a *app) mayWait(name string) bool {
	st, err := os.Stat(name)
	if f, ok := a.in.(*os.File); ok && name == table.Stdin {
		st, err = f.Stat()
	} else if name == table.Stdin {
		return true
	}
	return err == nil && !st.Mode().IsRegular()
}

// modelPlan returns how the inputs of a loaded model are made.
func modelPlan(path string, m *bbgp.Model) (*inputs.Plan, error) {
	if len(m.Extra) == 0 {
		// A model that a program saved: its inputs are columns of numbers.
		p := &inputs.Plan{Target: m.Target, Rule: "stop"}
		for j := range m.D() {
			name := fmt.Sprintf("x%d", j+1)
			if j < len(m.Names) {
				name = m.Names[j]
			}
			p.Inputs = append(p.Inputs, inputs.Input{Name: name, Column: name, Kind: inputs.Number})
		}
		return p, nil
	}
	p, err := inputs.Decode(m.Extra, m.Names)
	if err != nil {
		return nil, &bbgp.FileError{Path: path, Reason: err.Error()}
	}
	return p, nil
}

// oneLine keeps a message on its line.
func oneLine(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", " ") }

// planReading reads columns as the plan of a model has them.
func planReading(p *inputs.Plan, r reading) *reading {
	r.like, r.na = p.Inputs, slices.Concat(r.na, p.NA)
	return &r
}
