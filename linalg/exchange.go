package linalg

// Exchange sends counts[r*Ranks()+q] numbers from rank r to rank q, for all of them; counts are the same on all ranks.
// fill makes the numbers for a rank, take gets those of a rank, in the order of the ranks.
func (e *Engine) Exchange(counts []int, fill, take func(rank int, x []float64)) {
	if e.alone() {
		return
	}
	size, own := e.Ranks(), e.Rank()
	sent, got := 0, 0
	for r := range size {
		sent += counts[own*size+r]
		got += counts[r*size+own]
	}
	buf := e.Room(sent + got)
	at := 0
	for r := range size {
		if n := counts[own*size+r]; n > 0 {
			fill(r, buf[at:at+n])
			at += n
		}
	}
	if err := e.Comm.AllToAll(buf[:sent], buf[sent:], counts); err != nil {
		panic(&RankError{err})
	}
	at = sent
	for r := range size {
		if n := counts[r*size+own]; n > 0 {
			take(r, buf[at:at+n])
			at += n
		}
	}
}
