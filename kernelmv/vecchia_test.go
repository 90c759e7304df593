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

// A vecchiaCase is a table with a model whose noise has a fitted and a known part.
type vecchiaCase struct {
	x            linalg.Matrix
	y            []float64
	scale, known []float64 // of the noise
	k            Kernel
	noise, c     float64
}

func newVecchiaCase(rng *rand.Rand, f asm.Family, n, d int) *vecchiaCase {
	v := &vecchiaCase{x: linalgtest.RandMatrix(rng, n, d), k: randKernel(rng, f, d), noise: 0.07, c: 0.3}
	for i := range n {
		v.y = append(v.y, v.x.At(i, 0)+rng.NormFloat64())
		v.scale = append(v.scale, 0.5+rng.Float64())
		v.known = append(v.known, 0.01*float64(i%3))
	}
	return v
}

// at returns the case with z added to its logarithms, and to c.
func (v *vecchiaCase) at(z []float64) *vecchiaCase {
	u, d := *v, len(v.k.Lengthscales)
	u.k.Lengthscales = make([]float64, d)
	for j, l := range v.k.Lengthscales {
		u.k.Lengthscales[j] = l * math.Exp(z[j])
	}
	u.k.Variance *= math.Exp(z[d])
	u.noise *= math.Exp(z[d+1])
	u.c += z[d+2]
	return &u
}

// parts returns the noise, its fitted part and the residuals.
func (v *vecchiaCase) parts() (noise, share, r []float64) {
	for i, y := range v.y {
		share = append(share, v.noise*v.scale[i])
		noise = append(noise, share[i]+v.known[i])
		r = append(r, y-v.c)
	}
	return noise, share, r
}

