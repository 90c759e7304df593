package linalg

// An identity is the preconditioner P = I of n rows.
type identity int

// Identity returns the preconditioner P = I, F = I, for n rows: none.
func Identity(n int) Preconditioner { return identity(n) }

func (f identity) Dim() int                    { return int(f) }
func (f identity) LogDet() float64             { return 0 }
func (f identity) FInvTo(dst, src Matrix)      { dst.CopyFrom(src) }
func (f identity) FInvTransTo(dst, src Matrix) { dst.CopyFrom(src) }
func (f identity) SolveTo(dst, src Matrix)     { dst.CopyFrom(src) }
