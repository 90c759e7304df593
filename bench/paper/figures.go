package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours that survive print and colour blindness (Okabe and Ito 2008); dashes
// and signs tell apart what colours do not.
var (
	black     = color.NRGBA{0x00, 0x00, 0x00, 0xff}
	orange    = color.NRGBA{0xe6, 0x9f, 0x00, 0xff}
	sky       = color.NRGBA{0x56, 0xb4, 0xe9, 0xff}
	green     = color.NRGBA{0x00, 0x9e, 0x73, 0xff}
	blue      = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	vermilion = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	purple    = color.NRGBA{0xcc, 0x79, 0xa7, 0xff}
)

// A style is how a method, or a line of a study, is drawn.
type style struct {
	title  string
	color  color.NRGBA
	dashes []vg.Length
	glyph  draw.GlyphDrawer // nil: none
	width  vg.Length
}

var (
	dash   = []vg.Length{vg.Points(6), vg.Points(3)}
	dotted = []vg.Length{vg.Points(2), vg.Points(2)}
)

// styleOf returns the style of a method whose title is given.
func styleOf(name, title string) style {
	s := style{title: title, width: vg.Points(1.3), color: black, glyph: draw.CrossGlyph{}}
	switch {
	case strings.HasPrefix(name, "bbgp"):
		s.color, s.width, s.glyph = blue, vg.Points(2), draw.CircleGlyph{}
	case name == "iterative":
		s.color, s.glyph = sky, draw.PlusGlyph{}
	case strings.HasPrefix(name, "cglb"):
		s.color, s.glyph = green, draw.SquareGlyph{}
	case strings.HasPrefix(name, "sgpr"):
		s.color, s.glyph = purple, draw.TriangleGlyph{}
	case strings.HasPrefix(name, "adam"):
		s.color, s.glyph = vermilion, draw.RingGlyph{}
	}
	switch {
	case strings.HasSuffix(name, longer):
		s.dashes = dotted
	case strings.HasSuffix(name, "-4000"), name == "exact", name == "adam-e1-s1", strings.HasSuffix(name, fromOnes):
		s.dashes = dash
	}
	if name == "adam-e1-s1" {
		s.color = orange
	}
	return s
}

// A panel is a plot with the range of what is drawn in it. Its x axis, and its y
// axis if logY is set, is that of log10: gonum's own logarithmic axes reserve the
// room for their labels in the wrong place.
type panel struct {
	p          *plot.Plot
	logY       bool
	lowX, topX float64
	lowY, topY float64
	seen       plotter.XYs // what is drawn
	keys       []style     // of the legend
}

func newPanel(title, x, y string, logY bool) *panel {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.BackgroundColor = color.White
	for _, f := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font} {
		f.Variant = "Sans"
	}
	p.Title.TextStyle.Font.Size, p.Title.Padding = vg.Points(11), vg.Points(4)
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Marker, p.Y.Tick.Marker = logTicks{}, evenTicks{}
	if logY {
		p.Y.Tick.Marker = logTicks{}
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color = color.NRGBA{0, 0, 0, 0x20}
	grid.Vertical.Color = color.NRGBA{0, 0, 0, 0x20}
	p.Add(grid)
	inf := math.Inf(1)
	return &panel{p: p, logY: logY, lowX: inf, topX: -inf, lowY: inf, topY: -inf}
}

// point is (x, y) on the axes.
func (n *panel) point(x, y float64) plotter.XY {
	if n.logY {
		y = math.Log10(y)
	}
	return plotter.XY{X: math.Log10(x), Y: y}
}

// see widens the range of the panel.
func (n *panel) see(p plotter.XY) {
	n.lowX, n.topX, n.lowY, n.topY = min(n.lowX, p.X), max(n.topX, p.X), min(n.lowY, p.Y), max(n.topY, p.Y)
	n.seen = append(n.seen, p)
}

