package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/gen"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/vendorize"
)

// newResult is what new --json prints. docs/cli.md describes it.
type newResult struct {
	Name   string    `json:"name"`
	Dir    string    `json:"dir"`
	Module string    `json:"module"`
	Tools  []newTool `json:"tools"`
	Hooks  []newHook `json:"hooks"`
	Files  []string  `json:"files"`
	Next   []string  `json:"next"`
}

type newTool struct {
	Name       string `json:"name"`
	Entry      string `json:"entry"`
	Parameters string `json:"parameters"`
}

type newHook struct {
	Event string `json:"event"`
	Entry string `json:"entry"`
}

// newOptions are the flags of new.
type newOptions struct {
	name, module string
	tools, hooks []string
	json         bool
}

func (c *cli) newCommand() *cobra.Command {
	var o newOptions
	cmd := &cobra.Command{
		Use:        "new <dir>",
		SuggestFor: []string{"init", "create", "scaffold"},
		Short:      "Begin an extension: packages, schemas, tests",
		Long: `new writes an extension that installs as it is, with a tool or a hook for each flag, their
tests and schemas, and the prelude in vendor/ so that "go test ./..." works without network.
The directory is new, or there and empty; into any other nothing is written. Its name is the
extension's, unless --name says another. Without --tool and --hook there is one tool, which
has the extension's name.

Events: ` + strings.Join(manifest.Events(), ", ") + `.

Exit statuses: 0 written; 2 usage, which includes names that no manifest takes and a directory
that is not empty; 14 it cannot be written. See "loomext help exitcodes".`,
		Example: `  loomext new weather --tool forecast
  loomext new ./gate --hook tool_call --hook tool_result --module example.com/you/gate`,
		Args:              exactly("dir"),
		ValidArgsFunction: directories,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			return c.newExtension(cmd.Context(), args[0], o)
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.tools, "tool", nil, "a tool by this `name`; repeatable")
	flags.StringArrayVar(&o.hooks, "hook", nil, "a hook on this `event`; repeatable")
	flags.StringVar(&o.name, "name", "", "the extension's name (default the directory's)")
	flags.StringVar(&o.module, "module", "", "the `path` that its packages import each other by (default "+unnamedModule+"<name>)")
	flags.BoolVar(&o.json, "json", false, "print what was written as JSON")
	must(cmd.RegisterFlagCompletionFunc("hook", cobra.FixedCompletions(manifest.Events(), cobra.ShellCompDirectiveNoFileComp)))
	for _, free := range []string{"tool", "name", "module"} {
		must(cmd.RegisterFlagCompletionFunc(free, cobra.NoFileCompletions))
	}
	return cmd
}

