package bbgp

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"time"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
)

// Checkpoints. A search is a deterministic function of the evaluations that it
// asks for, so the evaluations are all that has to be kept: a resumed fit runs
// from its start and takes from the journal what it asks for, until the journal
// ends. That holds for every method and optimiser, gives the same bits as an
// uninterrupted fit, and loses one evaluation at most.
//
// A journal file:
//
//	8 bytes   "bbgpjrnl"
//	uint32    format version
//	records   uint32 length, uint32 CRC-32C of the payload, payload
//
// The first payload is JSON, what the fit is of; each other one is an entry. A
// record that is cut short or damaged ends the journal, which is cut there.

const (
	journalMagic   = "bbgpjrnl"
	journalVersion = 3 // 2: before evaluations had the law of their probes
	journalStart   = int64(len(journalMagic) + 4)
	recordHead     = 8
	mostRecord     = 1 << 31
	syncEvery      = time.Second // between writes that wait for the disk
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Journal keeps the evaluations of a fit in a file (Options.Journal).
type Journal struct {
	f        *os.File
	in       *bufio.Reader // nil once all entries are taken, or the file is new
	end      int64         // of the last record taken or written
	ahead    *entry        // read and not taken
	size     int64         // of its record
	replayed int
	synced   time.Time
	err      error // of the first write that failed; nothing is written after it
}

// An entry is one call of an objective.
type entry struct {
	Key   [sha256.Size]byte
	Value *evidence.Value
	Fault string // if not "", the call failed
	// Singular says that the fault was of the parameters, not of the program.
	Singular bool
	State    []byte // of the objective after the call
}

// CreateJournal starts a journal in a new file; it fails if there is one.
func CreateJournal(path string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &Journal{f: f}, nil
}

// ResumeJournal goes on with the journal in a file, or starts one there. It
// fails with a *FileError if the file is something else.
func ResumeJournal(path string) (*Journal, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, &FileError{Path: path, Reason: "this is no regular file: a checkpoint is read and written in place"}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	j := &Journal{f: f, in: bufio.NewReaderSize(f, 1<<16)}
	head := make([]byte, journalStart)
	n, err := io.ReadFull(j.in, head)
	switch {
	case err == nil && !bytes.HasPrefix(head, []byte(journalMagic)), !bytes.HasPrefix([]byte(journalMagic), head[:min(n, len(journalMagic))]):
		err = &FileError{Path: path, Reason: "this is not a checkpoint of bbgp"}
	case err == io.EOF, err == io.ErrUnexpectedEOF:
		j.in, err = nil, nil // new, or killed while its first bytes were written
	case err == nil:
		if v := binary.LittleEndian.Uint32(head[len(journalMagic):]); v != journalVersion {
			err = &FileError{Path: path, Reason: fmt.Sprintf("checkpoint of format version %d, this program reads version %d", v, journalVersion)}
		}
		j.end = journalStart
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// Close closes the file. It returns the first error of a write.
func (j *Journal) Close() error {
	return errors.Join(j.err, j.f.Close())
}

// Replayed returns how many evaluations were taken from the file.
func (j *Journal) Replayed() int { return j.replayed }

// begin compares what the fit is of with the first record, or writes it.
func (j *Journal) begin(id []byte) error {
	if j.in != nil {
		if was, ok := j.record(); ok {
			if diff := difference(was, id); diff != "" {
				return &FileError{Path: j.f.Name(), Reason: "the checkpoint is of another fit: " + diff}
			}
			j.end += recordHead + int64(len(was))
			return nil
		}
	}
	j.in, j.end = nil, 0
	head := binary.LittleEndian.AppendUint32([]byte(journalMagic), journalVersion)
	if err := j.write(head); err != nil {
		return err
	}
	return j.append(id)
}

// difference names what differs between two first records.
func difference(was, is []byte) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(was, &a) != nil || json.Unmarshal(is, &b) != nil {
		return "its first record is damaged"
	}
	var names []string
	for k := range b {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		if !bytes.Equal(a[k], b[k]) {
			if k == "data" || k == "costs" { // too long to be shown
				return "the " + k + " differ"
			}
			return fmt.Sprintf("%s was %s and is %s", k, a[k], b[k])
		}
	}
	return ""
}

// record reads the next record; ok is false where the journal ends.
func (j *Journal) record() (payload []byte, ok bool) {
	var head [recordHead]byte
	if _, err := io.ReadFull(j.in, head[:]); err != nil {
		return nil, false
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size > mostRecord {
		return nil, false
	}
	// The length may be damaged: memory grows with what is there.
	var b bytes.Buffer
	if n, err := io.CopyN(&b, j.in, int64(size)); err != nil || n != int64(size) {
		return nil, false
	}
	if crc32.Checksum(b.Bytes(), castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, false
	}
	return b.Bytes(), true
}

// peek returns the next entry, nil where the journal ends.
func (j *Journal) peek() *entry {
	if j.in == nil || j.ahead != nil {
		return j.ahead
	}
	e := new(entry)
	payload, ok := j.record()
	if !ok || gob.NewDecoder(bytes.NewReader(payload)).Decode(e) != nil || e.Value == nil && e.Fault == "" {
		j.in = nil
		return nil
	}
	j.ahead, j.size = e, recordHead+int64(len(payload))
	return e
}

// take returns the next entry if its key is the given one. Where it is not, the
// journal ends, and what is behind is forgotten.
func (j *Journal) take(key [sha256.Size]byte) *entry {
	e := j.peek()
	j.ahead = nil
	if e == nil || e.Key != key {
		j.in = nil
		return nil
	}
	j.end += j.size
	j.replayed++
	return e
}

// cut ends the journal before the next entry.
func (j *Journal) cut() { j.in, j.ahead = nil, nil }

// add appends an entry.
func (j *Journal) add(e *entry) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(e); err != nil {
		j.err = errors.Join(j.err, err)
		return
	}
	if j.err == nil {
		j.err = j.append(b.Bytes())
	}
}

func (j *Journal) append(payload []byte) error {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, recordHead+len(payload)), uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(payload, castagnoli))
	if err := j.write(append(b, payload...)); err != nil {
		return err
	}
	if time.Since(j.synced) < syncEvery {
		return nil
	}
	j.synced = time.Now()
	return j.f.Sync()
}

// write writes at the end and cuts what is behind it.
func (j *Journal) write(b []byte) error {
	if err := j.f.Truncate(j.end); err != nil {
		return err
	}
	n, err := j.f.WriteAt(b, j.end)
	if err == nil {
		j.end += int64(n)
	}
	return err
}

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
		"no_scale": o.NoScale, "scale_floor": o.ScaleFloor, "fix_mean": o.FixMean, "seed": o.Seed, "prefit_rows": o.PrefitRows, "restarts": o.Restarts,
		"memory": o.Memory, "costs": o.Costs, "start": o.Start, "isa": o.Engine.Impl.Name,
	})
}

// callKey identifies a call of an objective.
func callKey(kind string, p Params, opt evidence.Options) [sha256.Size]byte {
	b := evidence.AppendFloats([]byte(kind+" "+p.Kernel+" "+opt.Precision+" "+opt.Product+" "), append([]float64{p.Mean, p.Variance, p.Noise, opt.Eps, opt.Tolerance}, p.Lengthscales...))
	for _, v := range []uint64{uint64(opt.Probes), uint64(opt.Rank), uint64(opt.Neighbours), opt.Seed, uint64(opt.Memory), flagBits(opt.Gradient, opt.Reject != nil)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return sha256.Sum256(b)
}

func flagBits(flags ...bool) (b uint64) {
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	return b
}