// band draws a band and its median. Values beyond top are cut there; the range
// of the panel does not grow by what is cut.
func (n *panel) band(b band, s style, top float64) error {
	if len(b.x) == 0 {
		return nil
	}
	cut := func(y float64) float64 { return min(y, top) }
	var mid, ring plotter.XYs
	wide := false
	for i, x := range b.x {
		mid = append(mid, n.point(x, cut(b.mid[i])))
		ring = append(ring, n.point(x, cut(b.high[i])))
		wide = wide || b.high[i] > b.low[i]
	}
	for i := len(b.x) - 1; i >= 0; i-- {
		ring = append(ring, n.point(b.x[i], cut(b.low[i])))
	}
	for _, p := range ring {
		n.see(p)
	}
	if wide {
		area, err := plotter.NewPolygon(ring)
		if err != nil {
			return err
		}
		c := s.color
		c.A = 0x38
		area.Color, area.LineStyle.Width = c, 0
		n.p.Add(area)
	}
	return n.stroke(mid, s)
}

// line draws a line with signs at its points.
func (n *panel) line(pts plotter.XYs, s style) error {
	on := make(plotter.XYs, len(pts))
	for i, p := range pts {
		on[i] = n.point(p.X, p.Y)
	}
	if err := n.stroke(on, s); err != nil {
		return err
	}
	return n.signs(pts, s)
}

func (n *panel) stroke(pts plotter.XYs, s style) error {
	l, err := plotter.NewLine(pts)
	if err != nil {
		return err
	}
	l.Color, l.Width, l.Dashes = s.color, s.width, s.dashes
	n.p.Add(l)
	for i := 1; i < len(pts); i++ { // between the points, too, a line is in a legend's way
		for t := 0.0; t < 1; t += 0.25 {
			n.seen = append(n.seen, plotter.XY{X: pts[i-1].X + t*(pts[i].X-pts[i-1].X),
				Y: pts[i-1].Y + t*(pts[i].Y-pts[i-1].Y)})
		}
	}
	return nil
}

func (n *panel) signs(pts plotter.XYs, s style) error {
	if len(pts) == 0 {
		return nil
	}
	on := make(plotter.XYs, len(pts))
	for i, p := range pts {
		on[i] = n.point(p.X, p.Y)
		n.see(on[i])
	}
	g, err := plotter.NewScatter(on)
	if err != nil {
		return err
	}
	g.Color, g.Shape, g.Radius = s.color, s.glyph, vg.Points(2.6)
	n.p.Add(g)
	return nil
}

// settle sets the axes and puts the legend where the least is drawn.
func (n *panel) settle() (*plot.Plot, error) {
	p := n.p
	if !(n.lowX <= n.topX) {
		n.lowX, n.topX, n.lowY, n.topY = 0, 1, 0, 1
	}
	padX, padY := max(0.02*(n.topX-n.lowX), 1e-3), max(0.04*(n.topY-n.lowY), 1e-3)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = n.lowX-padX, n.topX+padX, n.lowY-padY, n.topY+padY
	if len(n.keys) == 0 {
		return p, nil
	}
	least := math.MaxInt
	for _, c := range []struct{ top, left bool }{{true, false}, {false, false}, {true, true}, {false, true}} {
		if k := n.covered(c.top, c.left); k < least {
			least, p.Legend.Top, p.Legend.Left = k, c.top, c.left
		}
	}
	if least > 0 { // room of its own
		share := min(0.052*float64(len(n.keys)), 0.6) // of the height
		room := share / (1 - share) * (p.Y.Max - p.Y.Min)
		if p.Legend.Top {
			p.Y.Max += room
		} else {
			p.Y.Min -= room
		}
	}
	l := &p.Legend
	l.TextStyle.Font.Variant, l.TextStyle.Font.Size = "Sans", vg.Points(7.5)
	l.ThumbnailWidth, l.Padding = vg.Points(22), vg.Points(1.5)
	for _, s := range n.keys {
		line := &plotter.Line{LineStyle: draw.LineStyle{Color: s.color, Width: s.width, Dashes: s.dashes}}
		if s.glyph == nil {
			l.Add(s.title, line)
			continue
		}
		sign, err := plotter.NewScatter(plotter.XYs{{X: 0, Y: 0}})
		if err != nil {
			return nil, err
		}
		sign.GlyphStyle = draw.GlyphStyle{Color: s.color, Shape: s.glyph, Radius: vg.Points(2.2)}
		l.Add(s.title, line, sign)
	}
	return p, nil
}

