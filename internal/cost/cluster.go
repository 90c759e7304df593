package cost

import (
	"math"

	"bbgp.dev/kernelmv"
)

// What a fit takes on ranks that share its work, by the costs of one thread. With R ranks, n rows and p columns
//
//	product        the rank with most pairs and most bytes, as they are dealt (kernelmv.DealtTo): about n²/R pairs,
//	               n p numbers of 8 bytes for the rows of others, half as many sums in float32, as many in float64
//	below n²       measured on one machine; chunks of the tree are divided, a part is not; as many numbers of boxes
//	               as of rows at most
//	gather         n p numbers in each of Work.gathers besides
//	low rank       the rows of its factor by rank; all of them pass by on each
//	neighbours     found, factorised and solved with by rows; columns of the low-rank part come some at a time
//	basis          rows by rank
//
// A prediction, not a promise: nobody has measured more ranks than one machine has.

// A Cluster is ranks with so many cores each, joined by a network of so many gigabits a second.
type Cluster struct {
	Ranks, Cores int
	Gbps         float64
}

// Work is what a fit asks for.
type Work struct {
	Rows, Inputs     int
	Columns          int // of a block: probes and the target
	Passes           int // of an evaluation
	Evaluations      int
	Rank, Neighbours int
	Latents          int                // instead of both: their memory, as their time is little
	Precision        kernelmv.Precision // of the products
	Below            float64            // seconds of one thread for a product below n², 0 for one of all pairs
	Nanoseconds      Costs              // of one thread, measured
}

// A ClusterTime is what is predicted, in seconds, of wall time.
type ClusterTime struct {
	Ranks          int     `json:"ranks"`                   // that the fit is divided among
	Cores          int     `json:"cores"`                   // of each
	Gbps           float64 `json:"network_gbps"`            // gigabits a second
	Product        float64 `json:"product_seconds"`         // one product with K, with what it sends
	Gather         float64 `json:"gather_seconds"`          // the part of the network and of copies in it
	GatherBytes    int64   `json:"gather_bytes"`            // that come in at each rank, rows and sums
	Preconditioner float64 `json:"preconditioner_seconds"`  // made once
	Evaluation     float64 `json:"evaluation_seconds"`      // with its gradient
	Fit            float64 `json:"fit_seconds"`             // all of it
	Bottleneck     string  `json:"bottleneck"`              // the part of an evaluation that takes longest
	Share          float64 `json:"bottleneck_share"`        // of an evaluation
	Bytes          int64   `json:"bytes_per_rank"`          // of memory, at the peak: 1.5 times its parts and 30 MiB
	LowRankBytes   int64   `json:"low_rank_bytes"`          // a part: of P that of low rank, rows by rank
	NearBytes      int64   `json:"neighbour_bytes"`         // a part: of P that of neighbours, rows by rank
	BasisBytes     int64   `json:"basis_bytes"`             // a part: rows by rank
	BlockBytes     int64   `json:"block_bytes"`             // a part: blocks of columns, rows by rank
	WholeBytes     int64   `json:"whole_bytes"`             // a part: the table, gathered blocks, rows that pass by
	Speedup        float64 `json:"speedup_over_one_rank"`   // of an evaluation
	Pairs          float64 `json:"pairs_per_second_of_all"` // of rows, in a product, ordered
}

const (
	// rowBlocks are the blocks of a process that are by rows, gathered those that are whole beside packed ones, and
	// ordered those of maps and latents besides, which have other orders than that of rows.
	rowBlocks, gathered, ordered = 7, 1, 2
	// busy is the share of the cores' time that work takes in one machine.
	busy = 0.9
	// useful is the share of a network's bits that large messages get: 8.75 GB/s of 100 Gb/s.
	useful = 0.7
	// latency of a message, and the gathers of a pass that are of few numbers.
	latency, smallGathers = 20e-6, 4
	// copied is what a number that is brought to all ranks takes a thread of each, in nanoseconds: in and out of the
	// memory of the gather.
	copied = 8
	// undivided is what each rank makes of a product below n²; the rest is in h2Chunks at most.
	undivided, h2Chunks = 0.1, 60
	// panelColumns of the low-rank part are on every rank at a time, and as many numbers of triangles.
	panelColumns = 48
	// bytesPerColumn is what each entry of W takes a second time, by columns; bytesPerFound what the search leaves.
	bytesPerColumn, bytesPerFound = 12, 4
	finalEvaluations              = 3.5 // that the end of a fit is worth
)

// Time predicts what w takes on c.
func (c Cluster) Time(w Work) ClusterTime {
	t := c.time(w)
	alone := Cluster{Ranks: 1, Cores: c.Cores, Gbps: c.Gbps}.time(w)
	t.Speedup = alone.Evaluation / t.Evaluation
	return t
}