func (c *cli) newExtension(ctx context.Context, dir string, o newOptions) error {
	if dir == "" {
		return usagef("new wants the name of a directory, and it is empty")
	}
	plan, err := o.plan(dir)
	if err != nil {
		return err
	}
	files, m, err := gen.Scaffold(plan)
	if faults := (manifest.Faults)(nil); errors.As(err, &faults) {
		return usagef("new: %s", faultsText(faults))
	} else if err != nil {
		return err
	}
	module := o.module
	if module == "" {
		module = unnamedModule + plan.Name
	}
	prelude, err := vendorize.Scaffold(module)
	if err != nil {
		return usagef("new: --module: %s", strings.TrimPrefix(err.Error(), "generate: go.mod: "))
	}
	own := append(slices.Collect(maps.Keys(files)), "go.mod")
	slices.Sort(own)
	maps.Copy(files, prelude)
	if err := writeNew(ctx, dir, files); err != nil {
		return err
	}
	result := newResult{Name: m.Name(), Dir: absolute(dir), Module: module, Files: own, Tools: []newTool{}, Hooks: []newHook{}}
	for _, t := range m.Tools() {
		result.Tools = append(result.Tools, newTool{Name: t.Name, Entry: t.Entry, Parameters: t.Parameters})
	}
	for _, h := range m.Hooks() {
		result.Hooks = append(result.Hooks, newHook{Event: h.Event, Entry: h.Entry})
	}
	result.Next = nextSteps(dir, m)
	if o.json {
		return c.printJSON(result)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s: the extension %s, %d files, and the prelude in vendor/\n\n", escape.Line(dir), m.Name(), len(own))
	for _, file := range own {
		fmt.Fprintf(&text, "  %s\n", file)
	}
	text.WriteString("\nNext:\n")
	for _, step := range result.Next {
		fmt.Fprintf(&text, "  %s\n", escape.Line(step))
	}
	return c.printf("%s", text.String())
}

// nextSteps are commands that work on what was written, one after the other.
func nextSteps(dir string, m manifest.Manifest) []string {
	steps := []string{"loomext test .", "go test ./...", "loomext install ."}
	if filepath.Clean(dir) != "." {
		steps = append([]string{"cd " + shellWord(dir)}, steps...)
	}
	if tools := m.Tools(); len(tools) > 0 {
		return append(steps, "loomext call "+m.Name()+" "+tools[0].Name+` --args '{"text": "one two three", "words": 2}'`)
	}
	return append(steps, "loomext show "+m.Name())
}

// plan judges each name by itself, as the manifest will, so that an error names the flag.
func (o newOptions) plan(dir string) (gen.Plan, error) {
	p := gen.Plan{Name: o.name, Tools: o.tools, Hooks: o.hooks}
	what := "--name"
	if p.Name == "" {
		p.Name, what = filepath.Base(absolute(dir)), "the directory's name, which is the extension's unless --name says another,"
	}
	var faults []string
	add := func(flag, table, key, value string) {
		if why := wordFault(table, key, value); why != "" {
			faults = append(faults, fmt.Sprintf("new: %s %s", flag, why))
		}
	}
	add(what, "extension", "name", p.Name)
	for _, name := range p.Tools {
		add("--tool", "tool", "name", name)
	}
	for i, event := range p.Hooks {
		add("--hook", "hook", "event", event)
		if slices.Contains(p.Hooks[:i], event) {
			faults = append(faults, fmt.Sprintf("new: --hook %q is there twice; an event has one hook", event))
		}
	}
	for i, name := range p.Tools {
		if slices.Contains(p.Tools[:i], name) {
			faults = append(faults, fmt.Sprintf("new: --tool %q is there twice; give each tool its own name", name))
		}
	}
	if len(faults) > 0 {
		return p, usagef("%s", strings.Join(faults, "\nusage: "))
	}
	if len(p.Tools)+len(p.Hooks) == 0 {
		p.Tools = []string{p.Name}
	}
	return p, nil
}

// wordFault is what a manifest has to say of one name in it, and the name that was likely meant.
func wordFault(table, key, value string) string {
	words := map[string]string{"extension.name": "x", "tool.name": "x", "hook.event": manifest.Events()[0]}
	words[table+"."+key] = value
	text := fmt.Sprintf(`[extension]
name = %s
description = "x"
[[tool]]
name = %s
description = "x"
prompt_snippet = "x"
parameters = "schema/x.json"
entry = "x"
[[hook]]
event = %s
entry = "x"
`, tomlString(words["extension.name"]), tomlString(words["tool.name"]), tomlString(words["hook.event"]))
	_, err := manifest.Decode([]byte(text), anyFile{})
	var faults manifest.Faults
	if !errors.As(err, &faults) {
		return ""
	}
	for _, f := range faults {
		if f.Table == table && f.Key == key || f.Key == "" && f.Table == "" {
			if near := likelyWord(value); key == "name" && near != value && manifest.IsName(near) {
				return fmt.Sprintf("%s; did you mean %q?", f.Msg, near)
			}
			return f.Msg + "; " + f.Fix
		}
	}
	return ""
}

// likelyWord is a name in other spelling: "Web-Search" is web_search.
func likelyWord(s string) string {
	fold := func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r == '-' || r == '.' || r == ' ' || r == '/':
			return '_'
		}
		return r
	}
	s = strings.Trim(strings.Map(fold, s), "_")
	for strings.Contains(s, "__") {
		s = strings.ReplaceAll(s, "__", "_")
	}
	return s
}

// tomlString is a TOML basic string of any text; bytes that are no UTF-8 become U+FFFD, which no name has either.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// anyFile is a tree that has whatever a manifest promises.
type anyFile struct{}

func (anyFile) File(string) ([]byte, bool) { return []byte(`{"type":"object"}`), true }
func (anyFile) Packages() []string         { return []string{"x"} }

// faultsText is faults of a manifest that nobody has seen: without their places.
func faultsText(faults manifest.Faults) string {
	var lines []string
	for _, f := range faults {
		lines = append(lines, f.Msg+"; "+f.Fix)
	}
	return strings.Join(lines, "\nusage: new: ")
}