// covered counts the points that a legend in a corner would hide.
func (n *panel) covered(top, left bool) (k int) {
	wide, high := 0.5*(n.topX-n.lowX), 0.055*float64(len(n.keys)+1)*(n.topY-n.lowY)
	for _, p := range n.seen {
		x, y := n.topX-p.X, p.Y-n.lowY
		if left {
			x = p.X - n.lowX
		}
		if top {
			y = n.topY - p.Y
		}
		if x < wide && y < high {
			k++
		}
	}
	return k
}

const (
	panelWidth, panelHeight = 10.5 * vg.Centimeter, 7.5 * vg.Centimeter
	dotsPerInch             = 100
)

// saveFigure writes panels in rows, as PNG and SVG.
func saveFigure(base string, panels [][]*panel) error {
	rows, cols := len(panels), len(panels[0])
	width, height := vg.Length(cols)*panelWidth, vg.Length(rows)*panelHeight
	raster := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dotsPerInch))}
	vector := vgsvg.New(width, height)
	plots := make([][]*plot.Plot, rows)
	for i, row := range panels {
		for _, n := range row {
			p, err := n.settle()
			if err != nil {
				return err
			}
			plots[i] = append(plots[i], p)
		}
	}
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		return err
	}
	for _, c := range []struct {
		ext string
		vg.CanvasWriterTo
	}{{"png", raster}, {"svg", vector}} {
		all := draw.New(c)
		all.FillPolygon(color.White, []vg.Point{all.Min, {X: all.Max.X, Y: all.Min.Y}, all.Max,
			{X: all.Min.X, Y: all.Max.Y}})
		inside := draw.Crop(all, vg.Points(4), -vg.Points(8), vg.Points(4), -vg.Points(4))
		tiles := draw.Tiles{Rows: rows, Cols: cols, PadX: vg.Points(12), PadY: vg.Points(10)}
		for i, row := range plots {
			for j, p := range row {
				p.Draw(tiles.At(inside, j, i))
			}
		}
		if err := saveTo(base+"."+c.ext, c); err != nil {
			return err
		}
	}
	return nil
}

func saveTo(path string, c io.WriterTo) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err = c.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// logTicks are those of an axis of log10: powers of ten, with 2 and 5 times them
// where there are few, and round values where there is one or none.
type logTicks struct{}

func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	low, high := math.Pow(10, lo), math.Pow(10, hi)
	var t []plot.Tick
	if hi-lo < 0.7 {
		for _, tick := range (evenTicks{}).Ticks(low, high) {
			tick.Value = math.Log10(tick.Value)
			t = append(t, tick)
		}
		return t
	}
	for e := math.Floor(lo); e <= hi; e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, e)
			if v < low || v > high {
				continue
			}
			tick := plot.Tick{Value: math.Log10(v)}
			if m == 1 || hi-lo < 2.5 && (m == 2 || m == 5) {
				tick.Label = fmt.Sprintf("%.10g", v)
			}
			t = append(t, tick)
		}
	}
	return t
}

// evenTicks are multiples of 1, 2 or 5 times a power of ten, 4 to 9 of them.
type evenTicks struct{}

func (evenTicks) Ticks(lo, hi float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/4)))
	for _, m := range []float64{5, 2} {
		if (hi-lo)/(m*step) >= 4 {
			step *= m
			break
		}
	}
	var t []plot.Tick
	for k := math.Ceil(lo / step); k*step <= hi && len(t) < 20; k++ {
		v := k * step
		t = append(t, plot.Tick{Value: v, Label: fmt.Sprintf("%.6g", math.Round(v*1e9)/1e9+0)})
	}
	return t
}

// order is that of the methods in tables and legends.
var order = []string{"bbgp", "bbgp+ones", "adam-e1-s10", "adam-e1-s1", "cglb-1000", "cglb-1000+long",
	"cglb-1000+prefit", "cglb-4000",
	"sgpr-1000", "sgpr-1000+prefit", "sgpr-4000", "iterative", "exact", "exact+long"}

// byMethod groups runs in order; methods of the bias study alone are left out.
func byMethod(runs []*record) (names []string, groups map[string][]*record) {
	groups = map[string][]*record{}
	for _, r := range runs {
		groups[r.Head.Method] = append(groups[r.Head.Method], r)
	}
	for name := range groups {
		if slices.Contains(order, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return names, groups
}
