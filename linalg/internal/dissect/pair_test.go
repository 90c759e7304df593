package dissect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bbgp.dev/linalg"
	"bbgp.dev/linalg/linalgtest"
)

// places are points of a kind: uniform, clusters, a line, some far away.
func places(rng *rand.Rand, kind string, m, dim int) []float64 {
	x := make([]float64, m*dim)
	for i := range m {
		p := x[i*dim : (i+1)*dim]
		for k := range p {
			p[k] = rng.Float64()
		}
		switch {
		case kind == "clusters":
			for k := range p {
				p[k] = float64(i%5*(k+1)) + .01*p[k]
			}
		case kind == "line":
			for k := range p {
				p[k] = p[0]
			}
		case kind == "far" && i%50 == 0:
			p[0] += 1e4 * float64(i)
		}
	}
	return x
}

// A problem has points with a covariance, and cliques.
type problem struct {
	x       []float64
	dim     int
	cliques []int32
	width   int
	m       [][]float64
	nugget  float64
}

func newProblem(rng *rand.Rand, kind string, m, dim, width int) *problem {
	p := &problem{x: places(rng, kind, m, dim), dim: dim, width: min(width, m), nugget: 1e-8}
	near := NewNear(p.x, dim)
	for i := 0; i < m; i += 2 {
		at := make([]int32, p.width)
		near.To(at, p.x[i*dim:(i+1)*dim])
		p.cliques = append(p.cliques, at...)
		u := linalgtest.RandMatrix(rng, p.width, 3)
		var tri []float64
		for a := range p.width {
			for b := range a + 1 {
				s := 0.0
				for k := range 3 {
					s += u.At(a, k) * u.At(b, k)
				}
				tri = append(tri, 100*s)
			}
		}
		p.m = append(p.m, tri)
	}
	return p
}

func (p *problem) cov(i, j int32) float64 {
	d2 := 0.0
	for k := range p.dim {
		d := p.x[int(i)*p.dim+k] - p.x[int(j)*p.dim+k]
		d2 += d * d
	}
	r := math.Sqrt(3*d2) / .3
	v := (1 + r) * math.Exp(-r)
	if i == j {
		v += p.nugget
	}
	return v
}

func (p *problem) block(_ int, dst linalg.Matrix, points []int32) {
	for a, i := range points {
		for b, j := range points {
			dst.Set(a, b, p.cov(i, j))
		}
	}
}

func (p *problem) pair(t testing.TB, ctx context.Context, e *linalg.Engine) (*Pair, error) {
	t.Helper()
	tree, err := NewTree(ctx, p.x, p.dim, p.cliques, p.width)
	if err != nil {
		return nil, err
	}
	return NewPair(ctx, e, tree, Parts{Covariance: p.block, Clique: func(c int) []float64 { return p.m[c] }})
}

// inverseOf returns L⁻¹, applied to the unit matrix by positions, and checks L'⁻¹ against it.
func inverseOf(t *testing.T, p *Pair, f Factor) linalg.Matrix {
	t.Helper()
	m := p.t.m
	q := (m + 3) / 4 * 4
	forward, backward := make([]float64, m*q), make([]float64, m*q)
	for i := range m {
		forward[i*q+i], backward[i*q+i] = 1, 1
	}
	p.Forward(f, forward, q)
	p.Backward(f, backward, q)
	l := linalg.NewMatrix(m, m)
	for i := range m {
		for j := range m {
			l.Set(i, j, forward[i*q+j])
			if d := math.Abs(forward[i*q+j] - backward[j*q+i]); d > 1e-11*(1+math.Abs(forward[i*q+j])) {
				t.Fatalf("factor %d, (%d, %d): %g forward, %g backward", f, i, j, forward[i*q+j], backward[j*q+i])
			}
		}
	}
	return l
}

