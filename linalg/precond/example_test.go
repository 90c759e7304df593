package precond_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"bbgp.dev/asm"
	"bbgp.dev/linalg"
	"bbgp.dev/linalg/krylov"
	"bbgp.dev/linalg/precond"
)

// An ornstein is the covariance exp(-|x - x'|) of points on a line, and with its
// noise an operator: all that a user's own kernel needs.
type ornstein struct {
	x     []float64
	noise float64
}

func (o ornstein) at(i, j int) float64 { return math.Exp(-math.Abs(o.x[i] - o.x[j])) }
func (o ornstein) Dim() int            { return len(o.x) }

// MulTo makes it a linalg.SymOp.
func (o ornstein) MulTo(ctx context.Context, dst, src linalg.Matrix) error {
	for i := range dst.Rows {
		for c := range dst.Cols {
			sum := o.noise * src.At(i, c)
			for j := range src.Rows {
				sum += o.at(i, j) * src.At(j, c)
			}
			dst.Set(i, c, sum)
		}
	}
	return ctx.Err()
}

// The other methods make it a linalg.ColOp, for preconditioners.

func (o ornstein) DiagTo(dst []float64) {
	for i := range dst {
		dst[i] = 1
	}
}

func (o ornstein) ColsTo(ctx context.Context, dst linalg.Matrix, from int, cols []int) error {
	for i := range dst.Rows {
		for k, j := range cols {
			dst.Set(i, k, o.at(from+i, j))
		}
	}
	return ctx.Err()
}

func (o ornstein) BlockTo(_ int, dst linalg.Matrix, rows []int32) {
	for a, i := range rows {
		for b, j := range rows {
			dst.Set(a, b, o.at(int(i), int(j)))
		}
	}
}

func (o ornstein) TrianglesTo(_ int, dst []float64, rows []int32) {
	const lanes = asm.CholLanes
	for a := range len(rows) / lanes {
		for b := range a + 1 {
			for l := range lanes {
				dst[(a*(a+1)/2+b)*lanes+l] = o.at(int(rows[a*lanes+l]), int(rows[b*lanes+l]))
			}
		}
	}
}

// NeighboursTo is for the Vecchia part only, which the examples do without.

func (o ornstein) NeighboursTo(context.Context, []int32, []int, int) error {
	return fmt.Errorf("no neighbours here")
}

// An operator with a preconditioner of low rank: a few passes solve a system.
func ExampleNew() {
	e, err := linalg.NewEngine(nil, 1)
	if err != nil {
		log.Fatal(err)
	}
	const n = 500
	op, noise := ornstein{noise: 0.5}, make([]float64, n)
	for i := range n {
		op.x = append(op.x, float64(i)/50)
		noise[i] = op.noise
	}
	ctx := context.Background()
	p, err := precond.New(ctx, e, op, noise, precond.Options{Rank: 64})
	if err != nil {
		log.Fatal(err)
	}
	b, v := linalg.NewMatrix(n, 1), linalg.NewMatrix(n, 1)
	b.Set(7, 0, 1)
	res, err := krylov.NewCG(e, n, 1).Solve(ctx, op, p, v, b, krylov.CGOptions{Tol: 1e-4})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("few passes:", res.Passes <= 8, "converged:", res.Converged)
	// Output: few passes: true converged: true
}

// Each of two variables is regressed on others of a covariance matrix.
func ExampleRegress() {
	e, err := linalg.NewEngine(nil, 1)
	if err != nil {
		log.Fatal(err)
	}
	op := ornstein{x: []float64{0, 1, 2, 3}}
	coef, variance := linalg.NewMatrix(2, 2), make([]float64, 2)
	rows := []int32{1, 0, 2, 3, 2, 0} // 1 on 0 and 2, 3 on 2 and 0
	if err := precond.Regress(context.Background(), e, op, linalg.Matrix{Rows: 4}, make([]float64, 4), rows, coef,
		variance); err != nil {
		log.Fatal(err)
	}
	// The process is Markov: 3 depends on 2 alone.
	fmt.Printf("%.3f %.3f, variances %.3f\n", coef.Row(0), coef.Row(1), variance)
	// Output: [0.324 0.324] [0.368 -0.000], variances [0.762 0.865]
}
