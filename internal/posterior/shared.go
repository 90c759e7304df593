package posterior

// Rows to predict are shared out among ranks: what one finds about some of them, all know.

// A rowBounds is what is known of some rows.
type rowBounds struct{ Lo, Hi, Shift, Width []float64 }

func (v *varianceBounds) of(rows []int) (b rowBounds) {
	for _, i := range rows {
		b.Lo, b.Hi = append(b.Lo, v.lo[i]), append(b.Hi, v.hi[i])
		b.Shift, b.Width = append(b.Shift, v.shift[i]), append(b.Width, v.width[i])
	}
	return b
}

func (v *varianceBounds) set(rows []int, b rowBounds) {
	for k, i := range rows {
		v.lo[i], v.hi[i], v.shift[i], v.width[i] = b.Lo[k], b.Hi[k], b.Shift[k], b.Width[k]
	}
}

// span returns from..to-1.
func span(from, to int) (rows []int) {
	for i := from; i < to; i++ {
		rows = append(rows, i)
	}
	return rows
}