// naive returns Q by positions from the fronts, by the formulas at the head of Pair, and Σ M_c.
func naive(t *testing.T, e *linalg.Engine, p *problem, tree *Tree) (q, sum linalg.Matrix) {
	t.Helper()
	q, sum = linalg.NewMatrix(tree.m, tree.m), linalg.NewMatrix(tree.m, tree.m)
	for id := range tree.nodes {
		n := &tree.nodes[id]
		at := append([]int32{}, n.front...)
		for k := n.from; k < n.to; k++ {
			at = append(at, int32(k))
		}
		for i := range at { // K⁻¹ of all less that of A is what J adds
			sub := at[:len(n.front)]
			sign := -1.0
			if i == 0 {
				sub, sign = at, 1
			} else if i > 1 || len(n.front) == 0 {
				break
			}
			k := linalg.NewMatrix(len(sub), len(sub))
			points := make([]int32, len(sub))
			for a, s := range sub {
				points[a] = tree.order[s]
			}
			p.block(0, k, points)
			c, err := e.NewCholesky(k)
			if err != nil {
				t.Fatal(err)
			}
			inv := linalg.NewMatrix(len(sub), len(sub))
			c.InverseTo(inv)
			for a, r := range sub {
				for b, s := range sub {
					q.Data[int(r)*q.Stride+int(s)] += sign * inv.At(a, b)
				}
			}
		}
	}
	for c, m := range p.m {
		at := tree.Clique(c)
		for a := range at {
			for b := range at {
				sum.Data[int(at[a])*sum.Stride+int(at[b])] += m[max(a, b)*(max(a, b)+1)/2+min(a, b)]
			}
		}
	}
	return q, sum
}

// Both factors, and their log determinants, are those of dense matrices; the covariance of points that a node joins is
// K to what the fronts leave out.
func TestPair(t *testing.T) {
	for _, c := range []struct {
		kind               string
		m, dim, width, own int
	}{
		{"uniform", 400, 2, 7, 0}, {"clusters", 300, 2, 6, 0}, {"line", 300, 2, 4, 0}, {"far", 300, 2, 7, 0},
		{"uniform", 300, 1, 5, 0}, {"uniform", 90, 2, 9, 1}, {"uniform", 1, 2, 9, 1}, {"uniform", 300, 3, 6, 0},
	} {
		t.Run(fmt.Sprint(c.kind, c.m, c.dim), func(t *testing.T) {
			e := linalgtest.NewEngine(t, nil, 2)
			p := newProblem(linalgtest.NewRand(uint64(c.m)), c.kind, c.m, c.dim, c.width)
			pair, err := p.pair(t, context.Background(), e)
			if err != nil {
				t.Fatal(err)
			}
			tree := pair.Tree()
			if one := len(tree.nodes) == 1; one != (c.own == 1) {
				t.Errorf("%d nodes", len(tree.nodes))
			}
			q, s := naive(t, e, p, tree)
			size := 0.0
			for i, v := range q.Data {
				s.Data[i] += v
				size = max(size, math.Abs(s.Data[i]))
			}
			is, iSum := inverseOf(t, pair, S), inverseOf(t, pair, Sum)
			e.InvertLower(is)
			e.InvertLower(iSum)
			lq := linalg.NewMatrix(c.m, c.m)
			for i := range c.m {
				for j := range i + 1 {
					lq.Set(i, j, iSum.At(i, j)-is.At(i, j))
				}
			}
			gotQ, gotS := linalg.NewMatrix(c.m, c.m), linalg.NewMatrix(c.m, c.m)
			e.GemmTo(gotQ, 1, lq, false, lq, true, 0)
			e.GemmTo(gotS, 1, is, false, is, true, 0)
			if d := linalgtest.MaxDiff(gotQ, q); d > 1e-6*size {
				t.Errorf("Q is off by %g of %g", d, size)
			}
			if d := linalgtest.MaxDiff(gotS, s); d > 1e-6*size {
				t.Errorf("S is off by %g of %g", d, size)
			}
			logDet := 2 * (logDiag(is) - logDiag(lq))
			if d := math.Abs(logDet - pair.LogDet()); d > 1e-6*(1+math.Abs(logDet)) {
				t.Errorf("log det %g, want %g", pair.LogDet(), logDet)
			}
			order := slices.Clone(tree.Order())
			slices.Sort(order)
			for i, p := range order {
				if int(p) != i {
					t.Fatal("the order is none of all points")
				}
			}
		})
	}
}

// The numbers do not depend on the threads.
func TestPairThreads(t *testing.T) {
	p := newProblem(linalgtest.NewRand(3), "uniform", 1000, 2, 8)
	var want []float64
	for _, threads := range []int{1, 2, 5} {
		pair, err := p.pair(t, context.Background(), linalgtest.NewEngine(t, nil, threads))
		if err != nil {
			t.Fatal(err)
		}
		x := linalgtest.RandMatrix(linalgtest.NewRand(4), 1000, 8).Data
		pair.Forward(S, x, 8)
		pair.Backward(Sum, x, 8)
		pair.On(linalgtest.NewEngine(t, nil, 2)).Forward(Sum, x, 8)
		pair.Backward(S, x, 8)
		x = append(x, pair.LogDet())
		if want == nil {
			want = x
		}
		if !slices.Equal(x, want) {
			t.Errorf("%d threads give other bits", threads)
		}
		if pair.Bytes() < 16*pair.Tree().Entries() {
			t.Errorf("%d bytes are fewer than entries have", pair.Bytes())
		}
	}
}

