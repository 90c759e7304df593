package bbgp

import "fmt"

// Bytes of the parts of a fit, before it starts: what the memory budget is
// compared with.

// exactBytes is the memory of an exact evaluation with gradient on n rows.
func exactBytes(n int) int64 { return 16 * int64(n) * int64(n) }

const (
	typicalPasses  = 20 // of an evaluation: what the basis must have room for
	typicalColumns = 64 // of the gradient
	typicalParts   = 64 // neighbours, or half of the rank, of the preconditioner
)

// krylovBytes predicts the memory of method bbgp: the data, raw, standardised
// and packed in both precisions; the preconditioner; a basis in float32; and
// work areas of some blocks.
func krylovBytes(n, d, probes int) int64 {
	p := int64(probes + 1)
	data := int64(d) * (8 + 8 + 8 + 4)
	blocks := 8 * p * 14
	basis := 4 * p * typicalPasses
	precond := int64(typicalParts * 2 * 12)
	columns := int64(8 * 2 * typicalColumns)
	return int64(n) * (data + blocks + basis + precond + columns)
}

// sparseBytes is the memory of sgpr and cglb with m inducing rows.
func sparseBytes(n, m int) int64 { return 8 * int64(n) * int64(m) * 4 }

// checkMemory refuses what cannot fit the budget.
func (o *Options) checkMemory(n, d int) error {
	if o.Memory <= 0 {
		return nil
	}
	// What is left of the basis is made a second time where it does not fit.
	need := krylovBytes(n, d, o.Probes) - basisBytes(n, o.Probes)
	switch o.Method {
	case "exact":
		need = exactBytes(n)
	case "sgpr", "cglb":
		need = sparseBytes(n, min(o.inducing(), n))
	}
	if need > o.Memory {
		return &MemoryError{fmt.Sprintf("method %s on %d rows of %d inputs", o.Method, n, d), need, o.Memory}
	}
	return nil
}
