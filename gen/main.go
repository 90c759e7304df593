// Command gen writes the generated files of package asm: the assembly of every
// implementation, its Go declarations, and the list of CPU features it needs.
// The routines have the contract of ../asm/doc.go.
package main

import (
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	all, err := files()
	if err != nil {
		log.Fatal("gen: ", err)
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join("..", "asm", name), text, 0o666); err != nil {
			log.Fatal("gen: ", err)
		}
	}
}

// files returns the text of every generated file by its name in ../asm.
func files() (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, emit := range []func() (map[string][]byte, error){x86Files, neonFiles} {
		part, err := emit()
		if err != nil {
			return nil, err
		}
		for name := range part {
			if all[name] != nil {
				return nil, fmt.Errorf("two files are called %s", name)
			}
		}
		maps.Copy(all, part)
	}
	return all, nil
}
