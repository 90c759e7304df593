package checkpoint

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
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
	JournalMagic   = "bbgpjrnl"
	journalVersion = 3 // 2: before evaluations had the law of their probes
	JournalStart   = int64(len(JournalMagic) + 4)
	RecordHead     = 8
	mostRecord     = 1 << 31
	syncEvery      = time.Second // between writes that wait for the disk
)

var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Journal keeps the evaluations of a fit in a file (Options.Journal). The zero one has no file and keeps them in
// Recorded, for another one.
type Journal struct {
	Recorded []*Entry
	f        *os.File
	in       *bufio.Reader // nil once all entries are taken, or the file is new
	end      int64         // of the last record taken or written
	ahead    *Entry        // read and not taken
	size     int64         // of its record
	replayed int
	synced   time.Time
	Err      error // of the first write that failed; nothing is written after it
	PartErr  error // of keeping what an evaluation had reached
	parts    parts
}

// An Entry is one call of an objective.
type Entry struct {
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
		return nil, &gp.FileError{Path: path, Reason: "this is no regular file: a checkpoint is read and " +
			"written in place"}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	j := &Journal{f: f, in: bufio.NewReaderSize(f, 1<<16)}
	head := make([]byte, JournalStart)
	n, err := io.ReadFull(j.in, head)
	switch {
	case err == nil && !bytes.HasPrefix(head, []byte(JournalMagic)),
		!bytes.HasPrefix([]byte(JournalMagic), head[:min(n, len(JournalMagic))]):
		err = &gp.FileError{Path: path, Reason: "this is not a checkpoint of bbgp"}
	case err == io.EOF, err == io.ErrUnexpectedEOF:
		j.in, err = nil, nil // new, or killed while its first bytes were written
	case err == nil:
		if v := binary.LittleEndian.Uint32(head[len(JournalMagic):]); v != journalVersion {
			err = &gp.FileError{Path: path, Reason: fmt.Sprintf(
				"checkpoint of format version %d, this program reads version %d", v, journalVersion)}
		}
		j.end = JournalStart
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// Close closes the file. It returns the first error of a write.
func (j *Journal) Close() error {
	return errors.Join(j.Err, j.f.Close())
}

// Replayed returns how many evaluations were taken from the file.
func (j *Journal) Replayed() int { return j.replayed }

// Begin compares what the fit is of with the first record, or writes it.
func (j *Journal) Begin(id []byte) error {
	if j.in != nil {
		if was, ok := j.record(); ok {
			if diff := Difference(was, id); diff != "" {
				return &gp.FileError{Path: j.f.Name(), Reason: "the checkpoint is of another fit: " + diff}
			}
			j.end += RecordHead + int64(len(was))
			return nil
		}
	}
	j.in, j.end = nil, 0
	head := binary.LittleEndian.AppendUint32([]byte(JournalMagic), journalVersion)
	if err := j.write(head); err != nil {
		return err
	}
	return j.append(id)
}

// Difference names what differs between two first records.
func Difference(was, is []byte) string {
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
	var head [RecordHead]byte
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
	if crc32.Checksum(b.Bytes(), Castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, false
	}
	return b.Bytes(), true
}

// peek returns the next entry, nil where the journal ends.
func (j *Journal) peek() *Entry {
	if j.in == nil || j.ahead != nil {
		return j.ahead
	}
	e := new(Entry)
	payload, ok := j.record()
	if ok {
		j.findParts(payload)
	}
	if !ok || gob.NewDecoder(bytes.NewReader(payload)).Decode(e) != nil || e.Value == nil && e.Fault == "" {
		j.in = nil
		return nil
	}
	j.ahead, j.size = e, RecordHead+int64(len(payload))
	return e
}

// Take returns the next entry if its key is the given one. Where it is not, the
// journal ends, and what is behind is forgotten.
func (j *Journal) Take(key [sha256.Size]byte) *Entry {
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

// Answers tells whether there are entries that were not taken.
func (j *Journal) Answers() bool { return j.peek() != nil }

// Cut ends the journal before the next entry.
func (j *Journal) Cut() { j.in, j.ahead = nil, nil }

// Add appends an entry.
func (j *Journal) Add(e *Entry) {
	if j.f == nil {
		j.Recorded = append(j.Recorded, e)
		return
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(e); err != nil {
		j.Err = errors.Join(j.Err, err)
		return
	}
	if j.Err == nil {
		j.Err = j.append(b.Bytes())
	}
}

// framed is a record of the payload.
func framed(payload []byte) []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, RecordHead+len(payload)), uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(payload, Castagnoli))
	return append(b, payload...)
}

func (j *Journal) append(payload []byte) error {
	if err := j.write(framed(payload)); err != nil {
		return err
	}
	if time.Since(j.synced) < syncEvery {
		return nil
	}
	j.synced = time.Now()
	return j.f.Sync()
}

// write writes at the end and cuts what is behind it: in that order, for what is behind may be what this is the end of.
func (j *Journal) write(b []byte) error {
	n, err := j.f.WriteAt(b, j.end)
	if err != nil {
		return err
	}
	j.end += int64(n)
	j.parts = parts{off: j.parts.off}
	return j.f.Truncate(j.end)
}

// callKey identifies a call of an objective.
func callKey(kind string, p gp.Params, opt evidence.Options) [sha256.Size]byte {
	b := evidence.AppendFloats([]byte(kind+" "+p.Kernel+" "+opt.Precision+" "+opt.Product+" "),
		append([]float64{p.Mean, p.Variance, p.Noise, opt.Eps, opt.Tolerance}, p.Lengthscales...))
	for _, v := range []uint64{uint64(opt.Probes), uint64(opt.Rank), uint64(opt.Neighbours), opt.Seed,
		uint64(opt.Memory), flagBits(opt.Gradient, opt.Reject != nil)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	if opt.Weights > 0 || opt.PrecondSeed > 0 {
		b = binary.LittleEndian.AppendUint64(evidence.AppendFloats(b, []float64{opt.Weights}), opt.PrecondSeed)
	}
	if opt.After > 0 {
		b = evidence.AppendFloats(append(b, " after "...), []float64{opt.After})
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

// Open tells whether j has a file.
func (j *Journal) Open() bool { return j.f != nil }
