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
// tell something make starts.

const (
	aloneRows    = 4096 // more are taken as pieces of neighbouring rows
	alonePiece   = 512
	aloneStep    = 2 // from one length to the next
	aloneGain    = 4 // nats over noise alone that an input has to tell
	aloneMost    = 3
	aloneLongest = 3 // standard deviations
)

// aloneNoise is σ_n²/(σ_f² + σ_n²) of a function of one input.
var aloneNoise = [3]float64{0.9, 0.5, 0.02}

// A lone is where the likelihood of the target as a function of one input is highest.
type lone struct {
	input         int
	length, noise float64 // in units of the input; as aloneNoise
	gain          float64 // nats over noise alone
}

// aloneStarted returns starts from what inputs tell alone: each of the most telling ones with all other inputs long,
// then all of them together.
func aloneStarts(kernel string, d *gp.Table, fixed []bool) (out []designed) {
	var told []lone
	active := 0
	for j := range d.X.Cols {
		if fixed[j] {
			continue
		}
		active++
		if l := tellsAlone(d, j); l.gain > aloneGain {
			told = append(told, l)
		}
	}
	if active < 2 {
		return nil // the ladder holds it
	}
	slices.SortStableFunc(told, func(a, b lone) int { return cmp.Compare(b.gain, a.gain) })
	variance := varianceOf(d.Y)
	start := func(from string, noise float64, of ...lone) {
		p := gp.DefaultParams(kernel, d.X.Cols)
		for j := range p.Lengthscales {
			p.Lengthscales[j] = longest * math.Sqrt(float64(active)) * columnSD(d, j)
		}
		for _, l := range of {
			p.Lengthscales[l.input] = l.length
		}
		p.Variance, p.Noise = (1-noise)*variance, max(noise*variance, gp.MinParam)
		out = append(out, designed{from, p})
	}
	for _, l := range told[:min(len(told), aloneMost)] {
		start(fmt.Sprintf("input %d alone, length %.2g sd", l.input+1, l.length/columnSD(d, l.input)), l.noise, l)
	}
	if len(told) > 1 {
		start("each input as alone", told[0].noise/2, told...)
	}
	return out
}

// tellsAlone tries column j of d alone.
func tellsAlone(d *gp.Table, j int) lone {
	order := make([]int, d.X.Rows)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d.X.At(a, j), d.X.At(b, j)) })
	if len(order) > aloneRows {
		order = spread(order, aloneRows/alonePiece, alonePiece)
	}
	line := line{x: make([]float64, len(order)), y: make([]float64, len(order)), scale: make([]float64, len(order))}
	for i, k := range order {
		line.x[i], line.y[i], line.scale[i] = d.X.At(k, j), d.Y[k], d.ScaleOf(k)
	}
	sd := columnSD(d, j)
	best, plain := lone{input: j, gain: math.Inf(-1)}, line.likelihood(sd, 1)
	for l := aloneLongest * sd; l > aloneLongest*sd/float64(len(order)); l /= aloneStep {
		for _, noise := range aloneNoise {
			if v := line.likelihood(l, noise) - plain; v > best.gain {
				best.length, best.noise, best.gain = l, noise, v
			}
		}
	}
	return best
}

// spread returns so many pieces of so many neighbours each from order, at even distances.
func spread(order []int, count, size int) (out []int) {
	for i := range count {
		at := i * (len(order) - size) / (count - 1)
		out = append(out, order[at:at+size]...)
	}
	return out
}

// A line is a table of one input in order; the noise of y_i is scale_i σ_n².
type line struct{ x, y, scale []float64 }

// likelihood is the log likelihood of y - c, where c is the mean of y, as a Matérn-3/2 function with lengthscale l and noise
// of so much of the variance, maximised over that variance, up to a constant. In the state (f, l f'/√3)
// the step over Δ is A = e^-a [1+a, a; -a, 1-a], a = √3 Δ/l, and the stationary covariance is I.
func (d line) likelihood(l, noise float64) float64 {
	n := float64(len(d.y))
	mean := 0.0
	for _, v := range d.y {
		mean += v / n
	}
	var f, g float64            // the state given the rows before
	ff, fg, gg := 1.0, 0.0, 1.0 // and its covariance
	square, logs := 0.0, 0.0    // Σ v²/s, Σ log s over the innovations v of variance s
	for i, y := range d.y {
		if i > 0 {
			a := math.Sqrt(3) * (d.x[i] - d.x[i-1]) / l
			e := math.Exp(-a)
			p, q, r := e*(1+a), e*a, e*(1-a)
			f, g = p*f+q*g, r*g-q*f
			cff, cfg, cgg := ff-1, fg, gg-1 // C⁺ = I + A (C - I) A'
			ff = 1 + p*p*cff + 2*p*q*cfg + q*q*cgg
			fg = -p*q*cff + (p*r-q*q)*cfg + q*r*cgg
			gg = 1 + q*q*cff - 2*q*r*cfg + r*r*cgg
		}
		v, s := y-mean-math.Sqrt(1-noise)*f, (1-noise)*ff+noise*d.scale[i]
		square, logs = square+v*v/s, logs+math.Log(s)
		k := math.Sqrt(1-noise) / s
		f, g = f+k*ff*v, g+k*fg*v
		k *= math.Sqrt(1 - noise)
		ff, fg, gg = ff-k*ff*ff, fg-k*ff*fg, gg-k*fg*fg
	}
	return -(n*math.Log(square/n) + logs) / 2
}
