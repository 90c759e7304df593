package main

import (
	"fmt"
	"io"

	"bbgp.dev/internal/gp"
)

// A table counts by kernel and kind how many designs ended short, and by how much.
type table map[[2]string]*cell

type cell struct {
	count, short int // more than is allowed below the reference
	worst        float64
	cpu          float64
}

// add counts g, which ended short nats below its reference.
func (t table) add(g *design, short, allowed, cpu float64) {
	for _, key := range [][2]string{{g.kernel, g.kind}, {g.kernel, "all"}, {"all", g.kind}, {"all", "all"}} {
		c := t[key]
		if c == nil {
			c = new(cell)
			t[key] = c
		}
		c.count++
		if short > allowed {
			c.short++
		}
		c.worst = max(c.worst, short)
		c.cpu += cpu
	}
}

// print writes the table as Markdown: short of all, the worst shortfall in nats.
func (t table) print(w io.Writer) {
	rows := append(gp.Families(), "all")
	cols := append(append([]string{}, kinds...), "all")
	fmt.Fprint(w, "| kernel |")
	for _, c := range cols {
		fmt.Fprintf(w, " %s |", c)
	}
	fmt.Fprint(w, "\n|---|")
	for range cols {
		fmt.Fprint(w, "---|")
	}
	fmt.Fprintln(w)
	for _, k := range rows {
		fmt.Fprintf(w, "| %s |", k)
		for _, c := range cols {
			if v := t[[2]string{k, c}]; v != nil {
				fmt.Fprintf(w, " %d of %d, %.2g |", v.short, v.count, v.worst)
			} else {
				fmt.Fprint(w, " |")
			}
		}
		fmt.Fprintln(w)
	}
	if c := t[[2]string{"all", "all"}]; c != nil {
		fmt.Fprintf(w, "\n%.3g CPU s a fit\n", c.cpu/float64(c.count))
	}
}
