package kernelmv

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// fuzzInputs are n points of one of the kinds that are hard in some way.
func fuzzInputs(rng *rand.Rand, kind, n, d int) linalg.Matrix {
	switch kind % 4 {
	case 1: // duplicates and ties
		return clumped(rng, n, d)
	case 2: // inputs of very different size
		x := linalgtest.RandMatrix(rng, n, d)
		for i := range x.Data {
			x.Data[i] *= math.Pow(10, float64(i%d%5-2))
		}
		return x
	case 3: // near one another, with outliers
		x := linalgtest.RandMatrix(rng, n, d)
		for i := range x.Data {
			if i/d%7 != 0 {
				x.Data[i] *= 1e-3
			}
		}
		return x
	}
	return linalgtest.RandMatrix(rng, n, d)
}

// FuzzMulTo compares products with the dense matrix in float64.
func FuzzMulTo(f *testing.F) {
	for i, n := range []uint16{1, 2, 24, 95, 97, 191, 193, 290, 385} {
		f.Add(uint64(i), n, uint8(i*i), uint8(3*i), uint8(i), uint8(i/2), uint8(i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint16, d, p, family, kind, isa uint8, single bool) {
		all := asm.All()
		im := all[int(isa)%len(all)]
		rows, dims, cols := 1+int(n)%400, 1+int(d)%40, 1+int(p)%70
		if im.Name == "generic" {
			rows, cols = 1+rows%100, 1+cols%9
		}
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		x := fuzzInputs(rng, int(kind), rows, dims)
		k, noise := randKernel(rng, families[int(family)%len(families)], dims), randNoise(rng, rows)
		op := newOp(t, linalgtest.NewEngine(t, im, 1+int(seed%3)), x, k, noise)
		prec := F64
		if single {
			prec = F32
		}
		v, y := linalgtest.RandMatrix(rng, rows, cols), linalg.NewMatrix(rows, cols)
		if err := op.With(prec).MulTo(context.Background(), y, v); err != nil {
			t.Fatal(err)
		}
		// Coordinates are rounded in proportion to their size.
		size := 1.0
		for _, c := range op.pts.x {
			size = max(size, math.Abs(c))
		}
		checkMul(t, dense(x, k, noise), v, y, tol[prec]*size,
			fmt.Sprintf("%s %v n=%d d=%d p=%d kind=%d %v", im.Name, k.Family, rows, dims, cols, kind%4, prec))
	})
}
