//go:build unix

package usage

import "testing"

// Linux tells the peak of the program alone; elsewhere maxrss has it, in units of the system.
func TestPeakOf(t *testing.T) {
	for _, c := range []struct {
		status, system string
		want           int64
	}{
		{"Name:\tbbgp\nVmPeak:\t  900 kB\nVmHWM:\t  300 kB\n", "linux", 300 << 10},
		{"Name:\tbbgp\n", "linux", 7 << 10},
		{"", "freebsd", 7 << 10},
		{"", "darwin", 7},
	} {
		if got := peakOf(c.status, 7, c.system); got != c.want {
			t.Errorf("%s, %q: %d bytes, want %d", c.system, c.status, got, c.want)
		}
	}
}
