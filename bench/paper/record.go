package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"bbgp.dev/bbgp"
)

// A row is one evaluation on all training rows. NaN is an empty cell.
type row struct {
	Evaluation int     `csv:"evaluation"` // number on all rows, this one included
	Phase      string  `csv:"phase"`      // train or final
	Accepted   bool    `csv:"accepted"`
	Objective  float64 `csv:"objective"` // nats; empty where a trial was ended by its bound
	Lower      float64 `csv:"lower"`     // bounds of the bias
	Upper      float64 `csv:"upper"`
	StdErr     float64 `csv:"stderr"` // over the probes
	Noise      float64 `csv:"noise"`
	Variance   float64 `csv:"variance"`
	Passes     int     `csv:"passes"` // so far
	CPU        float64 `csv:"cpu_s"`  // so far, pre-fit included
	Wall       float64 `csv:"wall_s"`
	LML        float64 `csv:"lml"` // measured at the parameters of this row
	LMLErr     float64 `csv:"lml_stderr"`
	RMSE       float64 `csv:"rmse"` // of the test part, standardised
	NLPD       float64 `csv:"nlpd"`
	Params     string  `csv:"parameters"` // JSON, 8 digits
}

// A record is a run: a head of remarks, and its rows.
type record struct {
	Head head
	Rows []row
}

// A head tells what was run, and how it ended.
type head struct {
	Set         string  `json:"set"`
	Split       int     `json:"split"`
	N           int     `json:"rows"`
	D           int     `json:"inputs"`
	Method      string  `json:"method"`
	Title       string  `json:"-"`          // of the method
	Rank        int     `json:"rank"`       // asked for; 0 chosen by the program
	StepCap     int     `json:"step_cap"`   // evaluations
	CPUCap      float64 `json:"cpu_cap_s"`  // 0: none
	Stopped     string  `json:"stopped"`    // why training ended
	Remark      string  `json:"remark"`     // warnings, errors
	CPU         float64 `json:"cpu_s"`      // of the whole fit, last evaluation and weights included
	Wall        float64 `json:"wall_s"`     // the same
	PeakBytes   int64   `json:"peak_bytes"` // of the process that trained
	Evaluations int     `json:"evaluations"`
	Passes      int     `json:"passes"`
	Threads     int     `json:"threads"`
	ISA         string  `json:"isa"`
	Machine     string  `json:"machine"`
	Commit      string  `json:"commit"`
	Date        string  `json:"date"`
	Command     string  `json:"command"`
	Measured    bool    `json:"measured"` // nothing is left to do
}

// writeFile writes b to path, whole or not at all.
func writeFile(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(b); err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// table writes rows, a slice of structs with csv tags, as CSV; of their fields,
// NaN is an empty cell.
func table(w *csv.Writer, rows any) error {
	v := reflect.ValueOf(rows)
	t := v.Type().Elem()
	cells := make([]string, t.NumField())
	for i := range cells {
		cells[i] = t.Field(i).Tag.Get("csv")
	}
	if err := w.Write(cells); err != nil {
		return err
	}
	for k := range v.Len() {
		for i := range cells {
			switch x := v.Index(k).Field(i).Interface().(type) {
			case float64:
				cells[i] = strconv.FormatFloat(x, 'g', 8, 64)
				if math.IsNaN(x) {
					cells[i] = ""
				}
			default:
				cells[i] = fmt.Sprint(x)
			}
		}
		if err := w.Write(cells); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// readTable appends the rows of a CSV file to *rows, a slice of structs.
func readTable(r *csv.Reader, rows any) error {
	all, err := r.ReadAll()
	if err != nil || len(all) == 0 {
		return err
	}
	v := reflect.ValueOf(rows).Elem()
	t := v.Type().Elem()
	if len(all[0]) != t.NumField() {
		return fmt.Errorf("%d columns, %d are expected", len(all[0]), t.NumField())
	}
	for _, cells := range all[1:] {
		item := reflect.New(t).Elem()
		for i, c := range cells {
			if err := setField(item.Field(i), c); err != nil {
				return err
			}
		}
		v.Set(reflect.Append(v, item))
	}
	return nil
}

func setField(f reflect.Value, c string) (err error) {
	switch f.Kind() {
	case reflect.String:
		f.SetString(c)
	case reflect.Bool:
		f.SetBool(c == "true")
	case reflect.Float64:
		v := math.NaN()
		if c != "" {
			v, err = strconv.ParseFloat(c, 64)
		}
		f.SetFloat(v)
	case reflect.Int:
		var v int64
		v, err = strconv.ParseInt(c, 10, 64)
		f.SetInt(v)
	default:
		err = fmt.Errorf("a column of kind %v", f.Kind())
	}
	return err
}

// encode returns the text of the record's file.
func (r *record) encode() ([]byte, error) {
	b, err := json.Marshal(r.Head)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s\n", b)
	err = table(csv.NewWriter(&out), r.Rows)
	return out.Bytes(), err
}

// save writes the record.
func (r *record) save(path string) error {
	b, err := r.encode()
	if err != nil {
		return err
	}
	return writeFile(path, b)
}

// load reads a record; it returns nil if there is none.
func load(path string) (*record, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	first, rest, _ := strings.Cut(string(b), "\n")
	r := new(record)
	if err := json.Unmarshal([]byte(strings.TrimPrefix(first, "# ")), &r.Head); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m, err := parseMethod(r.Head.Method, r.Head.N)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.Head.Title = m.title
	if err := readTable(csv.NewReader(strings.NewReader(rest)), &r.Rows); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// params returns the parameters of a row.
func (r *row) params() (p bbgp.Params, err error) {
	return p, json.Unmarshal([]byte(r.Params), &p)
}

// brief is p in JSON, its numbers rounded to 8 digits.
func brief(p bbgp.Params) string {
	p = p.Clone()
	p.Mean, p.Variance, p.Noise = round8(p.Mean), round8(p.Variance), round8(p.Noise)
	for j, l := range p.Lengthscales {
		p.Lengthscales[j] = round8(l)
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // numbers always have a JSON form
	}
	return string(b)
}

func round8(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 8, 64), 64)
	if err != nil {
		panic(err) // what FormatFloat wrote
	}
	return r
}

// way returns the numbers of the rows that have parameters: the way of the training.
func (r *record) way() []int {
	var at []int
	for i := range r.Rows {
		if r.Rows[i].Params != "" {
			at = append(at, i)
		}
	}
	return at
}

// last returns the last row of the way, nil if the run came to none.
func (r *record) last() *row {
	at := r.way()
	if len(at) == 0 {
		return nil
	}
	return &r.Rows[at[len(at)-1]]
}
