package kernelmv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// truthKinds are how the points of TestH2Error lie: those of h2Points, half of them repeats of
// the others, all on a line, some far away, and nearly all in one place.
var truthKinds = []string{"uniform", "clusters", "curves", "grid", "repeats", "line", "far", "one place"}

// truthPoints returns n points of ten inputs, of which d are those of a kind and the others random,
// and the lengthscales that leave these d in the distance.
func truthPoints(kind string, n, d int, seed uint64, length float64) (linalg.Matrix, []float64) {
	few := h2Points("uniform", n, d, seed)
	switch kind {
	case "repeats":
		copy(few.Data[n/2*d:], few.Data[:n/2*d])
	case "line":
		for k := 1; k < d; k++ {
			setColumn(few, k, func(i int) float64 { return 0.3 + 0.5*few.At(i, 0) })
		}
	case "far":
		few.Set(7, 0, 1e9)
		few.Set(8, d-1, -1e7)
		few.Set(9, 0, 1e12)
	case "one place":
		for i := 1; i < n-2; i++ {
			copy(few.Row(i), few.Row(0))
		}
	default:
		few = h2Points(kind, n, d, seed)
	}
	rng := rand.New(rand.NewPCG(seed, 11))
	x, l := linalg.NewMatrix(n, 10), make([]float64, 10)
	for j := range l {
		l[j] = math.Inf(1)
		setColumn(x, j, func(int) float64 { return rng.NormFloat64() })
	}
	for k := range d {
		j := 1 + 3*k
		l[j] = length * []float64{1, 1.3, 0.8}[k]
		setColumn(x, j, func(i int) float64 { return few.At(i, k) })
	}
	return x, l
}

// The error of a product is below tau n s2, as h2.go says, and that of an entry below tau s2 for each level
// of the tree on either side: four families, one to three inputs in use of ten, eight kinds of points,
// lengthscales from .001 to 1000, in turn with four tolerances. BBGP_LONG=1 takes all of them with
// 10000 rows, and every 13th of a kind with 40000.
func TestH2Error(t *testing.T) {
	for i, kind := range truthKinds {
		for d := 1; d <= h2MaxDim; d++ {
			t.Run(fmt.Sprintf("%s/%d", kind, d), func(t *testing.T) {
				for j, f := range families {
					if d > 1 || f == Gaussian { // O(n) otherwise
						truthOf(t, kind, f, d, i+2*j+d)
					}
				}
			})
		}
	}
}

// truthOf runs the lengthscales of TestH2Error for one kind, family and number of inputs.
func truthOf(t *testing.T, kind string, f Family, d, turn int) {
	lengths, tols := []float64{0.02, 0.1, 0.3, 2, 1e-3, 1e3}, []float64{1e-4, 1e-6, 1e-8, 1e-9}
	long, worst, most := os.Getenv("BBGP_LONG") != "", 0.0, 0.0
	for m, l := range lengths {
		n, steps := rowsOf(4000), 2
		switch {
		case long:
			n, steps = 10000, 3
			if (6*turn+m)%13 == 0 {
				n = 40000
			}
		case (2*turn+m)%5 > 0 || testing.Short() && (turn+m)%3 > 0:
			continue
		}
		tol := tols[(turn+m)%len(tols)]
		x, ls := truthPoints(kind, n, d, uint64(turn), l)
		o := newOp(t, linalgtest.NewEngine(t, nil, 2), x, Kernel{f, 1, ls}, nil)
		entry, share := sizeOfError(t, o, F64, tol, steps)
		levels := 1 + math.Log2(float64(n)/leafRows2)
		entry, share = entry/tol, share/(tol*float64(n))
		if !(share <= 1 && entry <= 2*levels) {
			t.Errorf("%v, %d inputs, l %g, tau %g, %d rows: entry %.2g tau, |E| = %.2g tau n", f, d, l, tol, n, entry,
				share)
		}
		worst, most = max(worst, share), max(most, entry)
	}
	t.Logf("%v, %d inputs: |E| = %.2g tau n, entry %.2g tau at most", f, d, worst, most)
}
