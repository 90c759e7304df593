package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// A least is the version that mends the last hole of a module, and the report of it.
type least struct{ version, report string }

// writeLeast writes the list: lines of module, least version and report.
func writeLeast(path, database string, reports []entry) error {
	linked, err := linkedPackages()
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# module, least version without a known hole in what bbgp links, report;\n"+
		"# by golang.org/x/vulndb %s\n", database)
	found := leastVersions(reports, linked)
	for _, module := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintln(&b, module, found[module].version, found[module].report)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// leastVersions takes from reports the versions that mend what packages are linked.
func leastVersions(reports []entry, linked map[string]bool) map[string]least {
	found := map[string]least{}
	for _, r := range reports {
		for _, a := range r.Affected {
			module := a.Package.Name
			used := len(a.Specific.Imports) == 0 && linked[module]
			for _, p := range a.Specific.Imports {
				used = used || linked[p.Path]
			}
			if !used || module == "stdlib" || module == "toolchain" {
				continue // these are the compiler's: see RELIABILITY.md
			}
			for _, span := range a.Ranges {
				for _, e := range span.Events {
					if v := "v" + e.Fixed; e.Fixed != "" && semver.Compare(v, found[module].version) > 0 {
						found[module] = least{v, r.ID}
					}
				}
			}
		}
	}
	return found
}

// linkedPackages are the packages of other modules in bbgp, and these modules, on any system.
func linkedPackages() (map[string]bool, error) {
	linked := map[string]bool{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{$.ImportPath}} {{.Path}}{{end}}",
			"./cmd/bbgp")
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for _, name := range strings.Fields(string(out)) {
			linked[name] = true
		}
	}
	return linked, nil
}

// behind lists the modules of a go.mod that are older than the list asks for.
func behind(gomod, list io.Reader) (old []string, err error) {
	asked := map[string]least{}
	for sc := bufio.NewScanner(list); sc.Scan(); {
		if f := strings.Fields(sc.Text()); len(f) == 3 && f[0] != "#" {
			asked[f[0]] = least{f[1], f[2]}
		}
	}
	if len(asked) == 0 {
		return nil, fmt.Errorf("the list is empty")
	}
	for sc := bufio.NewScanner(gomod); sc.Scan(); {
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(sc.Text()), "require "))
		if len(f) < 2 {
			continue
		}
		if least := asked[f[0]]; semver.Compare(f[1], least.version) < 0 {
			old = append(old, fmt.Sprintf("%s %s: %s is mended in %s", f[0], f[1], least.report, least.version))
		}
	}
	return old, nil
}
