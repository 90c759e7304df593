package train

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bbgp.dev/internal/gp"
)

// What each input tells alone. Where one input has structure that is short and the others tell
// little, a start with one length for all is far from its basin, and a few random lengths
// miss it. But with one input in order a Matérn-3/2 function is a Markov process of the function
// and its slope, and the Kalman filter (Hartikainen and Särkkä 2010) has its likelihood in O(n): each
// input is tried by itself at a ladder of lengths, for all kernels by this one, and those that
// tell something make starts: each alone, and several, one after another on what the ones before
// leave (backfitting, as of an additive model).

const (
	aloneRows    = 1024 // random ones, where there are more
	aloneStep    = 2    // from one length to the next
	aloneGain    = 4    // nats over noise alone that an input has to tell
	aloneMost    = 3    // inputs by themselves
	aloneRounds  = 4    // inputs one after another
	aloneLongest = 3    // standard deviations
)

// aloneNoise is σ_n²/(σ_f² + σ_n²) of a function of one input.
var aloneNoise = [3]float64{0.9, 0.5, 0.02}

// A lone is where the likelihood of the target as a function of one input is highest.
type lone struct {
	line
	input         int
	sd            float64
	length, noise float64 // as in line
	gain          float64 // nats over noise alone
}

// aloneStarts returns starts from what inputs tell alone, with all other inputs long.
func aloneStarts(kernel string, d *gp.Table, fixed []bool) (out []designed) {
	some := d
	if n := len(d.Y); n > aloneRows {
		some = d.Rows(gp.Subset(n, aloneRows, 0))
	}
	var all []*lone
	for j := range d.X.Cols {
		if !fixed[j] {
			all = append(all, newLone(some, j))
		}
	}
	if len(all) < 2 {
		return nil // the ladder holds it
	}
	variance := varianceOf(d.Y)
	start := func(from string, noise float64, of ...*lone) {
		p := gp.DefaultParams(kernel, d.X.Cols)
		for _, l := range all {
			p.Lengthscales[l.input] = longest * math.Sqrt(float64(len(all))) * l.sd
		}
		for _, l := range of {
			p.Lengthscales[l.input] = l.length
		}
		p.Variance, p.Noise = (1-noise)*variance, max(noise*variance, gp.MinParam)
		out = append(out, designed{from, p})
	}
	left := slices.Clone(some.Y)
	var told []*lone
	for round := range aloneRounds {
		rest := slices.DeleteFunc(slices.Clone(all), func(l *lone) bool { return slices.Contains(told, l) })
		for _, l := range rest {
			l.look(left)
		}
		slices.SortStableFunc(rest, func(a, b *lone) int { return cmp.Compare(b.gain, a.gain) })
		for _, l := range rest[:min(len(rest), aloneMost)] {
			if round == 0 && l.gain > aloneGain {
				start(fmt.Sprintf("input %d alone, length %.2g sd", l.input+1, l.length/l.sd), l.noise, l)
			}
		}
		if len(rest) == 0 || !(rest[0].gain > aloneGain) {
			break
		}
		told = append(told, rest[0])
		rest[0].takeOff(left)
	}
	if len(told) > 1 {
		noise := min(varianceOf(left)/variance, aloneNoise[0]) // by chance some rows have more variance than all
		start(fmt.Sprintf("%d inputs one after another", len(told)), noise, told...)
	}
	return out
}

// newLone puts the rows of d in the order of column j.
func newLone(d *gp.Table, j int) *lone {
	n := len(d.Y)
	l := &lone{input: j, sd: columnSD(d, j), line: line{order: make([]int, n), x: make([]float64, n),
		scale: make([]float64, n), f: make([]float64, n)}}
	for i := range l.order {
		l.order[i] = i
	}
	slices.SortStableFunc(l.order, func(a, b int) int { return cmp.Compare(d.X.At(a, j), d.X.At(b, j)) })
	for i, k := range l.order {
		l.x[i], l.scale[i] = d.X.At(k, j), d.ScaleOf(k)
	}
	return l
}

// look finds where the likelihood of y is highest.
func (l *lone) look(y []float64) {
	plain := l.filter(y, l.sd, 1)
	l.gain = math.Inf(-1)
	for length := aloneLongest * l.sd; length > aloneLongest*l.sd/float64(len(y)); length /= aloneStep {
		for _, noise := range aloneNoise {
			if v := l.filter(y, length, noise) - plain; v > l.gain {
				l.length, l.noise, l.gain = length, noise, v
			}
		}
	}
}

// takeOff leaves of y what l does not tell of it: the function is taken as the mean of what the rows up to
// each tell in either direction.
func (l *lone) takeOff(y []float64) {
	from := slices.Clone(y)
	for range 2 {
		l.filter(from, l.length, l.noise)
		for i, k := range l.order {
			y[k] -= l.f[i] / 2
		}
		slices.Reverse(l.order)
		slices.Reverse(l.scale)
		slices.Reverse(l.x)
		for i := range l.x {
			l.x[i] = -l.x[i]
		}
	}
}

// A line is a table of one input in order: row order_i is at x_i, with noise scale_i σ_n².
type line struct {
	order    []int
	x, scale []float64
	f        []float64 // by filter: the function, given the rows up to each
}

// filter returns the log likelihood of y - c, where c is the mean of y, as a Matérn-3/2 function with lengthscale l and
// noise of so much of the variance, maximised over that variance, up to a constant. In the state
// (f, l f'/√3) the step over Δ is A = e^-a [1+a, a; -a, 1-a], a = √3 Δ/l, and the stationary
// covariance is I.
func (d *line) filter(y []float64, l, noise float64) float64 {
	n, mean := float64(len(y)), 0.0
	for _, v := range y {
		mean += v / n
	}
	var f, g float64                           // the state given the rows before, its deviation 1
	ff, fg, gg := 1.0, 0.0, 1.0                // its covariance C
	square, logs := 0.0, 0.0                   // Σ v²/s, Σ log s over the innovations v of variance s
	share, root := 1-noise, math.Sqrt(1-noise) // σ_f²/(σ_f² + σ_n²)
	for i, k := range d.order {
		if i > 0 {
			a := math.Sqrt(3) * (d.x[i] - d.x[i-1]) / l
			e := math.Exp(-a)
			p, q, r := e*(1+a), e*a, e*(1-a)
			f, g = p*f+q*g, r*g-q*f
			cff, cgg := ff-1, gg-1 // C⁺ = I + A (C - I) A'
			ff, fg, gg = 1+p*p*cff+2*p*q*fg+q*q*cgg, (p*r-q*q)*fg-p*q*cff+q*r*cgg, 1+q*q*cff-2*q*r*fg+r*r*cgg
		}
		v, s := y[k]-mean-root*f, share*ff+noise*d.scale[i]
		square, logs = square+v*v/s, logs+math.Log(s)
		f, g = f+root*ff*v/s, g+root*fg*v/s
		ff, fg, gg = ff-share*ff*ff/s, fg-share*ff*fg/s, gg-share*fg*fg/s
		d.f[i] = root * f
	}
	return -(n*math.Log(square/n) + logs) / 2
}
