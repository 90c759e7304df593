package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"bbgp.dev/bench"
	"bbgp.dev/internal/cost"
	"bbgp.dev/kernelmv"
)

func (a *app) benchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine: kernel products, gradients, dense algebra, costs",
		Example: `  bbgp bench product --n 10000 --d 8 --p 9
  bbgp bench dense --ops gemm,cholesky --json`,
	}
	c.Args = subcommand
	c.RunE = func(c *cobra.Command, args []string) error { return c.Help() }
	c.AddCommand(
		a.benchKernel("product", "p", 9, "Products with the kernel matrix", bench.Product),
		a.benchKernel("gradient", "r", 16, "Gradients by the lengthscales", bench.Gradient),
		a.benchDense(),
		a.benchCosts(),
	)
	return c
}

type measureFunc func(context.Context, bench.ProductSpec) (*bench.ProductReport, error)

// benchKernel makes `bench product` and `bench gradient`; columns is the name
// of the flag for the number of right-hand sides.
func (a *app) benchKernel(name, columns string, p int, short string, measure measureFunc) *cobra.Command {
	var mach machine
	var kernel, precision string
	var asJSON bool
	spec := bench.ProductSpec{}
	c := &cobra.Command{
		Use:     name,
		Short:   short,
		Example: fmt.Sprintf("  bbgp bench %s --n 10000 --d 8\n  bbgp bench %s --precision f64 --json", name, name),
		Args:    exactly(),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			var err error
			if spec.Kernel, err = kernelmv.ParseFamily(kernel); err != nil {
				return usagef("--kernel: %v", err)
			}
			switch precision {
			case "f32":
				spec.Precision = kernelmv.F32
			case "f64":
				spec.Precision = kernelmv.F64
			default:
				return usagef("--precision %q is not f32 or f64", precision)
			}
			if spec.N < 1 || spec.D < 1 || spec.D > 1000 || spec.P < 1 || spec.P > 64 || spec.Time <= 0 {
				return usagef("--n and --time must be positive, --d 1 to 1000, --%s 1 to 64", columns)
			}
			e, err := mach.engine(a)
			if err != nil {
				return err
			}
			spec.Impl, spec.Threads = e.Impl, e.Par.Threads()
			r, err := measure.within(c.Context(), spec)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.out, r)
			}
			_, err = fmt.Fprintf(a.out, "n %d, D %d, %d columns, %s, %s, %s, %d threads\nwall %.4g s, CPU %.4g s "+
				"each\n%.4g ordered pairs/s, %.3g cycles per pair\n%.0f %% of the multiply-add bound; peak "+
				"%.1f Gflop/s\n",
				r.N, r.D, r.P, r.Kernel, r.Precision, r.ISA, r.Threads, r.Seconds, r.CPUSeconds, r.PairsPerS,
				r.CyclesPair, 100*r.FMAShare, r.PeakGFlops)
			return err
		},
	}
	fl := c.Flags()
	fl.IntVar(&spec.N, "n", 10000, "rows")
	fl.IntVar(&spec.D, "d", 8, "inputs")
	fl.IntVar(&spec.P, columns, p, "right-hand sides")
	fl.StringVar(&kernel, "kernel", "matern32", "covariance function")
	fl.StringVar(&precision, "precision", "f32", "f32 or f64")
	fl.BoolVar(&spec.Skip, "skip", false, "allow the O(n) form for one input and the skipping of far tiles")
	fl.DurationVar(&spec.Time, "time", time.Second, "about how long to measure")
	mach.add(fl)
	fl.BoolVar(&asJSON, "json", false, "report as one JSON object")
	return c
}

// within measures, or refuses a table that is too large: inputs as drawn and packed in both precisions, columns and
// products.
func (m measureFunc) within(ctx context.Context, s bench.ProductSpec) (*bench.ProductReport, error) {
	if _, err := memoryBudget(""); err != nil {
		return nil, err
	}
	if err := cost.FitsMemory(fmt.Sprintf("a table of %d rows", s.N),
		float64(s.N)*float64(44*s.D+64*s.P+64)); err != nil {
		return nil, err
	}
	return m(ctx, s)
}

func (a *app) benchDense() *cobra.Command {
	var mach machine
	var asJSON bool
	spec := bench.DenseSpec{}
	c := &cobra.Command{
		Use:     "dense",
		Short:   "Dense products and factorisations",
		Example: "  bbgp bench dense\n  bbgp bench dense --ops gemm,cholesky --threads 1 --json",
		Args:    exactly(),
		RunE: func(c *cobra.Command, args []string) error {
			a.started = true
			e, err := mach.engine(a)
			if err != nil {
				return err
			}
			for _, op := range spec.Ops {
				if !slices.Contains(bench.DenseOps(), op) {
					return usagef("--ops %s is not one of %v", op, bench.DenseOps())
				}
			}
			if _, err := memoryBudget(""); err != nil {
				return err
			}
			spec.Impl = e.Impl
			if mach.threads > 0 {
				spec.Threads = []int{mach.threads}
			}
			if !(spec.Scale > 0) || spec.Time <= 0 {
				return usagef("--scale and --time must be positive")
			}
			list, err := bench.Dense(c.Context(), spec)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.out, list)
			}
			fmt.Fprintf(a.out, "%-22s %9s %6s %6s %7s %7s %9s %8s %9s\n", "operation", "precision", "n", "m", "threads",
				"ISA", "Gflop/s", "of peak", "seconds")
			for _, r := range list {
				if _, err = fmt.Fprintf(a.out, "%-22s %9s %6d %6d %7d %7s %9.1f %6.0f %% %9.4g\n", r.Op, r.Precision,
					r.N, r.M, r.Threads, r.ISA, r.Gflops, 100*r.FMAShare, r.Seconds); err != nil {
					return err
				}
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.StringSliceVar(&spec.Ops, "ops", nil, fmt.Sprintf("operations (default: all of %v)", bench.DenseOps()))
	fl.Float64Var(&spec.Scale, "scale", 1, "multiplies the sizes")
	fl.DurationVar(&spec.Time, "time", time.Second, "about how long to measure each")
	mach.add(fl)
	fl.BoolVar(&asJSON, "json", false, "report as one JSON list")
	return c
}
