package asm

// The methods below are Dist, Cov, Weight and Fused for callers that do not
// look at the tile between them. Then an implementation may take square roots
// that the Matérn functions need where its divider is idle, under the sums of
// the distances, if these are long enough. The results are the same, bit by
// bit. All of them get d, the depth of these sums.

// rootKit holds the routines of an implementation that take some roots early:
// distRoot does so, the others expect it. The arrays are indexed by Family; the
// Gaussian, which needs no root, has no entry.
type rootKit[T Float] struct {
	minDepth int // from this d on it pays
	distRoot func(dst, xi, xj *T, d, rows, cols int, clamp T)
	cov      [Gaussian]func(buf *T, rows, cols int)
	weight   [Gaussian]func(buf *T, rows, cols int)
	fused1   [Gaussian]func(yi *float64, yj, buf, vi, vj *T, rows, cols int)
	fused2   [Gaussian]func(yi *float64, yj, buf, vi, vj *T, rows, cols int)
}

// early returns the routines that pay for f and d, nil if they are the plain ones.
func (k *Kit[T]) early(f Family, d int) *rootKit[T] {
	if f >= Gaussian {
		return nil
	}
	var best *rootKit[T]
	for i := range k.roots {
		if d >= k.roots[i].minDepth {
			best = &k.roots[i]
		}
	}
	return best
}

// Radii sets the tile to what CovRadii, WeightRadii and FusedRadii take for f:
// the distances min(|XI[i] - XJ[j]|², Clamp)^(1/2) or their squares, row by row
// as the implementation likes it.
func (k *Kit[T]) Radii(f Family, dst, xi, xj []T, d, rows, cols int) {
	r := k.early(f, d)
	if r == nil {
		k.Dist(dst, xi, xj, d, rows, cols, Clamp[T](f))
		return
	}
	if d < 1 || badTile(rows, cols) || len(dst) < rows*cols || len(xi) < rows*d || len(xj) < cols*d {
		panic("asm: Radii: bad lengths")
	}
	r.distRoot(&dst[0], &xi[0], &xj[0], d, rows, cols, Clamp[T](f))
}

// CovRadii is Cov on a tile that Radii set.
func (k *Kit[T]) CovRadii(f Family, d int, buf []T, rows, cols int) {
	if badTile(rows, cols) || len(buf) < rows*cols {
		panic("asm: CovRadii: bad lengths")
	}
	if r := k.early(f, d); r != nil {
		r.cov[f](&buf[0], rows, cols)
		return
	}
	k.Cov(f, buf[:rows*cols])
}

// WeightRadii is Weight on a tile that Radii set.
func (k *Kit[T]) WeightRadii(f Family, d int, buf []T, rows, cols int) {
	if badTile(rows, cols) || len(buf) < rows*cols {
		panic("asm: WeightRadii: bad lengths")
	}
	if r := k.early(f, d); r != nil {
		r.weight[f](&buf[0], rows, cols)
		return
	}
	k.Weight(f, buf[:rows*cols])
}

// FusedRadii is Fused on a tile that Radii set.
func (k *Kit[T]) FusedRadii(f Family, d int, yi []float64, yj, tile, vi, vj []T, rows, cols, p int) {
	r := k.early(f, d)
	if r == nil {
		k.Fused(f, yi, yj, tile, vi, vj, rows, cols, p)
		return
	}
	if p < 1 || p > 2 || badTile(rows, cols) || len(yi) < rows*p ||
		len(yj) < p*cols || len(tile) < rows*cols || len(vi) < rows*p || len(vj) < p*cols {
		panic("asm: FusedRadii: bad lengths")
	}
	run := r.fused1[f]
	if p == 2 {
		run = r.fused2[f]
	}
	run(&yi[0], &yj[0], &tile[0], &vi[0], &vj[0], rows, cols)
}
