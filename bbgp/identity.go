package bbgp

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// identity says what a fit is of: all that its bits depend on.
func (o *Options) identity(d *gp.Table) ([]byte, error) {
	h := sha256.New()
	for i := range d.X.Rows {
		h.Write(evidence.AppendFloats(nil, d.X.Row(i)))
	}
	for _, v := range [][]float64{d.Y, d.NoiseScale, d.NoiseExtra} {
		h.Write(evidence.AppendFloats(binary.LittleEndian.AppendUint64(nil, uint64(len(v))), v))
	}
	for _, r := range d.Repeats {
		h.Write(evidence.AppendFloats(nil, []float64{r.More, r.SS, r.LogD}))
	}
	return json.Marshal(map[string]any{
		"data": hex.EncodeToString(h.Sum(nil)), "rows": d.X.Rows, "inputs": d.X.Cols,
		"kernel": o.Kernel, "method": o.Method, "optimizer": o.Optimizer, "eps": o.Eps, "probes": o.Probes,
		"lml_stderr": o.LMLStdErr, "rank": o.Rank, "neighbours": o.Neighbours, "precision": o.Precision,
		"product": o.Product, "tolerance": o.Tolerance,
		"no_scale": o.NoScale, "scale_floor": o.ScaleFloor, "fix_mean": o.FixMean, "seed": o.Seed,
		"prefit_rows": o.PrefitRows, "restarts": o.Restarts,
		"memory": o.Memory, "costs": o.Costs, "start": o.Start, "isa": o.Engine.Impl.Name,
	})
}
