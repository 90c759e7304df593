package gp

import (
	"errors"
	"fmt"
)

// A ParamError says which parameter is out of range or missing. Key is its name
// in the JSON form, such as "noise" or "lengthscales[3]".
type ParamError struct {
	Key, Reason string
}

func (e *ParamError) Error() string { return fmt.Sprintf("parameter %q: %s", e.Key, e.Reason) }

// An OptionError says which option has a value that cannot be used. Option is
// the name of the field of Options, in lower case.
type OptionError struct {
	Option, Reason string
}

func (e *OptionError) Error() string { return fmt.Sprintf("option %s: %s", e.Option, e.Reason) }

// A MemoryError refuses a run that would not fit its budget, before it starts.
type MemoryError struct {
	What           string
	Needed, Budget int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s needs %d MiB, the memory budget is %d MiB", e.What, (e.Needed+1<<20-1)>>20, e.Budget>>20)
}

// ErrNotFinite is what an evaluation returns when the matrix or the value is
// not finite or not positive definite at the parameters asked for.
var ErrNotFinite = errors.New("the likelihood is not finite at these parameters")

// A FileError says why a file is not a model that this version can read.
type FileError struct {
	Path, Reason string
}

func (e *FileError) Error() string {
	if e.Path == "" {
		return "model file: " + e.Reason
	}
	return fmt.Sprintf("%s: %s", e.Path, e.Reason)
}
