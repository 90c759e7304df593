package bbgp

import (
	"context"
	"fmt"
	"reflect"
	"unicode/utf8"

	"bbgp.dev/internal/gp"
	"bbgp.dev/linalg"
)

// What comes from outside is checked here, before it is used: it gives errors that can
// be told by their types, never a panic.

// mostNeighbours of a row in a preconditioner: n times their cube is the work.
const mostNeighbours = 4096

// checkCall tells whether a call has a context and an engine that can compute; nil
// stands for the default engine.
func checkCall(ctx context.Context, e *linalg.Engine) error {
	if ctx == nil {
		return &OptionError{Option: "ctx", Reason: "is nil; pass context.Background()"}
	}
	if e != nil && (e.Impl == nil || e.Impl.Name == "" || e.Par == nil || e.Par.Threads() == 0) {
		return &OptionError{Option: "engine", Reason: "is empty; engines come from linalg.NewEngine"}
	}
	return nil
}

// checkFit tells whether a call has what it fits a model to.
func checkFit(ctx context.Context, d *Data, opt *Options) error {
	if err := checkCall(ctx, opt.Engine); err != nil {
		return err
	}
	if opt.Journal != nil && !opt.Journal.Open() {
		return &OptionError{Option: "journal", Reason: "is empty; journals come from CreateJournal or ResumeJournal"}
	}
	if opt.Neighbours > mostNeighbours {
		return &OptionError{Option: "neighbours", Reason: fmt.Sprintf("%d is more than %d",
			opt.Neighbours, mostNeighbours)}
	}
	if err := d.check(true); err != nil {
		return err
	}
	return gp.CheckTarget(d.TargetName(), d.Y)
}

// checkMatrix tells whether x is what it says: its rows lie apart and within its data.
func checkMatrix(x linalg.Matrix) error {
	bad := func(reason string, v ...any) error { return &DataError{Row: -1, Reason: fmt.Sprintf(reason, v...)} }
	switch {
	case x.Rows < 0 || x.Cols < 0:
		return bad("a matrix of %d × %d", x.Rows, x.Cols)
	case x.Rows == 0 || x.Cols == 0:
		return nil
	case x.Stride < x.Cols:
		return bad("a matrix of %d columns with stride %d: its rows overlap", x.Cols, x.Stride)
	case x.Cols > len(x.Data) || x.Rows-1 > (len(x.Data)-x.Cols)/x.Stride:
		return bad("a matrix of %d × %d, stride %d, with %d numbers", x.Rows, x.Cols, x.Stride, len(x.Data))
	}
	return nil
}

// checkNames tells whether names can be saved: a model file is text in UTF-8.
func (d *Data) checkNames() error {
	for j, name := range append([]string{d.Target}, d.Names...) {
		if !utf8.ValidString(name) {
			return &DataError{Row: -1, Reason: fmt.Sprintf("name %d, %q, is not UTF-8", j, name)}
		}
	}
	return nil
}

// callable tells whether m, with an engine, can be asked for something.
func (m *Model) callable(ctx context.Context, e *linalg.Engine) error {
	if err := checkCall(ctx, e); err != nil {
		return err
	}
	return m.ready()
}

// ready tells whether m is a model: its caller may have made or changed it.
func (m *Model) ready() error {
	if m == nil || m.N() == 0 || m.D() == 0 {
		return &DataError{Row: -1, Reason: "the model is empty; models come from Fit, NewModel, Load or Read"}
	}
	d := m.D()
	if len(m.Names) != d || len(m.Scaling.XMean) != d || len(m.Scaling.XScale) != d {
		return &DataError{Row: -1, Reason: fmt.Sprintf("%d names, %d means and %d scales for %d inputs", len(m.Names),
			len(m.Scaling.XMean), len(m.Scaling.XScale), d)}
	}
	if err := m.Parameters.Check(d); err != nil {
		return err
	}
	if !reflect.DeepEqual(m.Parameters, m.post.Params()) {
		return &DataError{Row: -1,
			Reason: "the parameters are no longer those of the weights; NewModel makes a model at others"}
	}
	return nil
}
