package checkpoint

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
)

// Memory returns the memory budget, in bytes, of the fit that the journal in a file is of; ok is false where there is
// none. The budget enters the choices, so a fit that goes on elsewhere, with other memory, goes on with that.
func Memory(path string) (budget int64, ok bool) {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return 0, false
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	if _, err := f.Seek(JournalStart, io.SeekStart); err != nil {
		return 0, false
	}
	j := &Journal{in: bufio.NewReader(f)}
	first, ok := j.record()
	var id struct {
		Memory int64 `json:"memory"`
	}
	ok = ok && json.Unmarshal(first, &id) == nil && id.Memory > 0
	return id.Memory, ok
}
