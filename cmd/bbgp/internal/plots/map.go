package plots

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Map is a function of two inputs on a grid, Z row by row from the least Y.
type Map struct {
	X, Y, Z        []float64
	XName, YName   string
	Title          string
	DataX, DataY   []float64 // where training rows are
	XDates, YDates bool
}

// barWidth is the room for the scale of colours beside a map.
const barWidth = 62

// MapSVG draws m as colours with their scale beside it, as an element for a page.
func MapSVG(m *Map) ([]byte, error) {
	cols, rows := len(m.X), len(m.Y)
	if cols < 2 || rows < 2 || len(m.Z) != cols*rows {
		return nil, fmt.Errorf("plots: MapSVG: a grid of %d x %d with %d values", cols, rows, len(m.Z))
	}
	colours, err := scaleOf(m.Z)
	if err != nil {
		return nil, err
	}
	p := newPlot(m.Title, m.XName, m.YName)
	dx, dy := (m.X[1]-m.X[0])/2, (m.Y[1]-m.Y[0])/2
	x0, y0, x1, y1 := m.X[0]-dx, m.Y[0]-dy, m.X[cols-1]+dx, m.Y[rows-1]+dy
	field, err := picture(m.Z, cols, colours, x0, y0, x1, y1)
	if err != nil {
		return nil, err
	}
	p.Add(field)
	if m.XDates {
		p.X.Tick.Marker = dateTicks{}
	}
	if m.YDates {
		p.Y.Tick.Marker = dateTicks{}
	}
	if err := addDots(p, m, x0, y0, x1, y1); err != nil {
		return nil, err
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x0, x1, y0, y1
	p.X.Padding, p.Y.Padding = 0, 0
	bar, err := colourBar(colours.Min(), colours.Max())
	if err != nil {
		return nil, err
	}
	return svg(func(dc draw.Canvas) {
		p.Draw(draw.Crop(dc, 0, -vg.Points(barWidth), 0, 0))
		width := dc.Max.X - dc.Min.X
		bar.Draw(draw.Crop(dc, width-vg.Points(barWidth-8), 0, vg.Points(30), -vg.Points(20)))
	}, p, bar)
}

// addDots adds the training rows that lie on the map.
func addDots(p *plot.Plot, m *Map, x0, y0, x1, y1 float64) error {
	var pts plotter.XYs
	for i, x := range m.DataX {
		if y := m.DataY[i]; x > x0 && x < x1 && y > y0 && y < y1 {
			pts = append(pts, plotter.XY{X: x, Y: y})
		}
	}
	if len(pts) == 0 {
		return nil
	}
	s, err := plotter.NewScatter(pts)
	if err != nil {
		return err
	}
	s.Color, s.Shape, s.Radius = dots, draw.CircleGlyph{}, vg.Points(0.8)
	p.Add(s)
	return nil
}

// colourBar draws the colours from lo to hi.
func colourBar(lo, hi float64) (*plot.Plot, error) {
	z := make([]float64, 128)
	for i := range z {
		z[i] = lo + (hi-lo)*float64(i)/float64(len(z)-1)
	}
	colours, err := scaleOf(z)
	if err != nil {
		return nil, err
	}
	im, err := picture(z, 1, colours, 0, lo, 1, hi)
	if err != nil {
		return nil, err
	}
	p := newPlot("", "", "")
	p.Add(im)
	p.HideX()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, lo, hi
	p.X.Padding, p.Y.Padding = 0, 0
	return p, nil
}
