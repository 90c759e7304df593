package bbgp

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"bbgp.dev/internal/evidence"
	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/outfile"
	"bbgp.dev/internal/posterior"
	"bbgp.dev/linalg"
)

// A model file, all numbers little-endian:
//
//	8 bytes   "bbgpmodl"
//	uint32    format version
//	uint32    length h of the header
//	uint64    length of the whole file
//	h bytes   header, JSON
//	float64   X (n·D), y (n), α (n), noise scale (n or 0), noise variance (n or 0)
//	32 bytes  SHA-256 of everything before
//
// What predictions need beside that, a preconditioner or a Cholesky factor, is
// built again from the recipe in the header: on the same implementation with
// the same bits.

const (
	fileMagic   = "bbgpmodl"
	fileVersion = 1
	fixedBytes  = 24
)

// A fileHeader is the JSON part.
type fileHeader struct {
	N          int                   `json:"n"`
	D          int                   `json:"d"`
	Names      []string              `json:"names"`
	Target     string                `json:"target"`
	Parameters Params                `json:"parameters"`
	Scaling    Scaling               `json:"scaling"`
	MeanError  Bound                 `json:"mean_error"`
	Recipe     posterior.PrecondSpec `json:"recipe"`
	NoiseScale bool                  `json:"noise_scale"`
	NoiseExtra bool                  `json:"noise_extra"`
	Extra      []byte                `json:"extra,omitempty"`
	Writer     string                `json:"writer,omitempty"`
	Result     Result                `json:"result"`
}

// Write writes the model to w. A model that is none, or that Read would not take, is
// not written: the error is a *DataError, *ParamError or *FileError, for a nil w an *OptionError.
func (m *Model) Write(w io.Writer) error {
	if err := m.ready(); err != nil {
		return err
	}
	if w == nil {
		return &OptionError{Option: "w", Reason: "is nil"}
	}
	t, weights := m.post.Data(), m.post.Weights()
	h := fileHeader{N: m.N(), D: m.D(), Names: m.Names, Target: m.Target, Parameters: m.Parameters,
		Scaling: m.Scaling, MeanError: Bound(weights.MeanError), Recipe: m.post.Spec(),
		NoiseScale: t.NoiseScale != nil, NoiseExtra: t.NoiseExtra != nil,
		Extra: m.Extra, Writer: m.writer(), Result: m.Result}
	numbers := m.N()*m.D() + 2*m.N() + len(t.NoiseScale) + len(t.NoiseExtra)
	if err := h.check(8 * numbers); err != nil {
		return err
	}
	if err := m.checkNumbers(); err != nil {
		return err
	}
	head, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := h.returns(head); err != nil {
		return err
	}
	b := fileFrame(head, 8*numbers)
	for i := range m.N() {
		b = evidence.AppendFloats(b, t.X.Row(i))
	}
	for _, v := range [][]float64{t.Y, weights.Alpha, t.NoiseScale, t.NoiseExtra} {
		b = evidence.AppendFloats(b, v)
	}
	_, err = w.Write(sealFile(b))
	return err
}

