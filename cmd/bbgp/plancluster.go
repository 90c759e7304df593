package main

import (
	"cmp"
	"context"
	"io"
	"math"

	"github.com/spf13/pflag"

	"bbgp.dev/bbgp"
	"bbgp.dev/bbgp/enum"
	"bbgp.dev/internal/cost"
	"bbgp.dev/kernelmv"
)

// clusterFlags ask what a fit would take on several ranks.
type clusterFlags struct {
	ranks, cores int
	gbps         float64
	rows         int
}

func (f *clusterFlags) add(fl *pflag.FlagSet) {
	fl.IntVar(&f.ranks, "ranks", 0, "predict for so many ranks of bbgp-mpi, by the speed of this machine's cores")
	fl.IntVar(&f.cores, "cores", 64, "cores of each of these ranks")
	fl.Float64Var(&f.gbps, "network", 100, "gigabits a second between them")
	fl.IntVar(&f.rows, "rows", 0, "predict for so many rows such as those of the table (default: those that it has)")
}

func (f *clusterFlags) check() error {
	switch {
	case f.ranks < 0 || f.ranks > 256:
		return usagef("--ranks %d is not between 1 and 256, the most that rows are divided into", f.ranks)
	case f.cores < 1:
		return usagef("--cores %d is less than 1", f.cores)
	case !(f.gbps > 0) || math.IsInf(f.gbps, 0):
		return usagef("--network %v is no number of gigabits a second above 0", f.gbps)
	case f.rows < 0:
		return usagef("--rows %d is negative", f.rows)
	case f.rows > 0 && f.ranks == 0:
		return usagef("--rows needs --ranks")
	}
	return nil
}

// A clusterPlan is what plan --ranks --json prints.
type clusterPlan struct {
	bbgp.Plan
	ForRows int              `json:"for_rows"` // that the cluster is predicted for
	Cluster cost.ClusterTime `json:"cluster"`  // what they take on it
}

// passesGrow as a power of the rows, where more are planned for than the table has (internal/cost: rowPower).
const passesGrow = 0.6

// nanoseconds is the unit of measured costs, whether measured now or in the file of --costs.
const nanoseconds = "ns"

// usualProbes are those of the training, where nobody asks for others: the plan tells those of the end.
const usualProbes = 7

// onCluster predicts what a planned fit takes on ranks. The costs of a thread are measured here, or those of --costs.
func (f *clusterFlags) onCluster(ctx context.Context, opt *bbgp.Options, p *bbgp.Plan) (*clusterPlan, error) {
	if p.Passes == 0 {
		return nil, usagef("--ranks: method %s makes no products to share; --method bbgp does", p.Method)
	}
	costs := cost.OrStandard(opt.Costs)
	if costs.Unit != nanoseconds {
		measured, err := bbgp.MeasureCosts(ctx, opt.Engine)
		if err != nil {
			return nil, err
		}
		costs = &measured
	}
	c := &clusterPlan{Plan: *p, ForRows: p.Distinct}
	if f.rows > 0 {
		c.ForRows = f.rows
	}
	passes := float64(p.Passes) / float64(p.Evaluations) * math.Pow(float64(c.ForRows)/float64(p.Distinct), passesGrow)
	// Of the sample, small, the plan tells a low-rank part that is most of it.
	w := cost.Work{Rows: c.ForRows, Inputs: p.Inputs, Columns: cmp.Or(opt.Probes, usualProbes) + 1,
		Passes: int(math.Ceil(passes)), Evaluations: p.Evaluations,
		Rank:       min(p.Rank, cost.MostRank(c.ForRows, cost.OrStandard(opt.Costs))),
		Neighbours: p.Neighbours, Latents: int(float64(p.Latents) * float64(c.ForRows) / float64(p.Distinct)),
		Nanoseconds: *costs}
	if p.Precision == "f64" {
		w.Precision = kernelmv.F64
	}
	if p.Product == enum.ProductH2 {
		w.Below = p.ProductCPU * float64(c.ForRows) / float64(p.Distinct)
	}
	c.Cluster = cost.Cluster{Ranks: f.ranks, Cores: f.cores, Gbps: f.gbps}.Time(w)
	return c, nil
}

// write is the part of the text that tells of the cluster.
func (c *clusterPlan) write(w io.Writer) error {
	t := &c.Cluster
	textf(w, "\non %d ranks of %d cores, %.4g Gb/s, %d rows, were their cores those of this machine\n",
		t.Ranks, t.Cores, t.Gbps, c.ForRows)
	textf(w, "product       %.3g s, of it %.3g s to gather %s\n", t.Product, t.Gather, formatBytes(t.GatherBytes))
	textf(w, "evaluation    %.3g s, %.1f times as fast as one such rank\n", t.Evaluation, t.Speedup)
	textf(w, "fit           about %s\n", about(t.Fit))
	textf(w, "bottleneck    %s, %.0f %% of an evaluation\n", t.Bottleneck, 100*t.Share)
	_, err := textf(w, "memory        about %s a rank\n", formatBytes(t.Bytes))
	return err
}
