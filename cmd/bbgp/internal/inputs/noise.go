package inputs

import (
	"fmt"
	"math"
	"slices"

	"bbgp.dev/cmd/bbgp/internal/table"
	"bbgp.dev/linalg"
)

// What a table to predict tells beside its inputs: of the noise of its rows, and of
// texts that training had not seen.

// noiseColumns are those of a table; -1: it has none, or the model knows none.
type noiseColumns struct {
	plan          *Plan
	weight, extra int
}

func (p *Plan) noiseColumns(names []string) noiseColumns {
	find := func(name string) int {
		if name == "" {
			return -1
		}
		return slices.Index(names, name)
	}
	return noiseColumns{p, find(p.Weight), find(p.NoiseOf)}
}

// notes says what is not known of the noise.
func (c noiseColumns) notes() []string {
	var notes []string
	if c.plan.NoiseOf != "" && c.extra < 0 {
		notes = append(notes, fmt.Sprintf("the noise variances of the training rows were known (column %s) and "+
			"those of these rows are not: sd_obs, intervals and scores are for the noise that the model adds "+
			"to them, alone", c.plan.NoiseOf))
	}
	if c.plan.Weight != "" && c.weight < 0 {
		notes = append(notes, fmt.Sprintf("the training rows had weights (column %s) and these rows have none: "+
			"sd_obs, intervals and scores are those of weight 1", c.plan.Weight))
	}
	return notes
}

// readNoise notes what the cells of a row tell of its noise.
func (s *Stream) readNoise(cells [][]byte) error {
	if !s.WantNoise {
		return nil
	}
	number := func(j int, name, what string, least float64) (float64, error) {
		v := s.r.Parse(cells[j], table.How{Decimal: s.r.MarkOf(j, "")})
		if v.Missing || v.Text || v.Inf || !(v.Num >= least) {
			return 0, s.fault(name, fmt.Sprintf("%s is no %s; mend it, or take the column out of the table",
				table.Quote(string(cells[j])), what))
		}
		return v.Num, nil
	}
	if j := s.noise.weight; j >= 0 {
		w, err := number(j, s.plan.Weight, "weight; weights are positive", math.SmallestNonzeroFloat64)
		if err != nil {
			return err
		}
		s.scale = append(s.scale, 1/w)
	}
	if j := s.noise.extra; j >= 0 {
		e, err := number(j, s.plan.NoiseOf, "variance; variances are at least 0", 0)
		if err != nil {
			return err
		}
		s.extra = append(s.extra, e)
	}
	return nil
}

// Noise returns 1/weight and the known noise variance of the rows of the last Next; nil
// where the table does not tell.
func (s *Stream) Noise() (scale, extra []float64) {
	if s.noise.weight >= 0 && s.WantNoise {
		scale = s.scale
	}
	if s.noise.extra >= 0 && s.WantNoise {
		extra = s.extra
	}
	return scale, extra
}

// learnLevels makes the inputs of text columns know the other texts of their column.
func (p *Plan) learnLevels() {
	told := map[string]bool{}
	for _, in := range p.Inputs {
		told[in.Column] = told[in.Column] || in.Kind == Missing
	}
	for j := range p.Inputs {
		p.Inputs[j].untold = p.Rule == "indicator" && !told[p.Inputs[j].Column]
	}
	for _, inputs := range p.LevelInputs() {
		known := map[string]bool{}
		for _, j := range inputs {
			known[p.Inputs[j].Level] = true
			p.Inputs[j].known = known
		}
	}
}

// LevelInputs returns, for each text column, the inputs that are its levels.
func (p *Plan) LevelInputs() map[string][]int {
	of := map[string][]int{}
	for j, in := range p.Inputs {
		if in.Kind == Level {
			of[in.Column] = append(of[in.Column], j)
		}
	}
	return of
}

// UnseenError refuses a row whose text in the column of an input training had not seen, or whose cell
// is missing where none was.
func (s *Stream) UnseenError(row, input int) error {
	in, what := &s.plan.Inputs[input], "training had not seen this text"
	if in.Kind != Level {
		what = "the cell is missing, and no row of the training had it missing"
	}
	return &table.Error{File: s.file, Row: row, Column: in.Column,
		Text: what + ": there is nothing to draw from; leave the row out, or fit with rows that have it"}
}

// WithMeans returns x with means in place of missing cells that no row of the training had, and
// the rows that have such; x itself if there are none.
func (p *Plan) WithMeans(x linalg.Matrix) (linalg.Matrix, []int) {
	var rows []int
	for i := range x.Rows {
		for j := range p.Inputs {
			if p.Inputs[j].Kind == Level || !math.IsNaN(x.At(i, j)) {
				continue
			}
			if rows == nil {
				x = x.Clone()
			}
			x.Set(i, j, p.Inputs[j].Fill)
			if len(rows) == 0 || rows[len(rows)-1] != i {
				rows = append(rows, i)
			}
		}
	}
	return x, rows
}

func unseenNote(in *Input, rows int) string {
	if in.Kind != Level {
		return fmt.Sprintf("column %s: %s with a missing cell, and no row of the training had one: predicted as at "+
			"the mean of the column, how far that is off is not known, sd and interval are empty", in.Column,
			table.Rows(rows))
	}
	if len(in.known) == 1 {
		return fmt.Sprintf("column %s: %s with a text that training had not seen, where it was the same in all "+
			"rows: what another does is not known, sd and interval are empty", in.Column, table.Rows(rows))
	}
	return fmt.Sprintf("column %s: %s with a text that training had not seen: predicted as the mean over the %d "+
		"known texts, with the spread between them", in.Column, table.Rows(rows), len(in.known))
}

// HeldNotes says what a user should know of rows that Held has made.
func (p *Plan) HeldNotes(s *Set) []string {
	var notes []string
	for _, in := range p.Inputs {
		if n := s.unseen[in.Column]; n > 0 {
			notes = append(notes, unseenNote(&in, n))
			delete(s.unseen, in.Column)
		}
	}
	return append(notes, s.noise.notes()...)
}

// countUnseen counts the rows of x with an unseen text, or a cell as WithMeans fills, by column.
func (p *Plan) countUnseen(x linalg.Matrix) map[string]int {
	n := map[string]int{}
	for j, in := range p.Inputs {
		if j > 0 && p.Inputs[j-1].Column == in.Column && p.Inputs[j-1].Kind == Level {
			continue
		}
		for i := range x.Rows {
			if math.IsNaN(x.At(i, j)) {
				n[in.Column]++
			}
		}
	}
	return n
}
