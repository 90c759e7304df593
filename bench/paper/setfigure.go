package main

import (
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// setFigure draws RMSE and objective of the runs of one set against evaluations and
// against CPU seconds. Signs are what was measured at points of the way of every split:
// errors, and exact likelihoods beside lines and bands that are those of the objective.
func setFigure(base, set string, runs []*record) error {
	names, groups := byMethod(runs)
	steps, seconds := "evaluations of the objective", "CPU seconds of training"
	panels := [][]*panel{
		{newPanel(set+": test error", steps, "RMSE, standardised", true),
			newPanel(set+": objective and exact LML", steps, "nats per row", false)},
		{newPanel("", seconds, "RMSE, standardised", true), newPanel("", seconds, "nats per row", false)},
	}
	top := ceiling(runs)
	for _, name := range names {
		if strings.HasSuffix(name, withPrefit) {
			continue // in the tables
		}
		group := groups[name]
		s := styleOf(name, group[0].Head.Title)
		panels[0][1].keys = append(panels[0][1].keys, s)
		for i, x := range []func(*row) float64{evaluationOf, cpuOf} {
			var errors, values []series
			var wrong, exact plotter.XYs
			for _, r := range group {
				values = append(values, r.curve(x, perRow(r.Head.N, func(w *row) float64 { return w.Objective })))
				rmse := r.curve(x, rmseOf)
				errors, wrong = append(errors, rmse), append(wrong, rmse.points()...)
				lml := r.curve(x, perRow(r.Head.N, func(w *row) float64 { return w.LML }))
				exact = append(exact, lml.points()...)
			}
			for k, d := range []struct {
				lines []series
				signs plotter.XYs
				top   float64
			}{{errors, wrong, math.Inf(1)}, {values, exact, top}} {
				if err := panels[i][k].band(bandOf(d.lines), s, d.top); err != nil {
					return err
				}
				if err := panels[i][k].signs(d.signs, s); err != nil {
					return err
				}
			}
		}
	}
	return saveFigure(base, panels)
}

// ceiling is a little above the best exact likelihood a row that was measured: an
// objective that overestimates more is cut there.
func ceiling(runs []*record) float64 {
	best, first := math.Inf(-1), math.Inf(1)
	for _, r := range runs {
		for i := range r.Rows {
			if v := r.Rows[i].LML / float64(r.Head.N); !math.IsNaN(v) {
				best, first = max(best, v), min(first, v)
			}
		}
	}
	if math.IsInf(best, 0) {
		return math.Inf(1)
	}
	return best + 0.15*(best-first)
}

// biasFigure draws passes per evaluation and test error along the training for every
// eps and number of probes.
func biasFigure(base string, runs []*record) error {
	panels := [][]*panel{{
		newPanel("bike: work", "evaluations of the objective", "passes per evaluation", true),
		newPanel("bike: test error", "evaluations of the objective", "RMSE, standardised", true),
		newPanel("", "CPU seconds of training", "RMSE, standardised", true),
	}}
	_, groups := byMethod(runs)
	for _, name := range biasMethods() {
		group := groups[name]
		if len(group) == 0 {
			continue
		}
		s := biasStyle(name)
		panels[0][0].keys = append(panels[0][0].keys, s)
		var work, byStep, bySecond []series
		for _, r := range group {
			work = append(work, r.passes())
			byStep, bySecond = append(byStep, r.curve(evaluationOf, rmseOf)), append(bySecond, r.curve(cpuOf, rmseOf))
		}
		inf := math.Inf(1)
		if err := panels[0][0].band(bandOf(work), s, inf); err != nil {
			return err
		}
		if err := panels[0][1].band(bandOf(byStep), s, inf); err != nil {
			return err
		}
		if err := panels[0][2].band(bandOf(bySecond), s, inf); err != nil {
			return err
		}
	}
	return saveFigure(base, panels)
}

func biasStyle(name string) style {
	var eps, s int
	if _, err := fmt.Sscanf(name, "adam-e%d-s%d", &eps, &s); err != nil {
		panic(err) // one of biasMethods
	}
	st := style{title: fmt.Sprintf("eps = %d, s = %d", eps, s), width: vg.Points(1.3), color: blue}
	switch eps {
	case 10:
		st.color = vermilion
	case 100:
		st.color = green
	}
	switch s {
	case 8:
		st.dashes = dash
	case 16:
		st.dashes = dotted
	}
	return st
}

// studyFigure draws our own studies.
func (s *settings) studyFigure(base string) error {
	find := func(name string) ([]cell, error) { return loadCells(filepath.Join(s.studyDir(), name+".csv")) }
	block, err := find("blocksize")
	if err != nil {
		return err
	}
	precision, err := find("precision")
	if err != nil {
		return err
	}
	precond, err := find("preconditioner")
	if err != nil {
		return err
	}
	panels := [][]*panel{
		{newPanel("block size", "columns of the block, probes and y", "passes", true),
			newPanel("float32 products", "noise", "nats off float64 (1e-6: none)", true)},
		{newPanel("preconditioner: work", "noise", "passes", true),
			newPanel("preconditioner: probes", "noise", "standard error, nats", true)},
	}
	add := func(n *panel, s style, pts plotter.XYs) error {
		if len(pts) == 0 {
			return nil
		}
		n.keys = append(n.keys, s)
		return n.line(pts, s)
	}
	for i, v := range someNoise {
		st := style{title: fmt.Sprintf("noise %g, rank %d", v, studyRank), color: []color.NRGBA{black, purple, sky}[i],
			glyph: draw.CircleGlyph{}, width: vg.Points(1.3)}
		pts := pick(block, func(c *cell) bool { return c.Noise == v },
			func(c *cell) (x, y float64) { return float64(c.Probes + 1), float64(c.Passes) })
		if err := add(panels[0][0], st, pts); err != nil {
			return err
		}
	}
	f64 := map[float64]float64{}
	for _, c := range precision {
		if c.Precision == "f64" {
			f64[c.Noise] = c.LML
		}
	}
	for i, name := range []string{"f32", "auto"} {
		st := style{title: []string{"float32", "as the program chooses"}[i], color: []color.NRGBA{vermilion, blue}[i],
			glyph: draw.SquareGlyph{}, width: vg.Points(1.3), dashes: [][]vg.Length{nil, dash}[i]}
		pts := pick(precision, func(c *cell) bool { return c.Precision == name },
			func(c *cell) (x, y float64) { return c.Noise, max(math.Abs(c.LML-f64[c.Noise]), 1e-6) })
		if err := add(panels[0][1], st, pts); err != nil {
			return err
		}
	}
	return s.precondPanels(base, panels, precond)
}

// precondPanels completes the figure of the studies.
func (s *settings) precondPanels(base string, panels [][]*panel, cells []cell) error {
	for _, k := range []struct {
		rank, near int
		title      string
		color      color.NRGBA
		dashes     []vg.Length
		glyph      draw.GlyphDrawer
	}{
		{100, 0, "rank 100", green, dotted, draw.TriangleGlyph{}},
		{300, 0, "rank 300", green, dash, draw.TriangleGlyph{}},
		{1000, 0, "rank 1000", green, nil, draw.TriangleGlyph{}},
		{0, 16, "16 neighbours", orange, dotted, draw.RingGlyph{}},
		{0, 64, "64 neighbours", orange, dash, draw.RingGlyph{}},
		{0, 128, "128 neighbours", orange, nil, draw.RingGlyph{}},
		{192, 32, "rank 192, 32 neighbours", purple, nil, draw.SquareGlyph{}},
		{-1, -1, "as the program chooses", blue, nil, draw.CircleGlyph{}},
	} {
		st := style{title: k.title, color: k.color, dashes: k.dashes, glyph: k.glyph, width: vg.Points(1.3)}
		is := func(c *cell) bool { return c.Rank == k.rank && c.Neighbours == k.near && c.Failure == "" }
		for i, y := range []func(*cell) float64{func(c *cell) float64 { return float64(c.Passes) },
			func(c *cell) float64 { return c.StdErr }} {
			pts := pick(cells, is, func(c *cell) (float64, float64) { return c.Noise, y(c) })
			if len(pts) == 0 {
				continue
			}
			if i == 0 {
				panels[1][i].keys = append(panels[1][i].keys, st)
			}
			if err := panels[1][i].line(pts, st); err != nil {
				return err
			}
		}
	}
	return saveFigure(base, panels)
}

// pick takes points of the cells that are wanted and have a value.
func pick(cells []cell, want func(*cell) bool, xy func(*cell) (x, y float64)) plotter.XYs {
	var pts plotter.XYs
	for i := range cells {
		if c := &cells[i]; want(c) {
			if x, y := xy(c); !math.IsNaN(y) && y > 0 {
				pts = append(pts, plotter.XY{X: x, Y: y})
			}
		}
	}
	return pts
}
