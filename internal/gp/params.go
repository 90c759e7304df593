package gp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// families lists the names of the covariance functions, the default first.
var families = []string{"matern32", "matern12", "matern52", "gaussian"}

// Families returns the names of the covariance functions, the default first.
func Families() []string { return slices.Clone(families) }

// Params are the parameters θ of a model, in natural units. Their JSON form is
//
//	{"kernel":"matern32","mean":0,"variance":1,"noise":1,"lengthscales":[1,null]}
//
// where null stands for a lengthscale of +Inf: the input has no influence.
// Reading demands every key but kernel (matern32 if absent) and mean (0 if
// absent), and refuses keys it does not know.
type Params struct {
	Kernel       string    // matern12, matern32, matern52 or gaussian
	Mean         float64   // c
	Variance     float64   // σ_f²
	Noise        float64   // σ_n²
	Lengthscales []float64 // ℓ_1..ℓ_D, +Inf allowed
}

// DefaultParams returns the start of the paper: c = 0 and every other
// parameter 1, for d inputs. kernel "" means matern32.
func DefaultParams(kernel string, d int) Params {
	if kernel == "" {
		kernel = families[0]
	}
	p := Params{Kernel: kernel, Variance: 1, Noise: 1, Lengthscales: make([]float64, d)}
	for j := range p.Lengthscales {
		p.Lengthscales[j] = 1
	}
	return p
}

// Clone returns a copy with memory of its own.
func (p Params) Clone() Params {
	p.Lengthscales = slices.Clone(p.Lengthscales)
	return p
}

// SameCovariance says whether p and q differ in the mean at most.
func (p Params) SameCovariance(q Params) bool {
	return p.Kernel == q.Kernel && p.Variance == q.Variance && p.Noise == q.Noise &&
		slices.Equal(p.Lengthscales, q.Lengthscales)
}

// Check returns a *ParamError for the first parameter out of range. d is the
// number of inputs; a negative d leaves the number of lengthscales open.
func (p Params) Check(d int) error {
	if !slices.Contains(families, p.Kernel) {
		return &ParamError{"kernel", fmt.Sprintf("%q is not one of %v", p.Kernel, families)}
	}
	if !Finite(p.Mean) {
		return &ParamError{"mean", fmt.Sprintf("%v is not a finite number", p.Mean)}
	}
	if !Finite(p.Variance) || p.Variance <= 0 {
		return &ParamError{"variance", fmt.Sprintf("%v is not positive and finite", p.Variance)}
	}
	if !Finite(p.Noise) || p.Noise <= 0 {
		return &ParamError{"noise", fmt.Sprintf("%v is not positive and finite", p.Noise)}
	}
	if d >= 0 && len(p.Lengthscales) != d {
		return &ParamError{"lengthscales", fmt.Sprintf("%d values for %d inputs", len(p.Lengthscales), d)}
	}
	for j, l := range p.Lengthscales {
		if math.IsNaN(l) || l <= 0 {
			return &ParamError{fmt.Sprintf("lengthscales[%d]", j), fmt.Sprintf("%v is not positive", l)}
		}
	}
	return nil
}

// paramsJSON is the JSON form; pointers tell absent keys from zeros.
type paramsJSON struct {
	Kernel       *string     `json:"kernel"`
	Mean         *float64    `json:"mean"`
	Variance     *float64    `json:"variance"`
	Noise        *float64    `json:"noise"`
	Lengthscales *[]*float64 `json:"lengthscales"`
}

// MarshalJSON writes the JSON form of p.
func (p Params) MarshalJSON() ([]byte, error) {
	ls := make([]*float64, len(p.Lengthscales))
	for j := range ls {
		if !math.IsInf(p.Lengthscales[j], 1) {
			ls[j] = &p.Lengthscales[j]
		}
	}
	return json.Marshal(paramsJSON{&p.Kernel, &p.Mean, &p.Variance, &p.Noise, &ls})
}

// UnmarshalJSON reads the JSON form. Errors that concern one key are *ParamError.
func (p *Params) UnmarshalJSON(b []byte) error {
	var f paramsJSON
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return err
	}
	q := Params{Kernel: families[0]}
	if f.Kernel != nil {
		q.Kernel = *f.Kernel
	}
	if f.Mean != nil {
		q.Mean = *f.Mean
	}
	switch {
	case f.Variance == nil:
		return &ParamError{"variance", "missing"}
	case f.Noise == nil:
		return &ParamError{"noise", "missing"}
	case f.Lengthscales == nil:
		return &ParamError{"lengthscales", "missing"}
	}
	q.Variance, q.Noise = *f.Variance, *f.Noise
	q.Lengthscales = make([]float64, len(*f.Lengthscales))
	for j, l := range *f.Lengthscales {
		q.Lengthscales[j] = math.Inf(1)
		if l != nil {
			q.Lengthscales[j] = *l
		}
	}
	if err := q.Check(-1); err != nil {
		return err
	}
	*p = q
	return nil
}

// MinParam is the least value of a lengthscale, of σ_f² and of σ_n² in training,
// as in the paper.
const MinParam = 1e-6

// Softplus returns p = 1e-6 + log(1 + e^u), the paper's map from the line to
// the positive parameters.
func Softplus(u float64) float64 {
	if u > 0 { // e^u may overflow, e^-u cannot
		return MinParam + u + math.Log1p(math.Exp(-u))
	}
	return MinParam + math.Log1p(math.Exp(u))
}

// SoftplusInverse returns u with softplus(u) = p; -Inf for p <= 1e-6.
func SoftplusInverse(p float64) float64 {
	q := p - MinParam
	switch {
	case q <= 0:
		return math.Inf(-1)
	case q > 1:
		return q + math.Log1p(-math.Exp(-q))
	}
	return math.Log(math.Expm1(q))
}

// SoftplusSlope returns dp/du = 1/(1 + e^-u).
func SoftplusSlope(u float64) float64 {
	if u < 0 {
		e := math.Exp(u)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-u))
}
