package linalg

// Sums over the n rows of a table are taken in groups of rows that n alone fixes, and the partial sums are added in
// the order of the groups: so they have the same bits whoever adds up a group. A rank holds whole groups.

const (
	// BlockUnit rows are the unit of all cuts of the rows: tiles of every routine and type begin at its multiples.
	BlockUnit = 192
	// mostGroups bounds the partial sums that are kept and sent: 64 ranks of a million rows have 7 or 6 groups of 2304.
	mostGroups = 512
)

// BlockRows is the size of a superblock of rows: small enough for dozens of pairs a round of a kernel product, large
// enough that packed rows are read from the cache.
func BlockRows(n int) int {
	switch {
	case n <= 16*BlockUnit:
		return BlockUnit
	case n <= 128*BlockUnit:
		return 2 * BlockUnit
	}
	return 4 * BlockUnit
}

// GroupRows is the number of rows in a group, whole superblocks; the last group may have fewer.
func GroupRows(n int) int {
	block := BlockRows(n)
	blocks := (n + block - 1) / block
	return block * max(1, (blocks+mostGroups-1)/mostGroups)
}

// Groups is the number of groups of n rows.
func Groups(n int) int { return (n + GroupRows(n) - 1) / GroupRows(n) }
