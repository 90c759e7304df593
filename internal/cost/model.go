package cost

import (
	"encoding/json"
	"errors"
	"fmt"

	"bbgp.dev/internal/gp"
	"bbgp.dev/kernelmv"
)

// Costs are what the parts of a computation cost one thread, all in one unit. Only
// their ratios enter the choices of method, rank, neighbours and probes (method.go,
// precond.go, probes.go). With n rows, D inputs, k neighbours and r
// columns of the low-rank part, a row of the table costs
//
//	in a pass of 8 columns      n Pair(D) + k Neighbour + r Column
//	when P is made              Factor k³ + (Entry(D) + Projection r) k²
//	in a dense evaluation       Dense n² + DenseEntry(D) n
//
// The default, StandardCosts, makes every choice, and with it the bits of every
// result, the same on all machines; Measure gives the costs of this one.
type Costs struct {
	Name string `json:"name"` // standard, measured, or what the author of others calls them
	Unit string `json:"unit"` // of all numbers, such as cycles or ns

	// An ordered pair of rows in a product with K: distance, covariance function and
	// 8 columns, in float32 or float64, and what 8 more columns add in float64.
	Pair32 InputCost `json:"pair32"`
	Pair64 InputCost `json:"pair64"` // the same in float64
	Wide64 float64   `json:"wide64"` // what 8 more columns add, in float64

	// In the two solves with the factors of P, 8 columns: each column and neighbour.
	Column    float64 `json:"column"`
	Neighbour float64 `json:"neighbour"` // the same, each neighbour

	// In making P: the factors of the neighbours' blocks, the entries of K in these,
	// and taking off what the low-rank part has of them.
	Factor     float64   `json:"factor"`
	Entry      InputCost `json:"entry"`      // an entry of K in the blocks of the neighbours
	Projection float64   `json:"projection"` // taking off that what the low-rank part has of it

	// In a dense evaluation with gradient: one of the n³ operations of the Cholesky
	// factor and the inverse, and an entry with its share of the gradient.
	Dense      float64   `json:"dense"`
	DenseEntry InputCost `json:"dense_entry"` // an entry of a dense evaluation, with its share of the gradient
}

// An InputCost is Fixed + Input D for D inputs.
type InputCost struct {
	Fixed float64 `json:"fixed"` // of any number of inputs
	Input float64 `json:"input"` // of each input
}

func (c InputCost) At(d int) float64 { return c.Fixed + c.Input*float64(d) }

// StandardCosts are cycles of a core with AVX-512 (Cascade Lake), counted and
// measured once.
func StandardCosts() Costs {
	return Costs{
		Name: "standard", Unit: "cycles",
		Pair32: InputCost{0.8, 0.024}, Pair64: InputCost{2.3, 0.03}, Wide64: 0.5,
		Column: 8, Neighbour: 12,
		Factor: 0.06, Entry: InputCost{1.3, 0.07}, Projection: 0.06,
		Dense: 0.05, DenseEntry: InputCost{2.5, 0.15},
	}
}

// OrStandard is c, or the standard costs for nil.
func OrStandard(c *Costs) *Costs {
	if c == nil {
		s := StandardCosts()
		c = &s
	}
	return c
}

// pair is the cost of a pair of rows with d inputs.
func (c *Costs) pair(d int, prec kernelmv.Precision) float64 {
	if prec == kernelmv.F64 {
		return c.Pair64.At(d)
	}
	return c.Pair32.At(d)
}

// A Cost is one of the numbers of Costs, by its name in JSON.
type Cost struct {
	Name  string
	Value float64
}

// List returns the numbers in the order of the fields.
func (c *Costs) List() []Cost {
	var list []Cost
	for _, f := range c.fields() {
		list = append(list, Cost{f.name, *f.value})
	}
	return list
}

type costField struct {
	name  string
	value *float64
}

func (c *Costs) fields() []costField {
	return []costField{
		{"pair32.fixed", &c.Pair32.Fixed}, {"pair32.input", &c.Pair32.Input},
		{"pair64.fixed", &c.Pair64.Fixed}, {"pair64.input", &c.Pair64.Input}, {"wide64", &c.Wide64},
		{"column", &c.Column}, {"neighbour", &c.Neighbour},
		{"factor", &c.Factor}, {"entry.fixed", &c.Entry.Fixed}, {"entry.input", &c.Entry.Input},
		{"projection", &c.Projection},
		{"dense", &c.Dense}, {"dense_entry.fixed", &c.DenseEntry.Fixed}, {"dense_entry.input", &c.DenseEntry.Input},
	}
}

// Check returns an *OptionError that names the first number that is not positive
// and finite.
func (c *Costs) Check() error {
	for _, f := range c.fields() {
		if !gp.Finite(*f.value) || *f.value <= 0 {
			return &gp.OptionError{Option: "costs",
				Reason: fmt.Sprintf("%s is %v, not a positive number", f.name, *f.value)}
		}
	}
	return nil
}

// usualInputs are those of the pair by which costs of different units are compared.
const usualInputs = 18

// Scale is a pair of rows with 18 inputs in float32, by which costs of different
// units are compared.
func (c *Costs) Scale() float64 { return c.Pair32.At(usualInputs) }

// ReadCosts reads the JSON form, or that of a report with the member "costs". The
// numbers must all be there and pass Check.
func ReadCosts(b []byte) (*Costs, error) {
	var report struct {
		Costs json.RawMessage `json:"costs"`
	}
	if err := json.Unmarshal(b, &report); err != nil {
		return nil, err
	}
	if report.Costs != nil {
		b = report.Costs
	}
	c := new(Costs)
	if err := json.Unmarshal(b, c); err != nil {
		return nil, err
	}
	if c.Name == "" {
		return nil, errors.New("no name of costs")
	}
	return c, c.Check()
}

// AtLeast raises every number to a share of the standard at the same speed.
func (c *Costs) AtLeast(share float64) {
	std := StandardCosts()
	share *= c.Scale() / std.Scale()
	ref := std.fields()
	for i, f := range c.fields() {
		*f.value = max(*f.value, share**ref[i].value)
	}
}
