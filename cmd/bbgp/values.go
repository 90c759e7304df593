package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"time"

	"bbgp.dev/bbgp"
	"bbgp.dev/cmd/bbgp/internal/table"
)

// A span is the value of --time: 90s, 10m, or a number, of seconds. It is 0, no end, where the flag is left out; a file
// of flags may say so, and checkEmpty refuses it on a command line, where 0 is what a script has left.
type span time.Duration

func (s *span) Set(text string) error {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(v, 'f', -1, 64) + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("a time is a number with a unit, such as 90s, 10m or 1h30m; a number alone counts seconds")
	}
	if d == 0 && text != noSpan && text != noSpan+"s" {
		return errNoTime
	}
	*s = span(d)
	return nil
}

const noSpan = "0"

var errNoTime = errors.New("this is no time; leave the flag out for no end")

func (s *span) Type() string { return "duration" }

func (s *span) String() string {
	if *s == 0 {
		return noSpan
	}
	return time.Duration(*s).String()
}

// mostSmall is the largest file of parameters or costs that is read.
const mostSmall = 64 << 20

// readSmall reads a file that is text of some kilobytes: not a device that never ends.
func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && err != io.EOF {
		return nil, err
	}
	head = head[:n]
	if bytes.IndexByte(head, 0) >= 0 {
		return nil, errors.New("holds zero bytes; it is no text file")
	}
	rest, err := io.ReadAll(io.LimitReader(f, mostSmall))
	if err == nil && len(rest) == mostSmall {
		err = errors.New("is larger than any file of its kind")
	}
	return append(head, rest...), err
}

// modelMagic is what a model file begins with.
const modelMagic = "bbgpmodl"

// beginsAsModel looks at the first bytes of a file; sure is false where that cannot be done,
// or would use them up, as in a pipe.
func beginsAsModel(path string) (is, sure bool) {
	st, err := os.Stat(path)
	if err != nil || st.IsDir() || st.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 {
		return false, false
	}
	f, err := os.Open(path)
	if err != nil {
		return false, false
	}
	defer f.Close()
	head := make([]byte, len(modelMagic))
	n, _ := io.ReadFull(f, head)
	return string(head[:n]) == modelMagic, true
}

// checkModel refuses what is no model before it is read whole.
func checkModel(path string) error {
	if is, sure := beginsAsModel(path); sure && !is {
		return &bbgp.FileError{Path: path, Reason: "this is not a bbgp model; if it is a table, bbgp check tells " +
			"what it holds"}
	}
	return nil
}

// checkOrder says so where a model and a table are swapped.
func checkOrder(command, model, data string) error {
	is, sure := beginsAsModel(model)
	other, _ := beginsAsModel(data)
	if sure && !is && other && data != table.Stdin {
		return usagef("the model comes before the table: bbgp %s %s %s", command, table.Arg(data), table.Arg(model))
	}
	return nil
}
