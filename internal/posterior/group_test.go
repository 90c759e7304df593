package posterior

import (
	"context"
	"math"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// holeTable returns places of the plane with a hole in their middle, one of them twice, and the
// cells of a grid in the hole.
func holeTable() (d *gp.Table, cells linalg.Matrix) {
	d = gptest.RandomTable(900, 2, 5)
	for i := range d.X.Rows {
		row := d.X.Row(i)
		if r := math.Hypot(row[0], row[1]); r < 0.8 {
			row[0], row[1] = row[0]/r*(0.8+r/2), row[1]/r*(0.8+r/2)
		}
	}
	copy(d.X.Row(1), d.X.Row(0))
	d.NoiseExtra = nil
	const side = 18
	cells = linalg.NewMatrix(side*side, 2)
	for i := range cells.Rows {
		cells.Set(i, 0, 1.2*(float64(i%side)/side-0.5))
		cells.Set(i, 1, 1.2*(float64(i/side)/side-0.5))
	}
	return d, cells
}

// The cells of a hole are regressed on in groups: the bounds hold the variances of the dense
// solution, and are no wider than those of a factor for each cell.
func TestGroupsOfCells(t *testing.T) {
	ctx := context.Background()
	d, cells := holeTable()
	for _, noise := range []float64{1e-1, 1e-3, 1e-6} {
		p := gp.Params{Kernel: "matern12", Variance: 2, Noise: noise, Lengthscales: []float64{1, 1.5}}
		dense, iter := pair(t, d, p, PrecondSpec{Neighbours: 32})
		want, err := dense.Predict(ctx, gptest.Engine(t), cells, Options{SD: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := iter.Predict(ctx, gptest.Engine(t), cells, Options{SD: true, SDTol: 0.05}); err != nil {
			t.Fatal(err)
		}
		const nn = 256
		rows := make([]int, cells.Rows)
		for i := range rows {
			rows[i] = i
		}
		near, err := iter.op.Nearest(ctx, cells, nn)
		if err != nil {
			t.Fatal(err)
		}
		var v [2]*varianceBounds
		for k := range v {
			v[k] = newVarianceBounds(cells.Rows, p.Variance)
			r, err := iter.newRegression(ctx, cells, rows, 1e-9, v[k])
			if err != nil {
				t.Fatal(err)
			}
			if k == 0 {
				alone, err := r.inGroups(ctx, append([]int{}, rows...), near, nn)
				if err != nil || len(alone) > 0 {
					t.Fatalf("%d cells without a group, %v", len(alone), err)
				}
			} else if err := r.single(ctx, rows, near, nn); err != nil {
				t.Fatal(err)
			}
		}
		wider := 0
		for i := range rows {
			lo, hi := want.Lo[i], want.Hi[i]
			if v[0].lo[i] > hi+1e-9 || v[0].hi[i] < lo-1e-9 {
				t.Errorf("noise %g, cell %d: [%v, %v], dense [%v, %v]", noise, i, v[0].lo[i], v[0].hi[i], lo, hi)
			}
			if v[0].hi[i] > v[1].hi[i]*1.001 {
				wider++
			}
		}
		if wider > len(rows)/20 { // the probes scatter
			t.Errorf("noise %g: %d of %d cells have a larger bound in groups", noise, wider, len(rows))
		}
	}
}
