// Package gen renders the program of an extension, loom_satellite/, and reads back what a built one declares.
//
// What it renders is text from package templates with every string quoted by %q, parsed and formatted before it is
// returned, so a name or a description can never become code. Rendering is a pure function of its arguments. It neither
// writes files nor knows where they go; package vendorize does.
package gen

import (
	"bytes"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"text/template"

	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/templates"
)

const (
	runtimePath = "github.com/loomext/loomext/prelude/ext/runtime"
	hookPath    = "github.com/loomext/loomext/prelude/ext/hook"

	mainFile        = "loom_satellite/main.go"
	declarationFile = "loom_satellite/declaration.go"
)

// program is what the templates see.
type program struct {
	RuntimePath, HookPath string
	Entries               []entry
	Tools                 []tool
	Hooks                 []handler
	Declaration           string
}

type entry struct{ Alias, Path string }

type tool struct{ Name, Alias string }

type handler struct{ Event, Func, Alias string }

// Satellite renders the program of a manifest whose packages stand under the given module path, and the declaration with
// the configuration it is to run with. The result is by slash path below the build root.
func Satellite(m manifest.Manifest, module string, config manifest.Config) (map[string][]byte, error) {
	declaration, err := Declare(m, config).text()
	if err != nil {
		return nil, err
	}
	p := program{RuntimePath: runtimePath, HookPath: hookPath, Declaration: declaration}
	aliases := map[string]string{}
	// One alias for each distinct package, numbered by first use, so that base names do not matter.
	alias := func(dir string) string {
		if a, ok := aliases[dir]; ok {
			return a
		}
		a := fmt.Sprintf("ext_entry_%d", len(p.Entries))
		aliases[dir] = a
		p.Entries = append(p.Entries, entry{Alias: a, Path: module + "/" + dir})
		return a
	}
	for _, t := range m.Tools() {
		p.Tools = append(p.Tools, tool{Name: t.Name, Alias: alias(t.Entry)})
	}
	for _, h := range m.Hooks() {
		function, ok := manifest.HookFunc(h.Event)
		if !ok {
			return nil, fmt.Errorf("generate: [[hook]] %q is no event this loomext knows; use one that its manifest lists", h.Event)
		}
		p.Hooks = append(p.Hooks, handler{Event: h.Event, Func: function, Alias: alias(h.Entry)})
	}
	files := map[string][]byte{}
	for name, text := range map[string]string{mainFile: "main.go", declarationFile: "declaration.go"} {
		source, err := render(text, p)
		if err != nil {
			return nil, fmt.Errorf("generate: %s: %w", name, err)
		}
		files[name] = source
	}
	return files, nil
}

// render executes a template and returns its text only if it is one well-formed, formatted Go file.
func render(name string, data any) ([]byte, error) {
	text, err := execute(name, data)
	if err != nil {
		return nil, err
	}
	if _, err := parser.ParseFile(token.NewFileSet(), name, text, parser.AllErrors|parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	return format.Source(text)
}

// execute fills in a template.
func execute(name string, data any) ([]byte, error) {
	text, err := templates.Text(name)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Option("missingkey=error").Funcs(template.FuncMap{"q": quote}).Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.Bytes(), err
}

func quote(s string) string { return fmt.Sprintf("%q", s) }