// Points in one place without a nugget are not positive definite; an end of the context ends the work.
func TestPairErrors(t *testing.T) {
	e := linalgtest.NewEngine(t, nil, 2)
	p := newProblem(linalgtest.NewRand(3), "uniform", 600, 2, 8)
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	plain := p.pair
	p.nugget = -1e-3
	var pd *linalg.NotPDError
	if _, err := plain(t, ctx, e); !errors.As(err, &pd) || pd.Pivot < 0 || pd.Pivot >= 600 {
		t.Errorf("%v, want a NotPDError", err)
	}
	p.nugget = 1e-8
	tree, err := NewTree(ctx, p.x, p.dim, p.cliques, p.width)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewPair(ctx, linalgtest.NewEngine(t, nil, 1), tree, Parts{
		Covariance: func(w int, dst linalg.Matrix, points []int32) {
			if calls++; calls == 3 {
				cancel()
			}
			p.block(w, dst, points)
		},
		Clique: func(c int) []float64 { return p.m[c] },
	})
	if !errors.Is(err, context.Canceled) || calls > 3 {
		t.Errorf("%v after %d nodes", err, calls)
	}
	if _, err := NewTree(ctx, p.x, p.dim, p.cliques, p.width); !errors.Is(err, context.Canceled) {
		t.Errorf("tree: %v", err)
	}
}

// Near finds what a look at all points does, and Cut makes parts of equal size that hold each point once.
func TestNearAndCut(t *testing.T) {
	rng := linalgtest.NewRand(8)
	for _, kind := range []string{"uniform", "clusters", "line", "far"} {
		x := places(rng, kind, 333, 2)
		near := NewNear(x, 2)
		for range 50 {
			place := []float64{rng.Float64(), rng.Float64()}
			got := make([]int32, 7)
			near.To(got, place)
			all := make([]keyed, 333)
			for i := range all {
				a, b := x[2*i]-place[0], x[2*i+1]-place[1]
				all[i] = keyed{a*a + b*b, int32(i)}
			}
			slices.SortFunc(all, func(a, b keyed) int {
				if a.before(b) {
					return -1
				}
				return 1
			})
			for i, p := range got {
				if all[i].at != p {
					t.Fatalf("%s: %v, want %v", kind, got, all[:7])
				}
			}
		}
		order, starts := Cut(context.Background(), x, 2, 20, func(points []int32) bool { return len(points) > 17 })
		for i := range 20 {
			if size := starts[i+1] - starts[i]; size != 16 && size != 17 {
				t.Errorf("%s: a part of %d points", kind, size)
			}
		}
		slices.Sort(order)
		if slices.Compact(order)[332] != 332 {
			t.Errorf("%s: points are missing", kind)
		}
		checkNet(t, kind, x, 2)
	}
}

// checkNet: each point has one of a net within the radius, those of the net have none, and there are about as many as
// asked for.
func checkNet(t *testing.T, kind string, x []float64, dim int) {
	t.Helper()
	n := len(x) / dim
	rows := rand.New(rand.NewPCG(1, 2)).Perm(n)
	for _, m := range []int{1, 5, 40, n} {
		net, radius := Net(context.Background(), x, dim, rows, m)
		if len(net) > m+m/4 || kind != "far" && len(net) < m/2 {
			t.Errorf("%s: %d points, %d asked for", kind, len(net), m)
		}
		for i := range n {
			least := math.Inf(1)
			for _, p := range net {
				d2 := 0.0
				for k := range dim {
					d := x[i*dim+k] - x[int(p)*dim+k]
					d2 += d * d
				}
				if int(p) != i {
					least = min(least, math.Sqrt(d2))
				}
			}
			if in := slices.Contains(net, int32(i)); in == (least <= radius) {
				t.Fatalf("%s: point %d, in the net: %v, the nearest of it %g away, radius %g", kind, i, in, least,
					radius)
			}
		}
	}
}
