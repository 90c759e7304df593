package train

import (
	"encoding/binary"
	"fmt"
	"math"

	"bbgp.dev/internal/gp"
)

// What cells tell. Where the inputs that tell have few values, counts or codes say, rows share them: they lie in cells.
// If the target hardly differs within cells, the noise is that little, however much a smooth function leaves over: each
// cell has a level of its own. Climbs from longer lengths take these levels for noise, and end hundreds of nats short.

const (
	cellRows  = 10  // rows beside the first of each cell that tell the noise at least
	cellNoise = 0.1 // times the noise is so little within cells that it is another model
)

// cellsApart returns c's place with little noise and lengthscales that keep the cells of its inputs apart, if within
// them the target differs by far less than the noise there; from is "" where cells tell nothing else.
func (f *Search) cellsApart(c *climber) (p gp.Params, from string) {
	p = c.p.Clone()
	tells := make([]bool, len(p.Lengthscales))
	for j := range tells {
		tells[j] = !f.Flat[j]
	}
	for _, j := range f.gone(p) {
		tells[j] = false
	}
	within, left := f.withinCells(tells)
	if left < cellRows || !(within < cellNoise*p.Noise) {
		return p, ""
	}
	p.Noise, p.Variance = math.Max(within, 2*gp.MinParam), varianceOf(f.Std.Y)
	for j, t := range tells {
		p.Lengthscales[j] = gp.FarLength
		if t {
			p.Lengthscales[j] = stepOf(f.Std, j)
		}
	}
	return p, fmt.Sprintf("cells apart, the target within them known to %.2g", math.Sqrt(within))
}

// withinCells returns the variance of the target of rows that have the same values of those inputs, and how many rows
// there are beside the first of each cell.
func (f *Search) withinCells(tells []bool) (variance float64, left int) {
	type cell struct {
		rows int
		mean float64
	}
	cells := make(map[string]cell)
	key := make([]byte, 0, 8*len(tells))
	for i, y := range f.Std.Y {
		key = key[:0]
		for j, t := range tells {
			if t {
				key = binary.LittleEndian.AppendUint64(key, math.Float64bits(f.Std.X.At(i, j)))
			}
		}
		c := cells[string(key)]
		c.rows++
		d := y - c.mean
		c.mean += d / float64(c.rows)
		variance += d * (y - c.mean)
		cells[string(key)] = c
	}
	left = len(f.Std.Y) - len(cells)
	return variance / math.Max(float64(left), 1), left
}
