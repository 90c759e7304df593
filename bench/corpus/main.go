// Corpus keeps what fuzzing has found: of the inputs in the toolchain's cache, those that
// reach statements which neither the seeds of a target nor smaller inputs reach.
//
//	go run ./bench/corpus -most 60 ./cmd/bbgp/internal/table FuzzLoad
//
// They go to testdata/fuzz of the package, where `go test` runs them.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

var (
	most  = flag.Int("most", 60, "inputs that are kept")
	bytes = flag.Int64("bytes", 3000, "largest input that is kept")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatal("usage: corpus [-most N] [-bytes N] PACKAGE TARGET")
	}
	if err := run(flag.Arg(0), flag.Arg(1)); err != nil {
		log.Fatal(err)
	}
}

func run(pkg, target string) error {
	work, err := os.MkdirTemp("", "corpus")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	k := &keeper{target: target, work: work, kept: filepath.Join(pkg, "testdata", "fuzz", target),
		seen: map[string]bool{}}
	if out, err := exec.Command("go", "test", "-c", "-cover", "-o", k.program(), pkg).CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c: %w: %s", err, out)
	}
	files, err := cached(pkg, target)
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(k.kept, "*"))
	if err != nil {
		return err
	}
	reached, err := k.reach(old)
	if err != nil {
		return fmt.Errorf("what is kept already: %w", err)
	}
	k.add(reached)
	if err := os.MkdirAll(k.kept, 0o755); err != nil {
		return err
	}
	for part := range slices.Chunk(files, 16) {
		if err := k.choose(part); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d of %d inputs are new, %d were there, %d statements\n", target, k.count, len(files), len(old),
		len(k.seen))
	return nil
}

// cached lists the inputs in the toolchain's cache, small ones first.
func cached(pkg, target string) ([]string, error) {
	path, err := exec.Command("go", "list", pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(cache)), "fuzz", strings.TrimSpace(string(path)), target)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	size := map[string]int64{}
	var files []string
	for _, e := range entries {
		if st, err := e.Info(); err == nil && st.Size() <= *bytes {
			name := filepath.Join(dir, e.Name())
			files, size[name] = append(files, name), st.Size()
		}
	}
	slices.SortFunc(files, func(a, b string) int {
		return cmp.Or(cmp.Compare(size[a], size[b]), cmp.Compare(a, b))
	})
	return files, nil
}

// A keeper chooses the inputs of one target.
type keeper struct {
	target, work, kept string
	seen               map[string]bool // statements that are reached
	count              int
}

func (k *keeper) program() string { return filepath.Join(k.work, "target.test") }

// choose keeps those of the files that add something: none where all together add nothing,
// else by halves.
func (k *keeper) choose(files []string) error {
	if k.count >= *most {
		return nil
	}
	reached, err := k.reach(files)
	if err != nil && len(files) == 1 {
		return nil // it fails: that is for a person
	}
	if err == nil && !slices.ContainsFunc(reached, func(s string) bool { return !k.seen[s] }) {
		return nil
	}
	if len(files) == 1 {
		k.add(reached)
		k.count++
		return copyTo(k.kept, files[0])
	}
	if err := k.choose(files[:len(files)/2]); err != nil {
		return err
	}
	return k.choose(files[len(files)/2:])
}

func (k *keeper) add(reached []string) {
	for _, s := range reached {
		k.seen[s] = true
	}
}

// reach runs the target on files and returns the statements that are reached.
func (k *keeper) reach(files []string) ([]string, error) {
	dir := filepath.Join(k.work, "testdata", "fuzz", k.target)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := copyTo(dir, f); err != nil {
			return nil, err
		}
	}
	profile := filepath.Join(k.work, "cover")
	c := exec.Command(k.program(), "-test.run", "^"+k.target+"$", "-test.coverprofile", profile)
	c.Dir = k.work
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	b, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	var reached []string
	for line := range strings.Lines(string(b)) {
		if block, ok := strings.CutSuffix(strings.TrimSpace(line), " 1"); ok {
			reached = append(reached, block)
		}
	}
	return reached, nil
}

func copyTo(dir, file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, filepath.Base(file)), b, 0o644)
}
