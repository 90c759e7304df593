// Command split writes the training and test rows of a UCI set as CSV:
//
//	go run ./bench/split -set elevators -split 0 -n 0 -dir OUT
//
// writes OUT/elevators-train.csv and OUT/elevators-test.csv.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"bbgp.dev/bench/uci"
)

func main() {
	set := flag.String("set", "elevators", "name of the set")
	split := flag.Int("split", 0, "number of the split, 0 to 4")
	n := flag.Int("n", 0, "training rows, 0 for all")
	dir := flag.String("dir", ".", "folder to write to")
	flag.Parse()
	if err := run(*set, *split, *n, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "split:", err)
		os.Exit(1)
	}
}

func run(set string, split, n int, dir string) error {
	train, test, err := uci.Load(set, split, n)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, set+"-train.csv"), train); err != nil {
		return err
	}
	return write(filepath.Join(dir, set+"-test.csv"), test)
}

func write(path string, t uci.Table) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := t.WriteCSV(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
