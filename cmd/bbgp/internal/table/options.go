package table

// A Header says whether the first line names the columns.
type Header int

const (
	HeaderAuto Header = iota // no header if the first line has numbers only
	HeaderYes
	HeaderNo
)

// Units say whether the line under the header tells units.
type Units int

const (
	UnitsAuto Units = iota
	UnitsYes
	UnitsNo
)

// ReadOptions tell what is otherwise detected.
type ReadOptions struct {
	Delimiter byte // 0: detect; Blanks: runs of blanks
	Decimal   byte // '.' or ','; 0: detect
	Header    Header
	Units     Units
	Skip      int      // lines before the header; 0: detect
	NoHead    bool     // nothing stands before the header or under it
	Comment   string   // lines that begin with it are left out; "" for none
	NA        []string // cells that are missing beside MissingSpellings
	DropRows  bool     // leave out rows that have too few or too many cells
	Live      bool     // rows are wanted as they come: do not wait for more than the first
	Memory    int64    // most bytes of a table; 0 for any
	Encoding  string   // of the text, by name; "" to detect
	Sheet     string   // of a workbook; "" for the first
}

// mostUnpacked is how much a table may take, and a workbook unpack to, where no budget is given.
const mostUnpacked = 4 << 30

// most is the budget, or what stands for it.
func (o *ReadOptions) most() int64 {
	if o.Memory > 0 {
		return min(o.Memory, mostUnpacked)
	}
	return mostUnpacked
}
