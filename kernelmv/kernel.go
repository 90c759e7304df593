package kernelmv

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"bbgp.dev/asm"
)

// A Family is a covariance function of unit variance, h(r).
type Family = asm.Family

// The families of covariance functions.
const (
	Matern12 = asm.Matern12 // exp(-r)
	Matern32 = asm.Matern32 // (1 + a) exp(-a), a = √3 r
	Matern52 = asm.Matern52 // (1 + a + a²/3) exp(-a), a = √5 r
	Gaussian = asm.Gaussian // exp(-r²/2)
)

var allFamilies = [...]asm.Family{Matern12, Matern32, Matern52, Gaussian}

// ParseFamily returns the family called name: matern12, matern32, matern52 or
// gaussian.
func ParseFamily(name string) (asm.Family, error) {
	var names []string
	for _, f := range allFamilies {
		if f.String() == name {
			return f, nil
		}
		names = append(names, f.String())
	}
	return 0, fmt.Errorf("kernel %q is unknown; there are %s", name, strings.Join(names, ", "))
}

// A Kernel is a covariance function with its parameters.
type Kernel struct {
	Family   asm.Family
	Variance float64 // s2 > 0

	// Lengthscales holds one l_d > 0 per input. +Inf takes the input out of
	// the distance.
	Lengthscales []float64
}

// check tells whether the parameters are valid for d inputs.
func (k *Kernel) check(d int) error {
	if int(k.Family) >= len(allFamilies) {
		return errors.New("kernelmv: unknown kernel family")
	}
	if !(k.Variance > 0) || math.IsInf(k.Variance, 1) {
		return fmt.Errorf("kernelmv: variance %v is not positive and finite", k.Variance)
	}
	if len(k.Lengthscales) != d {
		return fmt.Errorf("kernelmv: %d lengthscales for %d inputs", len(k.Lengthscales), d)
	}
	for i, l := range k.Lengthscales {
		if !(l > 0) {
			return fmt.Errorf("kernelmv: lengthscale %v of input %d is not positive", l, i)
		}
	}
	return nil
}
