package bbgp

import (
	"encoding/binary"
	"math"

	"bbgp.dev/linalg"
)

// Training returns the training rows in the units of the data, up to rounding; rows
// that repeat each other are one row with their weighted mean as target. An empty model has none.
func (m *Model) Training() *Data {
	if m.ready() != nil {
		return &Data{}
	}
	s, n, d, t := &m.Scaling, m.N(), m.D(), m.post.Data()
	out := &Data{X: linalg.NewMatrix(n, d), Y: make([]float64, n), Names: m.Names, Target: m.Target}
	for i := range n {
		for j, v := range t.X.Row(i) {
			out.X.Set(i, j, s.XMean[j]+s.XScale[j]*v)
		}
		out.Y[i] = s.YMean + s.YScale*t.Y[i]
	}
	return out
}

// Trained returns, for each row of xs in the units of the data, the training row with
// the same inputs to the last bit, as LeaveOneOut counts them, or -1.
func (m *Model) Trained(xs linalg.Matrix) ([]int, error) {
	if err := m.checkInputs(xs); err != nil {
		return nil, err
	}
	key := func(row []float64) string {
		b := make([]byte, 0, 8*len(row))
		for _, v := range row {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v+0)) // -0 is 0
		}
		return string(b)
	}
	at := make(map[string]int, m.N())
	for i := range m.N() {
		at[key(m.post.Data().X.Row(i))] = i
	}
	std := m.standardised(xs)
	out := make([]int, xs.Rows)
	for i := range out {
		if r, ok := at[key(std.Row(i))]; ok {
			out[i] = r
		} else {
			out[i] = -1
		}
	}
	return out, nil
}
