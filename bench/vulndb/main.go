// Vulndb lays out the Go vulnerability database of the module golang.org/x/vulndb, which
// module proxies have, as govulncheck -db file://FOLDER reads it, and writes to a LIST the
// least version of each module that has none of the holes known by then in what bbgp links.
// The test of this package holds go.mod to the list that is here: it asks no network, and
// what is reported after the date of the list cannot fail it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// An entry is what the index and the list need of a report.
type entry struct {
	ID       string `json:"id"`
	Modified string `json:"modified"`
	Affected []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
		Ranges []struct {
			Events []struct {
				Fixed string `json:"fixed"`
			} `json:"events"`
		} `json:"ranges"`
		Specific struct {
			Imports []struct {
				Path string `json:"path"`
			} `json:"imports"`
		} `json:"ecosystem_specific"`
	} `json:"affected"`
}

type indexed struct {
	ID       string `json:"id"`
	Modified string `json:"modified"`
}

type module struct {
	Path  string    `json:"path"`
	Vulns []indexed `json:"vulns"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: vulndb FOLDER LIST")
		os.Exit(2)
	}
	if err := layOut(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "vulndb:", err)
		os.Exit(1)
	}
}

// layOut fetches the newest version of the module and writes reports, index and list.
func layOut(folder, list string) error {
	out, err := exec.Command("go", "mod", "download", "-json", "golang.org/x/vulndb@latest").Output()
	if err != nil {
		return fmt.Errorf("go mod download: %w: %s", err, out)
	}
	var from struct{ Dir, Version string }
	if err := json.Unmarshal(out, &from); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(from.Dir, "data", "osv", "*.json"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no reports in %s: %w", from.Dir, err)
	}
	for _, sub := range []string{"ID", "index"} {
		if err := os.MkdirAll(filepath.Join(folder, sub), 0o755); err != nil {
			return err
		}
	}
	var all []indexed
	var reports []entry
	by := map[string][]indexed{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(b, &e); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		if err := os.WriteFile(filepath.Join(folder, "ID", e.ID+".json"), b, 0o644); err != nil {
			return err
		}
		reports = append(reports, e)
		one, last := indexed{e.ID, e.Modified}, ""
		all = append(all, one)
		for _, a := range e.Affected {
			if a.Package.Name != last {
				by[a.Package.Name] = append(by[a.Package.Name], one)
			}
			last = a.Package.Name
		}
	}
	var modules []module
	for path, vulns := range by {
		modules = append(modules, module{path, vulns})
	}
	fmt.Printf("%d reports of golang.org/x/vulndb %s\n", len(all), from.Version)
	for name, v := range map[string]any{"db": map[string]string{"modified": all[len(all)-1].Modified},
		"vulns": all, "modules": modules} {
		b, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "index", name+".json"), b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return writeLeast(list, from.Version, reports)
}
