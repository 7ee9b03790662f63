package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// npmDir is what is installed, and in which versions.
const npmDir = "../testdata/npm"

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// What is installed is held by its digest, whoever serves it, and nothing of it is
// newer on one day than on another.
func TestEveryPackageIsPinned(t *testing.T) {
	var wanted struct {
		Dependencies, OptionalDependencies, Overrides map[string]string
	}
	readJSON(t, filepath.Join(npmDir, "package.json"), &wanted)
	var locked struct {
		Packages map[string]struct{ Version, Resolved, Integrity string }
	}
	readJSON(t, filepath.Join(npmDir, "package-lock.json"), &locked)

	exact := regexp.MustCompile(`^\d+\.\d+\.\d+(-[a-z0-9.]+)?$`)
	for _, list := range []map[string]string{wanted.Dependencies, wanted.OptionalDependencies, wanted.Overrides} {
		for name, version := range list {
			if !exact.MatchString(version) {
				t.Errorf("%s is wanted as %q; name one version", name, version)
			}
			if got := locked.Packages["node_modules/"+name].Version; got != version {
				t.Errorf("%s is wanted as %s and locked as %q; run npm install --package-lock-only there", name, version, got)
			}
		}
	}
	if len(locked.Packages) < 100 {
		t.Errorf("%d packages are locked, which cannot be all", len(locked.Packages))
	}
	for name, p := range locked.Packages {
		if name == "" { // the list itself
			continue
		}
		if p.Integrity == "" {
			t.Errorf("%s has no digest", name)
		}
		if p.Resolved != "" {
			t.Errorf("%s is locked to an address, %s", name, p.Resolved)
		}
	}
}