func (c Cluster) time(w Work) ClusterTime {
	n, ranks := float64(w.Rows), float64(c.Ranks)
	u := w.Nanoseconds
	second := c.second()
	blocks := math.Ceil(float64(w.Columns) / 8)
	pair := u.pair(w.Inputs, w.Precision) + (blocks-1)*u.Wide64*u.Pair32.At(w.Inputs)/u.Pair64.At(w.Inputs)
	if w.Precision == kernelmv.F64 {
		pair = u.pair(w.Inputs, w.Precision) + (blocks-1)*u.Wide64
	}
	t := ClusterTime{Ranks: c.Ranks, Cores: c.Cores, Gbps: c.Gbps}
	share, gather := c.divide(w, &t)
	pairs := n * n * pair * second * share
	if w.Below > 0 {
		pairs = w.Below * 1e9 * second * (undivided + (1-undivided)/min(ranks, h2Chunks))
	}
	t.Product = pairs + t.Gather
	t.Pairs = n * n / t.Product
	solves := n * blocks * (u.Column*float64(w.Rank) + u.Neighbour*float64(w.Neighbours)) * second / ranks
	basis := u.Dense * n * math.Pow(float64(w.Columns*w.Passes), 2) * second / ranks
	factor := n * u.Dense * float64(w.Rank*w.Rank) * second / ranks
	neighbours := searchShare * n * u.build(w.Inputs, w.Neighbours, w.Rank) * second / ranks
	if c.Ranks > 1 {
		factor += n * float64(w.Rank) * 8 / c.bytesPerSecond()
		turns := math.Ceil(float64(w.Neighbours*w.Neighbours) / (2 * panelColumns * ranks))
		neighbours += turns * n * float64(w.Rank) * 8 / c.bytesPerSecond()
	}
	t.Preconditioner = factor + neighbours

	passes := float64(w.Passes)
	last := 0.0
	for _, part := range []struct {
		name    string
		seconds float64
	}{
		{"covariance function and products in the cores", (passes + gradProducts) * pairs},
		{"network and copies", passes * (t.Gather + w.gathers()*gather)},
		{"low-rank factor", factor}, {"neighbours", neighbours},
		{"preconditioner, its solves", passes * solves}, {"re-orthogonalisation", basis},
	} {
		t.Evaluation += part.seconds
		if part.seconds > last {
			last, t.Bottleneck = part.seconds, part.name
		}
	}
	t.Share = last / t.Evaluation
	t.Fit = (float64(w.Evaluations) + finalEvaluations) * t.Evaluation
	c.bytes(w, &t)
	return t
}

// gathers of a block are in a pass beside the product: two for W, which picks rows. Latents have an order of their own:
// the block, what F⁻ᵀ and what F⁻¹ make are gathered.
func (w *Work) gathers() float64 {
	switch {
	case w.Latents > 0:
		return 3
	case w.Neighbours > 0:
		return 2
	}
	return 0
}

// second is what a nanosecond of a thread takes a rank, in seconds.
func (c Cluster) second() float64 { return 1e-9 / (float64(c.Cores) * busy) }

// bytesPerSecond come in at a rank.
func (c Cluster) bytesPerSecond() float64 { return c.Gbps / 8 * 1e9 * useful }

// divide tells t what comes in at a rank in a product, and returns the largest share of its pairs and the seconds of
// n p numbers.
func (c Cluster) divide(w Work, t *ClusterTime) (share, gather float64) {
	rows, numbers := 0, 0
	for _, d := range kernelmv.DealtTo(w.Rows, c.Ranks) {
		share, rows = max(share, d.Pairs), max(rows, d.Rows)
		numbers = max(numbers, d.NumbersTo(w.Columns, w.Precision))
	}
	if c.Ranks == 1 {
		return share, 0
	}
	if w.Below > 0 {
		numbers = 2 * rows * w.Columns
	}
	t.GatherBytes, t.Gather = int64(8*numbers), c.toReceive(8*float64(numbers))
	copies := copied * float64(w.Rows*w.Columns) * c.second()
	t.Gather += copies
	return share, c.toReceive(8*float64(rows*w.Columns)) + copies
}

// toReceive is how long so many bytes take to come in, with messages of few numbers.
func (c Cluster) toReceive(bytes float64) float64 {
	return bytes/c.bytesPerSecond() + (1+smallGathers)*math.Ceil(math.Log2(float64(c.Ranks)))*latency
}

// bytes predicts the memory of a rank: data and what products gather on each, what has rows by rank shared.
func (c Cluster) bytes(w Work, t *ClusterTime) {
	n, ranks := int64(w.Rows), int64(c.Ranks)
	near := Size{w.Rank, w.Neighbours, w.Latents}.bytes(w.Rows)
	if w.Latents == 0 {
		low := int64(max(w.Rank, 0)) * n * bytesPerRank
		if w.Neighbours == 0 {
			low = near
		}
		near -= low
		t.LowRankBytes = low / ranks
	}
	block := 8 * n * int64(w.Columns)
	whole := KrylovBytes(w.Rows, w.Inputs, w.Columns, Size{}) + TableBytes(w.Rows, w.Inputs) - rowBlocks*block
	if ranks > 1 {
		whole += gathered * block
		if w.Below > 0 || w.Latents > 0 {
			whole += ordered * block
		}
		near += bytesPerColumn * n * int64(w.Neighbours)
		whole += bytesPerFound * n * int64(w.Neighbours)
		if w.Rank > 0 && w.Neighbours > 0 {
			whole += 2 * 8 * n * panelColumns
		}
	}
	t.NearBytes, t.BasisBytes, t.WholeBytes = near/ranks, 4*n*int64(w.Columns*w.Passes)/ranks, whole
	t.BlockBytes = rowBlocks * block / ranks
	t.Bytes = ProgramBytes + int64(garbage*float64(t.LowRankBytes+t.NearBytes+t.BasisBytes+t.BlockBytes+whole))
}
