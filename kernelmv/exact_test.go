package kernelmv

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"bbgp.dev/asm"
	"bbgp.dev/internal/comm"
	"bbgp.dev/internal/comm/commtest"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// exactly is the sum of terms, rounded once.
func exactly(terms []float64) float64 {
	sum := new(big.Float).SetPrec(2300)
	for _, x := range terms {
		sum.Add(sum, new(big.Float).SetFloat64(x))
	}
	y, _ := sum.Float64()
	return y
}

// terms are count numbers of very different size, most of which cancel.
func terms(rng *rand.Rand, count int, exponents float64) []float64 {
	x := make([]float64, count)
	for i := range x {
		x[i] = rng.NormFloat64() * math.Exp2(exponents*(2*rng.Float64()-1))
		if i%3 == 0 && i > 0 {
			x[i] = -x[i-1]
		}
	}
	return x
}

func TestExactSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for _, exponents := range []float64{0, 40, 300, 1015} {
		for range 30 {
			x := terms(rng, 1+rng.IntN(200), exponents)
			x = append(x, 5e-324, -0x1p-1040, 0)
			var parts [3]exactSum
			for _, v := range x {
				parts[rng.IntN(3)].add(v)
			}
			parts[1].carry()
			parts[0].merge(&parts[1])
			parts[0].merge(&parts[2])
			got, want := parts[0].value(), exactly(x)
			if math.Abs(got-want) > math.Abs(want)*0x1p-52 {
				t.Fatalf("exponents %v: %v, want %v", exponents, got, want)
			}
			rng.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
			var again exactSum
			for _, v := range x {
				again.add(v)
			}
			sameBits(t, "in another order", []float64{again.value()}, []float64{got})
		}
	}
	var s exactSum
	s.add(math.Inf(-1))
	s.add(3)
	if s.value() != math.Inf(-1) {
		t.Errorf("-Inf + 3 = %v", s.value())
	}
	s.add(math.Inf(1))
	if !math.IsNaN(s.value()) {
		t.Errorf("-Inf + Inf = %v", s.value())
	}
}

// Sums of bins do not depend on the order of their terms, nor on how they are split up, and lose what their bounds say.
func TestBins(t *testing.T) {
	forEach(t, func(t *testing.T, im *asm.Impl) {
		const n, count = 20000, 54
		rng := rand.New(rand.NewPCG(9, 2))
		for _, parts := range []int{1, 2} {
			cut := newCutter(im, n, count, parts)
			for _, size := range []int{96, 192, 700} {
				lists := make([][]float64, size)
				for i := range lists {
					lists[i] = terms(rng, count, float64(i%40))
					for k := range lists[i] { // ties of the cuts
						lists[i][k] *= 0x1p-30
						if k%5 == 0 {
							lists[i][k] = math.Ldexp(math.Round(lists[i][k]*0x1p40), -40) * (1 + float64(k%2)*0x1p-10)
						}
					}
				}
				add := func(b *bins, order []int) {
					x := make([]float64, size)
					for _, k := range order {
						for i := range x {
							x[i] = lists[i][k]
						}
						b.add(&cut, 0, x)
					}
				}
				var whole, one, other bins
				for _, b := range []*bins{&whole, &one, &other} {
					b.makeRoom(size, parts)
					b.clear(0, size)
				}
				order := rng.Perm(count)
				add(&whole, order)
				add(&one, order[:11])
				rest := order[11:]
				rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
				add(&other, rest)
				lost := math.Ldexp(count, math.Ilogb(2.1*n)+1-52)
				if parts == 2 {
					lost = math.Ldexp(count, math.Ilogb(2.1*n)+1-104+6)
				}
				for i := range size {
					one.high[i] += other.high[i]
					got, want := whole.high[i], exactly(lists[i])
					if parts == 2 {
						one.low[i] += other.low[i]
						got += whole.low[i]
						sameBits(t, "low", one.low[i:i+1], whole.low[i:i+1])
					}
					sameBits(t, "high", one.high[i:i+1], whole.high[i:i+1])
					if math.Abs(got-want) > lost+math.Abs(want)*0x1p-52 {
						t.Fatalf("%v, want %v, off by %v", got, want, got-want)
					}
				}
			}
		}
	})
}

