package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed results.md.tmpl
var pageText string

// A chapter is what was run at one number of training rows.
type chapter struct {
	Name     string // of the folder
	Title    string
	Args     string // that choose its rows
	Sections []section
	Arrivals string // table
	Verdict  string // on CPU time to a given likelihood
	Over     string // overestimates of the objective
	What     string // table of what was run
	Absent   string // methods that were not
	Bias     bool
	all      []*record
}

// A section is one set of data in a chapter.
type section struct{ Set, Figure, Table string }

// A page is all that RESULTS.md is made from.
type page struct {
	Machines, Commits string
	Chapters          []chapter
	Studies           studyTables
	Bias              string
	BiasRows          int
	StudyRows         int
	Dir               string
	PaperRank         int
}

// writePage draws the figures and writes RESULTS.md from the results that are there.
func (s *settings) writePage() error {
	t, err := template.New("results").Parse(pageText)
	if err != nil {
		return err
	}
	p := &page{Dir: s.dir, StudyRows: s.studyRows, PaperRank: paperRank}
	dirs, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil {
		return err
	}
	slices.SortFunc(dirs, func(a, b string) int { return rowsOf(b) - rowsOf(a) })
	seen := map[string]bool{}
	for _, dir := range dirs {
		runs, err := loadRuns(dir)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			continue
		}
		for _, r := range runs {
			seen[fmt.Sprintf("%s, threads: %d, %s", r.Head.Machine, r.Head.Threads, r.Head.ISA)] = true
		}
		if err := s.biasPart(p, runs); err != nil {
			return err
		}
		c, err := s.newChapter(dir, runs)
		if err != nil {
			return err
		}
		if len(c.Sections) > 0 {
			p.Chapters = append(p.Chapters, *c)
		}
	}
	p.Machines, p.Commits = strings.Join(sorted(seen), "; "), commitsOf(p.Chapters)
	if p.Studies, err = s.newStudyTables(); err != nil {
		return err
	}
	if err := s.studyFigure(s.figure("studies")); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, p); err != nil {
		return err
	}
	return writeFile(filepath.Join(s.page, "RESULTS.md"), out.Bytes())
}

// figure is the path of a figure without its ending.
func (s *settings) figure(name string) string { return filepath.Join(s.page, "results", name) }

// rowsOf orders folders: all rows first.
func rowsOf(dir string) int {
	n := math.MaxInt
	if _, err := fmt.Sscanf(filepath.Base(dir), "n%d", &n); err != nil {
		return math.MaxInt
	}
	return n
}

func sorted(set map[string]bool) []string {
	var v []string
	for k := range set {
		v = append(v, k)
	}
	slices.Sort(v)
	return v
}

func commitsOf(chapters []chapter) string {
	seen := map[string]bool{}
	for _, c := range chapters {
		for _, r := range c.all {
			if r.Head.Commit != "" {
				seen[r.Head.Commit] = true
			}
		}
	}
	return strings.Join(sorted(seen), ", ")
}

// newChapter makes the figures and tables of a folder.
func (s *settings) newChapter(dir string, runs []*record) (*chapter, error) {
	c := &chapter{Name: filepath.Base(dir), all: runs, Title: "All training rows"}
	if n := rowsOf(dir); n != math.MaxInt {
		c.Title, c.Args = fmt.Sprintf("The first %d training rows", n), fmt.Sprintf("-n %d ", n)
	}
	found, err := loadArrivals(dir)
	if err != nil {
		return nil, err
	}
	for _, set := range setNames {
		var of []*record
		for _, r := range runs {
			if r.Head.Set == set && slices.Contains(order, r.Head.Method) {
				of = append(of, r)
			}
		}
		names, _ := byMethod(of)
		if !slices.Contains(names, "bbgp") {
			continue // runs of the bias study alone
		}
		name := c.Name + "-" + set
		if err := setFigure(s.figure(name), set, of); err != nil {
			return nil, err
		}
		c.Sections = append(c.Sections, section{Set: set, Figure: "results/" + name, Table: methodTable(of)})
	}
	c.What, c.Over = whatTable(runs), overTable(runs)
	if c.Absent, err = absent(runs, runs[0].Head.N); err != nil {
		return nil, err
	}
	titles := map[string]string{}
	for _, r := range runs {
		titles[r.Head.Method] = r.Head.Title
	}
	c.Arrivals, c.Verdict = arrivalTable(found, titles), verdict(found, titles)
	return c, nil
}

// biasPart adds the study of eps and probes if its runs are in the folder; that
// with the most rows counts.
func (s *settings) biasPart(p *page, runs []*record) error {
	var of []*record
	kinds := map[string]bool{}
	for _, r := range runs {
		if r.Head.Set == biasSet && slices.Contains(biasMethods(), r.Head.Method) {
			of, kinds[r.Head.Method] = append(of, r), true
		}
	}
	if p.Bias != "" || len(kinds) < len(biasMethods()) {
		return nil
	}
	p.Bias, p.BiasRows = biasTable(of), of[0].Head.N
	return biasFigure(s.figure("bias"), of)
}

// check is what CI asks of the quick run.
func (s *settings) check() error {
	runs, err := loadRuns(filepath.Join(s.dir, (&job{n: s.n}).size()))
	if err != nil {
		return err
	}
	bad := 0
	say := func(ok bool, format string, args ...any) {
		word := "ok  "
		if !ok {
			word = "FAIL"
			bad++
		}
		fmt.Fprintf(os.Stdout, word+" "+format+"\n", args...)
	}
	at := map[string]*record{}
	for _, r := range runs {
		if r.Head.Split == s.splits[0] {
			at[r.Head.Set+" "+r.Head.Method] = r
		}
	}
	end := func(set, method string) float64 {
		r := at[set+" "+method]
		if r == nil || r.last() == nil {
			return math.NaN()
		}
		return r.last().LML
	}
	for _, set := range s.sets {
		ours := end(set, "bbgp")
		for _, other := range []string{"cglb-1000", "sgpr-1000"} {
			// Training ends where a stage gains less than eps: that is its resolution.
			theirs := end(set, other)
			say(ours >= theirs-trainingEps, "%s: exact LML of bbgp %.1f, of %s %.1f", set, ours, other, theirs)
		}
	}
	over := func(method string) float64 {
		r := at["pol "+method]
		if r == nil {
			return math.NaN()
		}
		return overestimate(r)
	}
	ours, theirs := over("bbgp"), over("iterative")
	say(theirs > ours, "pol: objective less exact LML, iterative %.1f, bbgp %.1f nats", theirs, ours)
	if bad > 0 {
		return fmt.Errorf("%d checks failed", bad)
	}
	return nil
}

// trainingEps is the gain below which a stage of training ends, in nats.
const trainingEps = 1

// overestimate is the objective less the exact likelihood at the end of a run: the mean
// over what was measured in its second half, where single values are noisy.
func overestimate(r *record) float64 {
	at := r.way()
	var v []float64
	for _, i := range at[len(at)/2:] {
		if w := &r.Rows[i]; !math.IsNaN(w.LML) && !math.IsNaN(w.Objective) {
			v = append(v, w.Objective-w.LML)
		}
	}
	if len(v) == 0 {
		return math.NaN()
	}
	return mean(v)
}