func (v *vecchiaCase) score(t *testing.T, like *Vecchia, near *Nearest) *Score {
	t.Helper()
	noise, share, r := v.parts()
	if err := like.op.Reset(v.k, noise); err != nil {
		t.Fatal(err)
	}
	s, err := like.Evaluate(context.Background(), near, r, share)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newNear(t *testing.T, v *vecchiaCase, e *linalg.Engine, nn, terms int) (*Vecchia, *Nearest) {
	t.Helper()
	noise, _, _ := v.parts()
	like := newOp(t, e, v.x, v.k, noise).NewVecchia(terms, 3)
	return like, find(t, like, nn)
}

func find(t testing.TB, like *Vecchia, nn int) *Nearest {
	t.Helper()
	near, err := like.Find(context.Background(), nn)
	if err != nil {
		t.Fatal(err)
	}
	return near
}

// TestVecchiaWhole: given all rows before it, each term is exact.
func TestVecchiaWhole(t *testing.T) {
	forEach(t, func(t *testing.T, im *asm.Impl) {
		for _, f := range families {
			for _, n := range []int{1, 2, 9, 60} {
				v := newVecchiaCase(rand.New(rand.NewPCG(uint64(n), 1)), f, n, 3)
				e := linalgtest.NewEngine(t, im, 2)
				like, near := newNear(t, v, e, n-1, 0)
				got := v.score(t, like, near).Value
				noise, _, r := v.parts()
				chol, err := e.NewCholesky(dense(v.x, v.k, noise))
				if err != nil {
					t.Fatal(err)
				}
				rhs := linalg.Matrix{Rows: n, Cols: 1, Stride: 1, Data: r}
				alpha := linalg.NewMatrix(n, 1)
				chol.SolveTo(alpha, rhs)
				want := -0.5 * (float64(n)*math.Log(2*math.Pi) + chol.LogDet() + e.Dot(r, alpha.Data))
				if math.Abs(got-want) > 1e-10*math.Abs(want) {
					t.Errorf("%v n=%d: %v, want %v", f, n, got, want)
				}
			}
		}
	})
}

// TestVecchiaGradient compares with central differences, also where an input is out,
// rows repeat, and terms are a sample.
func TestVecchiaGradient(t *testing.T) {
	for _, f := range families {
		for kind := range 4 {
			t.Run(fmt.Sprint(f, " ", kind), func(t *testing.T) {
				d := []int{1, 3, 6, 4}[kind]
				v := newVecchiaCase(rand.New(rand.NewPCG(uint64(kind), 2)), f, 90, d)
				terms := 0
				switch kind {
				case 1:
					v.k.Lengthscales[1] = math.Inf(1)
				case 2:
					terms = 31
				case 3:
					for i := 0; i < 40; i += 2 {
						copy(v.x.Row(i), v.x.Row(i+1))
					}
				}
				like, near := newNear(t, v, linalgtest.NewEngine(t, nil, 2), 10, terms)
				got := v.score(t, like, near)
				for i, g := range got.Gradient {
					// Two steps, extrapolated: the error is of the fourth order.
					diff := func(h float64) float64 {
						z := make([]float64, d+3)
						z[i] = h
						up := v.at(z).score(t, like, near).Value
						z[i] = -h
						return (up - v.at(z).score(t, like, near).Value) / (2 * h)
					}
					want := (4*diff(1e-4) - diff(2e-4)) / 3
					if math.Abs(g-want) > 1e-7*(math.Abs(want)+0.1*math.Abs(got.Value)) {
						t.Errorf("derivative %d: %v, want %v", i, g, want)
					}
				}
			})
		}
	}
}

// TestVecchiaInfo: with all rows before each one, the mean of the Fisher informations
// given the rows before, over draws of y, is the information of the dense model.
func TestVecchiaInfo(t *testing.T) {
	const n, d, draws = 30, 2, 2000
	rng := rand.New(rand.NewPCG(4, 4))
	v := newVecchiaCase(rng, Matern52, n, d)
	e := linalgtest.NewEngine(t, nil, 1)
	like, near := newNear(t, v, e, n-1, 0)
	noise, _, _ := v.parts()
	chol, err := e.NewCholesky(dense(v.x, v.k, noise))
	if err != nil {
		t.Fatal(err)
	}
	info, outer := linalg.NewMatrix(d+3, d+3), linalg.NewMatrix(d+3, d+3)
	for range draws {
		z := linalgtest.RandMatrix(rng, n, 1)
		for i := range v.y {
			v.y[i] = v.c
			for j, l := range chol.Factor().Row(i)[:i+1] {
				v.y[i] += l * z.Data[j]
			}
		}
		s := v.score(t, like, near)
		for i, g := range s.Gradient {
			for j, h := range s.Gradient {
				info.Set(i, j, info.At(i, j)+s.Info.At(i, j)/draws)
				outer.Set(i, j, outer.At(i, j)+g*h/draws)
			}
		}
	}
	for i := range d + 3 {
		for j := range d + 3 {
			size := math.Sqrt(info.At(i, i) * info.At(j, j))
			if math.Abs(info.At(i, j)-outer.At(i, j)) > 0.15*size {
				t.Errorf("information %d, %d: %v, want %v", i, j, info.At(i, j), outer.At(i, j))
			}
		}
	}
}

// TestVecchiaThreads wants the same bits for every number of threads, and after
// other neighbours have had their turn.
func TestVecchiaThreads(t *testing.T) {
	forEach(t, func(t *testing.T, im *asm.Impl) {
		v := newVecchiaCase(rand.New(rand.NewPCG(5, 5)), Matern32, 700, 5)
		var want *Score
		for _, threads := range []int{1, 2, 8} {
			like, near := newNear(t, v, linalgtest.NewEngine(t, im, threads), 7, 500)
			first := v.score(t, like, near)
			v.score(t, like, find(t, like, 15))
			s := v.score(t, like, near)
			if s.Value != first.Value {
				t.Fatalf("%v, before %v", s.Value, first.Value)
			}
			if want == nil {
				want = s
			}
			for i, g := range append(append([]float64{s.Value}, s.Gradient...), s.Info.Data...) {
				if w := append(append([]float64{want.Value}, want.Gradient...), want.Info.Data...)[i]; g != w {
					t.Fatalf("%d threads: number %d is %v, want %v", threads, i, g, w)
				}
			}
		}
	})
}

// BenchmarkVecchia measures a row's term beside its part of a product of 8 columns.
func BenchmarkVecchia(b *testing.B) {
	const n = 10000
	for _, d := range []int{2, 8, 18} {
		rng := rand.New(rand.NewPCG(6, 6))
		x, k := linalgtest.RandMatrix(rng, n, d), randKernel(rng, Matern32, d)
		op := newOp(b, linalgtest.NewEngine(b, nil, 1), x, k, randNoise(rng, n))
		y := linalgtest.RandMatrix(rng, n, 8)
		b.Run(fmt.Sprintf("product/d=%d", d), func(b *testing.B) {
			op.SetPrecision(F32)
			dst := linalg.NewMatrix(n, 8)
			for b.Loop() {
				if err := op.MulTo(context.Background(), dst, y); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
		for _, nn := range []int{8, 16, 32} {
			like, r := op.NewVecchia(0, 1), y.Data[:n]
			near := find(b, like, nn)
			b.Run(fmt.Sprintf("neighbours/d=%d/m=%d", d, nn), func(b *testing.B) {
				for b.Loop() {
					near = find(b, like, nn)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
			})
			b.Run(fmt.Sprintf("term/d=%d/m=%d", d, nn), func(b *testing.B) {
				for b.Loop() {
					if _, err := like.Evaluate(context.Background(), near, r, op.Noise()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
			})
		}
	}
}
