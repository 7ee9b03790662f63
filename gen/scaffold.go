package gen

import (
	"fmt"
	"go/token"
	"path"
	"slices"
	"strings"

	"github.com/loomext/loomext/manifest"
)

// Plan is what a new extension is to have.
type Plan struct {
	Name  string
	Tools []string // names
	Hooks []string // events
}

// scaffold is what the templates below templates/new see.
type scaffold struct {
	Name  string
	Tools []newTool
	Hooks []newHook
}

type newTool struct{ Name, Package, Schema string }

type newHook struct{ Event, Package, Func string }

// FirstTool is the tool that the README calls, or nil.
func (s scaffold) FirstTool() *newTool {
	if len(s.Tools) == 0 {
		return nil
	}
	return &s.Tools[0]
}

// Scaffold renders the files of a new extension by slash path: manifest, packages with tests, schemas, README.md and
// .gitignore; not go.mod and vendor/, which package vendorize has. What it returns decodes as a manifest; else the error is
// [manifest.Faults].
func Scaffold(plan Plan) (map[string][]byte, manifest.Manifest, error) {
	s := scaffold{Name: plan.Name}
	taken := map[string]bool{}
	files := map[string][]byte{}
	render := func(file, text string, data any) error {
		source, err := renderText("new/"+text, data)
		if err != nil {
			return fmt.Errorf("generate: %s: %w", file, err)
		}
		files[file] = source
		return nil
	}
	// Hooks first: where a tool has the name of a hook's package, it is the tool that gives way.
	for _, event := range plan.Hooks {
		function, _ := manifest.HookFunc(event) // an unknown event is a fault of the manifest
		h := newHook{Event: event, Package: packageName(strings.ToLower(function), "hook", taken), Func: function}
		s.Hooks = append(s.Hooks, h)
		if function == "" {
			continue
		}
		for _, text := range []string{"hook.go", "hook_test.go"} {
			if err := render(path.Join(h.Package, text), text, h); err != nil {
				return nil, manifest.Manifest{}, err
			}
		}
	}
	for _, name := range plan.Tools {
		t := newTool{Name: name, Package: packageName(name, "tool", taken), Schema: "schema/" + name + ".json"}
		if isDevice(name) {
			t.Schema = "schema/" + t.Package + ".json"
		}
		s.Tools = append(s.Tools, t)
		if !manifest.IsName(name) {
			continue // it is a fault of the manifest, and no name for a file
		}
		for file, text := range map[string]string{path.Join(t.Package, "tool.go"): "tool.go", path.Join(t.Package, "tool_test.go"): "tool_test.go", t.Schema: "schema.json"} {
			if err := render(file, text, t); err != nil {
				return nil, manifest.Manifest{}, err
			}
		}
	}
	for file, text := range map[string]string{manifest.FileName: manifest.FileName, "README.md": "README.md", ".gitignore": "gitignore"} {
		if err := render(file, text, s); err != nil {
			return nil, manifest.Manifest{}, err
		}
	}
	m, err := manifest.Decode(files[manifest.FileName], rendered(files))
	if err != nil {
		return nil, manifest.Manifest{}, err
	}
	return files, m, nil
}

// rendered lets a manifest be decoded against files that are not written yet.
type rendered map[string][]byte

func (r rendered) File(name string) ([]byte, bool) {
	data, ok := r[name]
	return data, ok
}

func (r rendered) Packages() []string {
	var dirs []string
	for name := range r {
		if path.Ext(name) == ".go" && !slices.Contains(dirs, path.Dir(name)) {
			dirs = append(dirs, path.Dir(name))
		}
	}
	slices.Sort(dirs)
	return dirs
}

// noPackage are names that are no package's: a source prunes or reads such a directory as something else, or the go command
// does.
var noPackage = []string{"main", "internal", "vendor", "testdata", "docs", "schema", "skills"}

// isDevice reports whether another system has a device by a name, and so no file.
func isDevice(name string) bool {
	numbered := len(name) == 4 && name[3] >= '0' && name[3] <= '9' && (strings.HasPrefix(name, "com") || strings.HasPrefix(name, "lpt"))
	return numbered || slices.Contains([]string{"con", "prn", "aux", "nul"}, name)
}

// packageName makes the name of a package and of its directory, which is no other's: the tool's name without
// underscores, as packages are named, where that will do.
func packageName(name, kind string, taken map[string]bool) string {
	plain := strings.ReplaceAll(name, "_", "")
	if token.IsKeyword(plain) || slices.Contains(noPackage, plain) || isDevice(plain) {
		plain += kind
	}
	for taken[plain] {
		plain += kind
	}
	taken[plain] = true
	return plain
}

// renderText executes a template; a Go file is checked and formatted as those of a satellite are.
func renderText(name string, data any) ([]byte, error) {
	if path.Ext(name) == ".go" {
		return render(name, data)
	}
	return execute(name, data)
}