// Columns near both ends of the numbers that there are have products as exact as others: bins have fixed places.
func TestMulToExtremes(t *testing.T) {
	const n = 300
	op, rng, err := rankCase{n, 4, 1, 1}.op(linalgtest.NewEngine(t, nil, 2))
	if err != nil {
		t.Fatal(err)
	}
	v, want := normals(rng, n, 4), linalg.NewMatrix(n, 4)
	if err := op.MulTo(t.Context(), want, v); err != nil {
		t.Fatal(err)
	}
	for _, exponent := range []int{-1015, -1000, 0, 1005} {
		u, y := linalg.NewMatrix(n, 4), linalg.NewMatrix(n, 4)
		for i, x := range v.Data {
			u.Data[i] = math.Ldexp(x, exponent)
		}
		if err := op.MulTo(t.Context(), y, u); err != nil {
			t.Fatal(err)
		}
		for i, x := range y.Data {
			if got := math.Ldexp(x, -exponent); math.Abs(got-want.Data[i]) > 1e-13*n {
				t.Fatalf("times 2^%d: %v at %d, want %v", exponent, got, i, want.Data[i])
			}
		}
	}
}

// Every pair of blocks is one rank's that holds one of them, shares are equal, and what is added to the rows of other
// ranks is known.
func TestDeal(t *testing.T) {
	for _, n := range []int{1, 500, 20000, 300000} {
		for _, ranks := range []int{1, 2, 3, 4, 7, 8, 64} {
			s := newSchedule(n, linalgtest.NewEngine(t, nil, 1))
			groups, per := s.groups()
			d := newDeal(s.count, groups, per, ranks)
			pairs := make([]int, ranks)
			added := make([]map[[2]int]bool, ranks) // rank and block
			for r := range added {
				added[r] = map[[2]int]bool{}
			}
			for a := range s.count {
				for b := range a + 1 {
					r, high, low := d.of(a, b), int(d.owner[a]), int(d.owner[b])
					if r != high && r != low {
						t.Fatalf("%d rows, %d ranks: blocks %d and %d of %d and %d to %d", n, ranks, a, b, high, low, r)
					}
					pairs[r]++
					if low != high && r == low {
						added[r][[2]int{high, a}] = true
					} else if low != high {
						added[r][[2]int{low, b}] = true
					}
				}
			}
			sent := 0
			for from := range ranks {
				for to := range ranks {
					first, end := d.added(from, to)
					for b := first; b < end; b++ {
						if !added[from][[2]int{to, b}] {
							t.Fatalf("%d rows, %d ranks: %d adds nothing to block %d of %d", n, ranks, from, b, to)
						}
						delete(added[from], [2]int{to, b})
					}
					sent += end - first
				}
				if len(added[from]) > 0 {
					t.Fatalf("%d rows, %d ranks: %d adds to %v, too", n, ranks, from, added[from])
				}
			}
			if n < 20000 {
				continue
			}
			if most := float64(s.count) * (float64(ranks)/2 + 0.5); float64(sent) > most {
				t.Errorf("%d rows, %d ranks: %d blocks sent, at most %v", n, ranks, sent, most)
			}
			mean, whole := float64(s.count*(s.count+1))/2/float64(ranks), float64(s.count)/float64(ranks*per)
			for r, p := range pairs {
				if allowed := math.Ceil(whole) / whole * 1.03; float64(p) > mean*allowed {
					t.Errorf("%d rows, %d ranks: %d has %d pairs, mean %.0f, times %v", n, ranks, r, p, mean, allowed)
				}
			}
		}
	}
}

// received counts the numbers that come in at a rank.
type received struct {
	comm.Comm
	gathered, exchanged int
}

func (r *received) AllGather(x []float64, off []int) error {
	r.gathered += len(x) - (off[r.Rank()+1] - off[r.Rank()])
	return r.Comm.AllGather(x, off)
}

func (r *received) AllToAll(send, recv []float64, counts []int) error {
	r.exchanged += len(recv)
	return r.Comm.AllToAll(send, recv, counts)
}

// A product brings the rows of Y that other ranks have made, and the sums of half of them for its own.
func TestProductNumbers(t *testing.T) {
	const n, p = 3072, 4
	for _, ranks := range []int{2, 3, 4} {
		for _, prec := range []Precision{F32, F64} {
			parts := 1.0
			if prec == F64 {
				parts = 2
			}
			err := commtest.Run(ranks, func(c comm.Comm) error {
				e := linalgtest.NewEngine(t, nil, 1)
				counted := &received{Comm: c}
				e.Comm = counted
				op, rng, err := rankCase{n, 4, 1, 1}.op(e)
				if err != nil {
					return err
				}
				dst := linalg.NewMatrix(n, p)
				if err := op.With(prec).MulTo(t.Context(), dst, normals(rng, n, p)); err != nil {
					return err
				}
				from, to := e.Share(n / 192)
				if want := (n - (to-from)*192) * p; counted.gathered != want {
					t.Errorf("%d ranks: %d numbers gathered, want %d", ranks, counted.gathered, want)
				}
				most := parts * float64((to-from)*192*p) * math.Ceil(float64(ranks-1)/2)
				if float64(counted.exchanged) > most {
					t.Errorf("%d ranks, %v: %d numbers exchanged, at most %v", ranks, prec, counted.exchanged, most)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
