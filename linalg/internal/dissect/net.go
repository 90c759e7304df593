package dissect

import (
	"context"
	"math"
)

// netFill is about m r^dim over the volume of a net of radius r that is taken at random.
const netFill = 0.7

// Net returns about m of the points x (n×dim), at most a quarter more, and a radius: in the given order, all points
// that have none of those taken before within the radius, ties included. So each point has one within it, at edges,
// too, and no two of them are nearer to each other. There are far fewer than m where no radius gives about m, and at
// least one. Where ctx ends first, the result is of no use.
func Net(ctx context.Context, x []float64, dim int, order []int, m int) (net []int32, radius float64) {
	var sides [3]float64
	volume, extent := 1.0, 0.0
	for k := range dim {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := range order {
			lo, hi = min(lo, x[i*dim+k]), max(hi, x[i*dim+k])
		}
		sides[k], extent = hi-lo, max(extent, hi-lo)
	}
	for _, s := range sides[:dim] {
		volume *= max(s, extent/float64(m))
	}
	if extent == 0 {
		return []int32{int32(order[0])}, 0
	}
	// Too many points at below, at most m and a quarter at above, or not known.
	below, above := 0.0, math.Inf(1)
	radius = math.Pow(netFill*volume/float64(m), 1/float64(dim))
	for grow := 1.3; ; {
		got := netOf(ctx, x, dim, order, radius, m+m/4)
		guess := 0.0
		if ctx.Err() != nil {
			return got, radius
		}
		if got == nil {
			below = max(below, radius)
			guess, grow = grow*radius, grow*1.3
		} else {
			net, above = got, radius
			if len(got) >= m*4/5 {
				return net, radius
			}
			guess = radius * math.Pow(float64(len(got))/float64(m), 1/float64(dim))
		}
		if guess <= below || guess >= above {
			guess = math.Sqrt(below * above)
		}
		if above < below*1.05 || above < extent*1e-9 {
			return net, above
		}
		radius = guess
	}
}

// netPause is how many points are looked at between looks at the context.
const netPause = 4096

// netOf is the net of a radius, nil where it has more than most points.
func netOf(ctx context.Context, x []float64, dim int, order []int, radius float64, most int) []int32 {
	h := newGrid(x, dim, radius, most)
	for i, p := range order {
		if i%netPause == 0 && ctx.Err() != nil {
			break
		}
		if h.alone(p) {
			if len(h.points) == most {
				return nil
			}
			h.put(p)
		}
	}
	return h.points
}

// A grid holds points by cubes with sides of a radius, in a table of lists.
type grid struct {
	x      []float64
	dim    int
	radius float64
	points []int32
	next   []int32 // of each point, the one before it in its list, or -1
	heads  []int32
}

func newGrid(x []float64, dim int, radius float64, most int) *grid {
	size := 64
	for size < 4*most {
		size *= 2
	}
	h := &grid{x: x, dim: dim, radius: radius, heads: make([]int32, size)}
	for i := range h.heads {
		h.heads[i] = -1
	}
	return h
}

// cube returns the cube of a point.
func (h *grid) cube(p int) (c [3]int64) {
	for k := range h.dim {
		c[k] = int64(math.Floor(h.x[p*h.dim+k] / h.radius))
	}
	return c
}

func (h *grid) slot(c [3]int64) int {
	v := uint64(c[0])*0x9e3779b97f4a7c15 ^ uint64(c[1])*0xc2b2ae3d27d4eb4f ^ uint64(c[2])*0x165667b19e3779f9
	return int((v ^ v>>29) * 0xbf58476d1ce4e5b9 >> 32 & uint64(len(h.heads)-1))
}

func (h *grid) put(p int) {
	s := h.slot(h.cube(p))
	h.points, h.next = append(h.points, int32(p)), append(h.next, h.heads[s])
	h.heads[s] = int32(len(h.points) - 1)
}

// alone says whether no point of the grid is within the radius of a point.
func (h *grid) alone(p int) bool {
	c := h.cube(p)
	var reach [3]int64
	for k := range h.dim {
		reach[k] = 1
	}
	for i := c[0] - reach[0]; i <= c[0]+reach[0]; i++ {
		for j := c[1] - reach[1]; j <= c[1]+reach[1]; j++ {
			for k := c[2] - reach[2]; k <= c[2]+reach[2]; k++ {
				for at := h.heads[h.slot([3]int64{i, j, k})]; at >= 0; at = h.next[at] {
					if h.within(p, int(h.points[at])) {
						return false
					}
				}
			}
		}
	}
	return true
}

func (h *grid) within(p, q int) bool {
	d2 := 0.0
	for k := range h.dim {
		d := h.x[p*h.dim+k] - h.x[q*h.dim+k]
		d2 += d * d
	}
	return d2 <= h.radius*h.radius
}
