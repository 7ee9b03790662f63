// Command thirdparty writes third_party/_src: the sources of other modules that a satellite compiles, copied from the
// module cache so that an extension builds with no network and no module cache.
//
// It is run by go generate. Only the packages that the prelude reaches are carried, without their tests, with each
// module's license, and with a modules.txt in the form of vendor/modules.txt. Nothing is edited on the way: a test
// holds every carried file against the module cache, so what a satellite compiles is what this module compiles and tests.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ownModule is this repository's module; what it holds is embedded from where it stands, never copied.
const ownModule = "github.com/loomext/loomext"

// carried are the packages a satellite is built from. Whatever they import from other modules is carried along.
var carried = []string{"./prelude/...", "./internal/wire"}

// ModulesFile lists the carried modules in the form of vendor/modules.txt.
const ModulesFile = "modules.txt"

type module struct {
	Path, Version, GoVersion, Dir string
	Replace                       *module
}

type listed struct {
	ImportPath string
	Dir        string
	Standard   bool
	Module     *module
}

// Collect returns the files of third_party/_src by slash path, read from the module cache of the module at dir.
func Collect(ctx context.Context, dir string) (map[string][]byte, error) {
	packages, err := list(ctx, dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	modules := map[string]*module{}
	inModule := map[string][]string{}
	for _, p := range packages {
		if p.Standard || p.Module == nil || p.Module.Path == ownModule {
			continue
		}
		if p.Module.Replace != nil {
			return nil, fmt.Errorf("thirdparty: %s is replaced in go.mod; carry only published sources", p.Module.Path)
		}
		if err := addPackage(files, p); err != nil {
			return nil, err
		}
		modules[p.Module.Path] = p.Module
		inModule[p.Module.Path] = append(inModule[p.Module.Path], p.ImportPath)
	}
	var txt bytes.Buffer
	for _, name := range slices.Sorted(mapKeys(modules)) {
		m := modules[name]
		if err := addLicenses(files, m); err != nil {
			return nil, err
		}
		// A module whose go.mod has no go line is read as 1.16, and so would a vendored one without a version here.
		version := m.GoVersion
		if version == "" {
			version = "1.16"
		}
		fmt.Fprintf(&txt, "# %s %s\n## explicit; go %s\n", m.Path, m.Version, version)
		slices.Sort(inModule[name])
		for _, p := range inModule[name] {
			fmt.Fprintln(&txt, p)
		}
	}
	files[ModulesFile] = txt.Bytes()
	return files, nil
}

func mapKeys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// list asks the go command for the carried packages and all they import.
func list(ctx context.Context, dir string) ([]listed, error) {
	args := append([]string{"list", "-deps", "-mod=readonly", "-json=ImportPath,Dir,Standard,Module"}, carried...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("thirdparty: go list: %w: %s", err, stderr.String())
	}
	var packages []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("thirdparty: go list answered no JSON: %w", err)
		}
		packages = append(packages, p)
	}
}

// addPackage takes every Go file of a package but its tests, whatever build constraint it has: the build chooses.
func addPackage(files map[string][]byte, p listed) error {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case e.IsDir(), strings.HasSuffix(name, "_test.go"), strings.HasPrefix(name, "."), strings.HasPrefix(name, "_"):
			continue
		case strings.HasSuffix(name, ".go"):
			data, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return err
			}
			files[path.Join(p.ImportPath, name)] = data
		case slices.Contains([]string{".s", ".c", ".h", ".syso", ".S", ".cc", ".m"}, filepath.Ext(name)):
			return fmt.Errorf("thirdparty: %s holds %s; a satellite is built from Go alone", p.ImportPath, name)
		}
	}
	return nil
}

// addLicenses takes the license files at the root of a module, and refuses a module that has none.
func addLicenses(files map[string][]byte, m *module) error {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if e.IsDir() || !(strings.HasPrefix(upper, "LICENSE") || strings.HasPrefix(upper, "COPYING") || strings.HasPrefix(upper, "NOTICE")) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return err
		}
		files[path.Join(m.Path, e.Name())] = data
		found = true
	}
	if !found {
		return fmt.Errorf("thirdparty: %s %s has no license file at its root", m.Path, m.Version)
	}
	return nil
}
