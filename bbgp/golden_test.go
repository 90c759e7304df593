package bbgp

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bbgp.dev/internal/gp"
	"bbgp.dev/internal/gptest"
	"bbgp.dev/linalg"
)

// The golden values were computed in long double from the first 2000 training
// rows of three UCI sets. Rows and values are in testdata/golden, whose README
// says how they were made. The test parts of the sets and their other rows are not
// in the project: BBGP_DATA names the folder that holds them.

var goldenDir = filepath.Join("..", "testdata", "golden")

// dataDir returns the folder of the whole sets, "" where it is absent and nothing
// (BBGP_REQUIRE_DATA=1) asks for it.
func dataDir(t testing.TB) string {
	dir := os.Getenv("BBGP_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	if _, err := os.Stat(filepath.Join(dir, "splits")); err != nil {
		if os.Getenv("BBGP_REQUIRE_DATA") == "1" {
			t.Fatalf("BBGP_REQUIRE_DATA is set: %v", err)
		}
		return ""
	}
	return dir
}

// readTable returns the columns x and the last column y of a packed CSV.
func readTable(t testing.TB, path string) *Data {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var x, y []float64
	d := 0
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		cells := strings.Split(lines.Text(), ",")
		if d == 0 {
			d = len(cells) - 1 // the header
			continue
		}
		for j, c := range cells {
			v, err := strconv.ParseFloat(c, 64)
			if err != nil {
				t.Fatal(err)
			}
			if j < d {
				x = append(x, v)
			} else {
				y = append(y, v)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return &Data{X: linalg.Matrix{Rows: len(y), Cols: d, Stride: d, Data: x}, Y: y}
}

// readSplit returns permutation s of splits/NAME.npy: uint16, shape (5, n).
func readSplit(t testing.TB, dir, name string, s, n int) []int {
	b, err := os.ReadFile(filepath.Join(dir, "splits", name+".npy"))
	if err != nil {
		t.Fatal(err)
	}
	body := b[10+int(binary.LittleEndian.Uint16(b[8:])):]
	if len(body) != 5*2*n {
		t.Fatalf("%s.npy: %d bytes for 5 x %d", name, len(body), n)
	}
	perm := make([]int, n)
	for i := range perm {
		perm[i] = int(binary.LittleEndian.Uint16(body[2*(s*n+i):]))
	}
	return perm
}

// loadSet returns all training rows and the test rows of split 0, in the units of
// the set; nil where the whole sets are absent.
func loadSet(t testing.TB, name string) (train, test *Data) {
	dir := dataDir(t)
	if dir == "" {
		return nil, nil
	}
	all := readTable(t, filepath.Join(dir, name+".csv.gz"))
	perm := readSplit(t, dir, name, 0, all.X.Rows)
	cut := int(0.67 * float64(all.X.Rows))
	return all.Rows(perm[:cut]), all.Rows(perm[cut:])
}

type number float64

func (v *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*v = number(f)
	return err
}

type goldenPoint struct {
	C, S2, Sigma2 number
	L             []number
	LML           number
	GradC         number   `json:"grad_c"`
	GradS2        number   `json:"grad_s2"`
	GradL         []number `json:"grad_l"`
	GradSigma2    number   `json:"grad_sigma2"`
	RMSE, NLPD    number
}

func (g goldenPoint) params() Params {
	p := Params{Kernel: "matern32", Mean: float64(g.C), Variance: float64(g.S2), Noise: float64(g.Sigma2)}
	for _, l := range g.L {
		p.Lengthscales = append(p.Lengthscales, float64(l))
	}
	return p
}

// gradient returns all components: lengthscales, variance, noise, mean.
func (g goldenPoint) gradient() []float64 {
	var v []float64
	for _, l := range g.GradL {
		v = append(v, float64(l))
	}
	return append(v, float64(g.GradS2), float64(g.GradSigma2), float64(g.GradC))
}

func flat(g *Gradient) []float64 {
	return append(append([]float64{}, g.Lengthscales...), g.Variance, g.Noise, g.Mean)
}

type golden struct {
	X00   number `json:"check_x00"`
	Y0    number `json:"check_y0"`
	SumX  number `json:"check_sum_abs_x"`
	SumY  number `json:"check_sum_abs_y"`
	N1000 struct {
		Initial  goldenPoint
		LowNoise goldenPoint `json:"low_noise"`
	}
	Initial, Optimum goldenPoint
}

// loadGolden returns the golden values of a set, its 2000 training rows, and these
// rows standardised, checked against the values'.
func loadGolden(t testing.TB, name string) (g golden, train *Data, std *gp.Table) {
	b, err := os.ReadFile(filepath.Join(goldenDir, name+"_n2000.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	train = readTable(t, filepath.Join(goldenDir, name+"_n2000.csv.gz"))
	s := gp.Standardise(train.X, train.Y, gp.PaperFloor)
	std = s.Apply(train.table())
	sum := func(v []float64) (a float64) {
		for _, x := range v {
			a += math.Abs(x)
		}
		return a
	}
	for _, c := range [][2]float64{{std.X.At(0, 0), float64(g.X00)}, {std.Y[0], float64(g.Y0)},
		{sum(std.X.Data), float64(g.SumX)}, {sum(std.Y), float64(g.SumY)}} {
		if gptest.Relative(c[0], c[1]) > 1e-12 {
			t.Fatalf("%s: standardised data differ: %v, want %v", name, c[0], c[1])
		}
	}
	return g, train, std
}

// newPlaces returns so many places between the rows of d: each cell is that of one
// of two rows, so that every input keeps its distribution. Y is that of the first.
func newPlaces(d *Data, count int) *Data {
	r := rand.New(rand.NewPCG(6, 2))
	rows := make([]int, count)
	for i := range rows {
		rows[i] = r.IntN(d.X.Rows)
	}
	out := d.Rows(rows)
	for i := range rows {
		other := d.X.Row(r.IntN(d.X.Rows))
		for j := range other {
			if r.IntN(2) == 0 {
				out.X.Row(i)[j] = other[j]
			}
		}
	}
	return out
}

// first1000 returns the rows that golden values of half a set are of.
// upTo returns 0 to n-1.
func upTo(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

func first1000(d *gp.Table) *gp.Table {
	return d.Rows(upTo(1000))
}

// dataOf returns a table as data.
func dataOf(t *gp.Table) *Data { return new(Data).withTable(t) }

func randomData(n, d int, seed uint64) *Data { return dataOf(gptest.RandomTable(n, d, seed)) }

func repeated(n int, kind string, seed uint64) *Data {
	return dataOf(gptest.RepeatedTable(n, kind, seed))
}

var goldenSets = []string{"bike", "elevators", "pol"}
