// Sbom prints the modules that programs are made of, as a CycloneDX 1.5 list
// (ECMA-424) in JSON, from what the Go linker has written into them:
//
//	go run ./bench/sbom dist/bbgp-* > dist/sbom.cdx.json
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

type component struct {
	Type       string     `json:"type"`
	BOMRef     string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type document struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

func main() {
	if err := write(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write lists the modules of all programs, once each, in the order of their names.
func write(w io.Writer, programs []string) error {
	if len(programs) == 0 {
		return fmt.Errorf("name the programs")
	}
	doc := document{Format: "CycloneDX", Spec: "1.5", Version: 1, Components: []component{}}
	seen := map[string]bool{}
	for _, path := range programs {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return err
		}
		main := moduleOf(&info.Main, "application")
		if v := versionIn(path, info); v != "" {
			main.Version = v
			main.PURL = purl(info.Main.Path, v)
		}
		main.BOMRef = main.PURL
		doc.Metadata.Component = main
		std := component{Type: "library", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
		std.PURL = purl("std", std.Version)
		std.BOMRef = std.PURL
		list := []component{std}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			list = append(list, moduleOf(m, "library"))
		}
		for _, c := range list {
			if !seen[c.PURL] {
				seen[c.PURL] = true
				doc.Components = append(doc.Components, c)
			}
		}
	}
	slices.SortFunc(doc.Components, func(a, b component) int { return strings.Compare(a.PURL, b.PURL) })
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

func moduleOf(m *debug.Module, kind string) component {
	c := component{Type: kind, Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version)}
	c.BOMRef = c.PURL
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}

func purl(path, version string) string {
	if version == "" {
		return "pkg:golang/" + path
	}
	return "pkg:golang/" + path + "@" + version
}

// versionIn is the version of a release: the program's name has it between
// "bbgp-" and the platform, which the build settings tell.
func versionIn(path string, info *debug.BuildInfo) string {
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	name, cut := strings.CutSuffix(name, "-"+set["GOOS"]+"-"+set["GOARCH"])
	name, named := strings.CutPrefix(name, "bbgp-")
	if !cut || !named {
		return ""
	}
	return name
}
