package plots

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"bbgp.dev/internal/outfile"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours that can be told apart in print and by colour-blind readers
// (Okabe and Ito 2008).
var (
	blue   = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	orange = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	grey   = color.NRGBA{0x70, 0x70, 0x70, 0xff}
	band   = color.NRGBA{0x56, 0xb4, 0xe9, 0x90}
)

// A TracePoint is one accepted step of a training.
type TracePoint struct {
	Seconds, LML, Lower, Upper, StdErr float64
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(6)
	p.BackgroundColor = color.White
	for _, s := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font} {
		s.Variant = "Sans"
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{across: true}, ticks{}
	p.Legend.ThumbnailWidth = vg.Points(18)
	p.Legend.Padding = vg.Points(3)
	// On the left the text runs away from its sign: a browser's font may be wider.
	p.Legend.Left, p.Legend.XOffs, p.Legend.YOffs = true, vg.Points(8), vg.Points(8)
	grid := plotter.NewGrid()
	grid.Horizontal.Color = color.NRGBA{0, 0, 0, 0x20}
	grid.Vertical.Color = color.NRGBA{0, 0, 0, 0x20}
	p.Add(grid)
	return p
}

// ticks are at multiples of 1, 2 or 5 times a power of ten, 4 to 9 of them. Across a
// picture, long numbers stand at every second one.
type ticks struct{ across bool }

const mostLetters = 30 // of the numbers across a picture

func (m ticks) Ticks(lo, hi float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/4)))
	for _, f := range []float64{5, 2} {
		if (hi-lo)/(f*step) >= 4 {
			step *= f
			break
		}
	}
	var t []plot.Tick
	letters := 0
	for k := math.Ceil(lo / step); k*step <= hi && len(t) < 20; k++ {
		v := k*step + 0 // -0 + 0 is 0
		t = append(t, plot.Tick{Value: v, Label: fmt.Sprintf("%.10g", math.Round(v/step*1e6)/1e6*step+0)})
		letters += len(t[len(t)-1].Label)
	}
	for i := range t {
		if m.across && letters > mostLetters && i%2 == 1 {
			t[i].Label = ""
		}
	}
	return t
}

func legendOnTop(p *plot.Plot) { p.Legend.Top, p.Legend.YOffs = true, vg.Points(-4) }

// Trace draws the log marginal likelihood against time, with the interval that
// its bounds leave and the standard error over the probes. Steps that share
// their probes share the error of those, so that their differences are closer
// than the bars.
func Trace(points []TracePoint) (*plot.Plot, error) {
	if len(points) == 0 {
		return nil, fmt.Errorf("plots: Trace: no points")
	}
	p := newPlot("Training", "seconds", "log marginal likelihood")
	line := make(plotter.XYs, len(points))
	var ring plotter.XYs
	for i, t := range points {
		line[i] = plotter.XY{X: t.Seconds, Y: t.LML}
		ring = append(ring, plotter.XY{X: t.Seconds, Y: t.Upper})
	}
	for i := len(points) - 1; i >= 0; i-- {
		ring = append(ring, plotter.XY{X: points[i].Seconds, Y: points[i].Lower})
	}
	area, err := plotter.NewPolygon(ring)
	if err != nil {
		return nil, err
	}
	area.Color, area.LineStyle.Width = band, 0
	l, s, err := plotter.NewLinePoints(line)
	if err != nil {
		return nil, err
	}
	l.Color, l.Width, s.Color, s.Shape, s.Radius = blue, vg.Points(1.2), blue, draw.CircleGlyph{}, vg.Points(1.8)
	p.Add(area)
	for i, t := range points {
		if t.StdErr == 0 {
			continue
		}
		bar, err := plotter.NewLine(plotter.XYs{{X: t.Seconds, Y: t.LML - t.StdErr},
			{X: t.Seconds, Y: t.LML + t.StdErr}})
		if err != nil {
			return nil, err
		}
		bar.Color, bar.Width = grey, vg.Points(0.6)
		p.Add(bar)
		if i == 0 {
			p.Legend.Add("± standard error", bar)
		}
	}
	p.Add(l, s)
	p.Legend.Add("estimate", l, s)
	p.Legend.Add("bounds of its bias", area)
	p.Legend.Left, p.Legend.XOffs = true, vg.Points(8)
	p.Y.Min, p.Y.Max = usefulRange(points)
	p.Y.Min -= legendShare * (p.Y.Max - p.Y.Min) // the legend stands there
	first, last := points[0].Seconds, points[len(points)-1].Seconds
	p.X.Min, p.X.Max = first-0.03*(last-first), last+max(0.03*(last-first), 1e-3)
	return p, nil
}

