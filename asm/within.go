package asm

import "unsafe"

// WithinWord is the number of columns whose bits make a word of the mask.
const WithinWord = 32

// Within marks the entries of a tile that do not exceed the limit of their row:
// bit j%32 of mask[i cols/32 + j/32] is set unless tile[i][j] > limit[i].
func (im *Impl) Within(mask []uint32, tile, limit []float32, rows, cols int) {
	if badTile(rows, cols) || len(tile) < rows*cols || len(limit) < rows || len(mask) < rows*cols/WithinWord {
		panic("asm: Within: bad lengths")
	}
	im.within(&mask[0], &tile[0], &limit[0], rows, cols)
}

func genericWithin(mask *uint32, tile, limit *float32, rows, cols int) {
	out, x, most := unsafe.Slice(mask, rows*cols/WithinWord), unsafe.Slice(tile, rows*cols), unsafe.Slice(limit, rows)
	for w := range out {
		bound, word := most[w*WithinWord/cols], uint32(0)
		for b, v := range x[w*WithinWord : (w+1)*WithinWord] {
			if !(v > bound) {
				word |= 1 << b
			}
		}
		out[w] = word
	}
}