// fileFrame returns a file up to the numbers, which take body bytes.
func fileFrame(head []byte, body int) []byte {
	size := fixedBytes + len(head) + body + sha256.Size
	b := make([]byte, 0, size)
	b = append(b, fileMagic...)
	b = binary.LittleEndian.AppendUint32(b, fileVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	b = binary.LittleEndian.AppendUint64(b, uint64(size))
	return append(b, head...)
}

// sealFile appends the checksum.
func sealFile(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// Save writes the model to a file, which it replaces at once or not at all: the new one
// is written beside it, synced and renamed. Symbolic links are followed, the mode of a
// file that is replaced is kept, and what is no regular file is written through. It
// fails with the error of the system.
func (m *Model) Save(path string) error { return outfile.Write(path, m.Write) }

// Load reads a model from a file. Files that are damaged, cut short or of a
// newer version give a *FileError. The model predicts the bits that the saved one
// does, on the same routines.
func Load(path string) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := Read(f)
	var bad *FileError
	if errors.As(err, &bad) {
		bad.Path = path
	}
	return m, err
}

// Read reads a model. It looks at the first bytes before it reads on, and takes memory
// in proportion to what r holds.
func Read(r io.Reader) (*Model, error) {
	if r == nil {
		return nil, &FileError{Reason: "nothing to read from"}
	}
	b, err := readFrame(r)
	if err != nil {
		return nil, err
	}
	head, body, err := openFile(b)
	if err != nil {
		return nil, err
	}
	var h fileHeader
	dec := json.NewDecoder(bytes.NewReader(head))
	if err := dec.Decode(&h); err != nil {
		return nil, &FileError{Reason: "damaged header: " + err.Error()}
	}
	if err := h.check(len(body)); err != nil {
		return nil, err
	}
	take := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = math.Float64frombits(binary.LittleEndian.Uint64(body[8*i:]))
		}
		body = body[8*n:]
		return v
	}
	m := &Model{Parameters: h.Parameters, Scaling: h.Scaling, Names: h.Names, Target: h.Target, Result: h.Result,
		Extra: h.Extra, Writer: h.Writer}
	if m.Writer == "" {
		m.Writer = "unknown"
	}
	w := posterior.Weights{MeanError: float64(h.MeanError), Unproven: true}
	if math.IsNaN(w.MeanError) {
		w.MeanError = math.Inf(1)
	}
	t := &gp.Table{X: linalg.Matrix{Rows: h.N, Cols: h.D, Stride: h.D, Data: take(h.N * h.D)}}
	t.Y, w.Alpha = take(h.N), take(h.N)
	if h.NoiseScale {
		t.NoiseScale = take(h.N)
	}
	if h.NoiseExtra {
		t.NoiseExtra = take(h.N)
	}
	m.post = posterior.New(t, h.Parameters, h.Recipe, h.Result.Costs, w)
	if err := m.checkNumbers(); err != nil {
		return nil, err
	}
	return m, nil
}

// readFrame reads as many bytes as the first ones announce, and one more if it is there.
func readFrame(r io.Reader) ([]byte, error) {
	head := make([]byte, fixedBytes)
	n, err := io.ReadFull(r, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF || err == nil && string(head[:len(fileMagic)]) != fileMagic {
		return head[:n], nil // openFile says what is wrong
	}
	if err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint64(head[16:])
	if size > math.MaxInt64-1 {
		return head, nil
	}
	b := head
	if f, ok := r.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			b = append(make([]byte, 0, min(int64(size), st.Size())+1), head...)
		}
	}
	// The size may be a lie: the buffer grows with what is there.
	rest := io.LimitReader(r, int64(size)+1-fixedBytes)
	for {
		if len(b) == cap(b) {
			b = slices.Grow(b, min(max(len(b), 1<<12), 1<<26))
		}
		n, err := rest.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// openFile checks the frame of a file and returns its header and its numbers.
func openFile(b []byte) (head, body []byte, err error) {
	if len(b) < len(fileMagic) || string(b[:len(fileMagic)]) != fileMagic {
		return nil, nil, &FileError{Reason: "this is not a bbgp model"}
	}
	if len(b) < fixedBytes+sha256.Size {
		return nil, nil, &FileError{Reason: fmt.Sprintf("cut short after %d bytes", len(b))}
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != fileVersion {
		return nil, nil, &FileError{Reason: fmt.Sprintf("format version %d, this program reads version %d",
			v, fileVersion)}
	}
	if size := binary.LittleEndian.Uint64(b[16:]); size != uint64(len(b)) {
		return nil, nil, &FileError{Reason: fmt.Sprintf("%d bytes where the file says %d: cut short or damaged",
			len(b), size)}
	}
	rest := b[:len(b)-sha256.Size]
	if sum := sha256.Sum256(rest); !bytes.Equal(sum[:], b[len(rest):]) {
		return nil, nil, &FileError{Reason: "damaged: the checksum does not match"}
	}
	h := uint64(binary.LittleEndian.Uint32(b[12:]))
	if h > uint64(len(rest)-fixedBytes) {
		return nil, nil, &FileError{Reason: "damaged: the header is longer than the file"}
	}
	rest = rest[fixedBytes:]
	return rest[:h], rest[h:], nil
}