const (
	legendShare = 0.4
	leastSpan   = 0.1 // nats: less is nothing that a picture should blow up
)

// usefulRange leaves out the first steps where they are far below the rest, so
// that the end of the training can be seen.
func usefulRange(points []TracePoint) (lo, hi float64) {
	hi = math.Inf(-1)
	for _, t := range points {
		hi = max(hi, t.LML+t.StdErr, t.Upper)
	}
	last := points[len(points)/2:]
	lo = hi
	for _, t := range last {
		lo = min(lo, t.LML-t.StdErr, t.Lower)
	}
	first := points[0].LML
	if span := hi - lo; first < lo && hi-first < 20*span {
		lo = min(first, lo)
	}
	pad := max(0.05*(hi-lo), (leastSpan-(hi-lo))/2)
	return lo - pad, hi + pad
}

// Predicted draws observed against predicted values, with the 95 % intervals
// of at most 200 of them.
func Predicted(title, name string, observed, mean, sd []float64) (*plot.Plot, error) {
	if len(observed) == 0 {
		return nil, fmt.Errorf("plots: Predicted: no points")
	}
	p := newPlot(title, "predicted "+name, "observed "+name)
	pts := make(plotter.XYs, len(mean))
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range pts {
		pts[i] = plotter.XY{X: mean[i], Y: observed[i]}
		lo, hi = min(lo, mean[i], observed[i]), max(hi, mean[i], observed[i])
	}
	const most = 200
	step := (len(mean) + most - 1) / most
	for i := 0; sd != nil && i < len(mean); i += step {
		bar, err := plotter.NewLine(plotter.XYs{{X: mean[i], Y: mean[i] - 1.96*sd[i]},
			{X: mean[i], Y: mean[i] + 1.96*sd[i]}})
		if err != nil {
			return nil, err
		}
		bar.Color, bar.Width = band, vg.Points(1)
		p.Add(bar)
		if i == 0 {
			p.Legend.Add("95 % interval", bar)
		}
	}
	diagonal, err := plotter.NewLine(plotter.XYs{{X: lo, Y: lo}, {X: hi, Y: hi}})
	if err != nil {
		return nil, err
	}
	diagonal.Color, diagonal.Dashes = orange, []vg.Length{vg.Points(4), vg.Points(3)}
	s, err := plotter.NewScatter(pts)
	if err != nil {
		return nil, err
	}
	s.Color, s.Shape, s.Radius = blue, draw.CircleGlyph{}, vg.Points(1.4)
	p.Add(s, diagonal)
	legendOnTop(p)
	pad := 0.03 * max(hi-lo, 1e-9)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lo-pad, hi+pad, min(p.Y.Min, lo-pad), max(p.Y.Max, hi+pad)
	return p, nil
}

// Save writes p as base.png and base.svg and returns their paths.
func Save(p *plot.Plot, base string) ([]string, error) {
	const width, height = 16 * vg.Centimeter, 11 * vg.Centimeter
	raster := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(150))}
	vector := vgsvg.New(width, height)
	var paths []string
	for _, c := range []struct {
		ext string
		vg.CanvasWriterTo
	}{{"png", raster}, {"svg", vector}} {
		canvas := draw.New(c)
		p.Draw(draw.Crop(canvas, vg.Points(4), vg.Points(-10), vg.Points(4), vg.Points(-4)))
		path := base + "." + c.ext
		err := outfile.Write(path, func(w io.Writer) error {
			_, err := c.WriteTo(w)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("picture: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}
