package bbgp

import (
	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/cost"
	"bbgp.dev/internal/train"
)

// What the search sees of the table, so that it ends at one place in all units.

// farWeight is a weight that the ranges of a search are not made for.
const farWeight = 0x1p10

// show sets what the search sees: weights by the middle one, as the ranges of its parameters are made
// for, and cells rounded. With many rows only weights that are far from 1 are worth another table.
//
// Weights that are inverse variances, of a target in farads say, are 1e20 and more, and the noise at
// weight 1, which the parameters tell, is beyond those ranges.
func (f *fit) show() {
	f.unit = f.full.table().MiddleScale() // of merged rows there are fewer, with more weight
	rounds := f.opt.rounds(f.Raw.X.Rows)
	if !rounds && f.unit < farWeight && f.unit > 1/farWeight {
		f.unit = 1
	}
	f.Std = f.Whole.InNoiseUnit(f.unit)
	if rounds {
		f.Std = f.Std.Rounded()
	}
	if f.unit == 1 {
		return
	}
	if c := f.Search.Config; c.Start != nil {
		start := c.Start.Clone()
		start.Noise *= f.unit
		c.Start = &start
	}
	if tell := f.Count.Progress; tell != nil {
		f.Count.Progress = func(s Step) {
			s.Parameters.Noise /= f.unit
			tell(s)
		}
	}
}

// shown puts what the search has found in terms of the weights as they are; t may be nil.
func (f *fit) shown(t *train.Trainer) {
	for i := range f.Starts {
		f.Starts[i].Parameters.Noise /= f.unit
	}
	for i := range f.Count.Trace {
		f.Count.Trace[i].Parameters.Noise /= f.unit
	}
	if t != nil {
		t.Cur.P.Noise /= f.unit
	}
}

// rounds says whether the search of n rows sees rounded cells, for which the last evaluation is
// repeated with all digits. With more rows that would cost too much, and probes and eps leave ends
// of climbs apart in any case; methods to compare with are left as they were published.
func (o *Options) rounds(n int) bool {
	return n <= cost.DenseRows && !o.NoScale && o.ScaleFloor == 0 &&
		(o.Method == enum.MethodExact || o.Method == enum.MethodBBGP)
}
