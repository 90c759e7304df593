package main

import (
	"fmt"
	"strconv"
	"strings"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/enum"
)

const (
	// paperRank is the rank of the preconditioner of the paper's BBGP, which the
	// paper does not tell.
	paperRank = 500
	// paperProbes is what the paper and its Iterative GP use.
	paperProbes = 10
)

// A method is a way to train.
type method struct {
	name, title string
	opt         bbgp.Options
}

// A variant of a method follows its name, as in cglb-1000+prefit.
const (
	withPrefit = "+prefit" // starts where our pre-fit ends, whose time counts
	fromOnes   = "+ones"   // starts from all ones, as all but bbgp do
	longer     = "+long"   // its cap on CPU seconds is longFactor times as high
	longFactor = 4
)

// capOf is the method's cap on CPU seconds where others have s.
func capOf(name string, s float64) float64 {
	if strings.HasSuffix(name, longer) {
		return longFactor * s
	}
	return s
}

// parseMethod reads the name of a method, with its variant, for n training rows.
func parseMethod(name string, n int) (method, error) {
	base, _, _ := strings.Cut(name, "+")
	m, err := plainMethod(base, n)
	if err != nil {
		return m, err
	}
	m.name = name
	switch variant := strings.TrimPrefix(name, base); variant {
	case "":
	case withPrefit:
		m.title, m.opt.PrefitRows = m.title+", from our pre-fit", 0
	case fromOnes:
		m.title, m.opt.PrefitRows = m.title+", from all ones", -1
	case longer:
		m.title += ", longer"
	default:
		return m, fmt.Errorf("method %q: no variant %q", name, variant)
	}
	return m, nil
}

// plainMethod reads the name of a method. Inducing rows that would be half of all
// rows or more are a quarter of them, the rank of "adam" is n/4 at most.
func plainMethod(name string, n int) (method, error) {
	kind, rest, _ := strings.Cut(name, "-")
	m := method{name: name, opt: bbgp.Options{PrefitRows: -1}}
	switch kind {
	case "bbgp":
		m.title, m.opt = "BBGP (our defaults)", bbgp.Options{Method: "bbgp"}
	case "exact":
		m.title, m.opt.Method = "exact GP", enum.Method(kind)
	case "iterative":
		m.title, m.opt.Method, m.opt.Probes = "Iterative GP", enum.Method(kind), paperProbes
	case "sgpr", "cglb":
		rank, err := strconv.Atoi(rest)
		if err != nil || rank < 1 {
			return m, fmt.Errorf("method %q: %s wants its number of inducing rows, as in %s-1000", name, kind, kind)
		}
		m.opt.Method, m.opt.Rank = enum.Method(kind), rank
		if rank >= n/2 {
			m.opt.Rank = n / 4
		}
		m.title = fmt.Sprintf("%s, m = %d", strings.ToUpper(kind), m.opt.Rank)
		return m, nil
	case "adam":
		var s int
		var eps float64
		if _, err := fmt.Sscanf(rest, "e%g-s%d", &eps, &s); err != nil || s < 1 || !(eps > 0) {
			return m, fmt.Errorf("method %q: adam wants eps and probes, as in adam-e1-s10", name)
		}
		m.title = fmt.Sprintf("BBGP of the paper, eps = %g, s = %d", eps, s)
		m.opt.Method, m.opt.Optimizer, m.opt.Eps, m.opt.Probes = "bbgp", "adam", eps, s
		m.opt.Rank, m.opt.Neighbours = min(paperRank, n/4), -1
		return m, nil
	default:
		return m, fmt.Errorf("no method %q", name)
	}
	if rest != "" {
		return m, fmt.Errorf("no method %q", name)
	}
	return m, nil
}

// biasMethods are those of the paper's study of its two settings.
func biasMethods() []string {
	var names []string
	for _, eps := range []int{1, 10, 100} {
		for _, s := range []int{1, 8, 16} {
			names = append(names, fmt.Sprintf("adam-e%d-s%d", eps, s))
		}
	}
	return names
}
