package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/schema"
	"github.com/loomext/loomext/source"
	"github.com/loomext/loomext/vet"
)

// schemaResult is what schema --json prints. docs/cli.md describes it.
type schemaResult struct {
	OK    bool         `json:"ok"`
	Tools []schemaTool `json:"tools"`
}

type schemaTool struct {
	Name        string              `json:"name"`
	Parameters  string              `json:"parameters"`
	State       string              `json:"state"`
	Schema      json.RawMessage     `json:"schema"`
	Differences []schema.Difference `json:"differences"`

	text []byte // as it is written
}

// The states of a schema file against the type.
const (
	schemaCurrent = "current"
	schemaMissing = "missing"
	schemaDiffers = "differs"
	schemaWritten = "written"
)

// schemaOptions are the flags of schema.
type schemaOptions struct {
	tools              []string
	write, check, json bool
}

func (c *cli) schemaCommand() *cobra.Command {
	var o schemaOptions
	cmd := &cobra.Command{
		Use:   "schema <dir>",
		Short: "Derive the schemas of tools from their Go types",
		Long: `schema derives the JSON Schema of each tool's arguments from the Go type that its entry
decodes them into with ext.Typed or ext.DecodeArgs: json tags name the fields, comments
describe them, and jsonschema tags bound them. It reads the source and runs nothing of it.

It prints the schemas. --write puts each where the manifest has its parameters, if it says
something else there; --check fails for each that differs, and names the fields.

Exit statuses: 0; 2 usage; 10 fetch, 11 extract, 12 manifest; 13 the source cannot be read;
14 a type has no schema, or a file cannot be written; 17 --check found a difference. See
"loomext help exitcodes".`,
		Example: `  loomext schema .
  loomext schema . --write
  loomext schema ./weather --check --tool forecast`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.write && o.check {
				return usagef("schema writes or checks: --write and --check exclude each other")
			}
			return exactly("dir")(cmd, args)
		},
		ValidArgsFunction: directories,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			return c.schema(cmd.Context(), args[0], o)
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.tools, "tool", nil, "the tool of this `name` alone; repeatable")
	flags.BoolVar(&o.write, "write", false, "write the files that differ")
	flags.BoolVar(&o.check, "check", false, "print nothing; fail where a file differs")
	flags.BoolVar(&o.json, "json", false, "print schemas, states and differences as JSON")
	must(cmd.RegisterFlagCompletionFunc("tool", completeDraftTools))
	return cmd
}

// completeDraftTools completes the tools of the directory that is on the command line.
func completeDraftTools(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var tools []cobra.Completion
	if len(args) == 1 {
		if _, m, err := draft(cmd.Context(), args[0]); err == nil {
			for _, t := range m.Tools() {
				tools = append(tools, completion(t.Name, t.PromptSnippet))
			}
		}
	}
	return tools, cobra.ShellCompDirectiveNoFileComp
}

func (c *cli) schema(ctx context.Context, dir string, o schemaOptions) error {
	tree, m, err := draft(ctx, dir)
	if err != nil {
		return err
	}
	if err := legible(ctx, tree, m); err != nil {
		return err
	}
	result := schemaResult{OK: true, Tools: []schemaTool{}}
	tools := m.Tools()
	for _, name := range o.tools {
		if !slices.ContainsFunc(tools, func(t manifest.Tool) bool { return t.Name == name }) {
			return usagef("schema: --tool: there is no tool %q; %s has %s", name, manifest.FileName, orNone(namesOf(tools)))
		}
	}
	if len(tools) == 0 {
		c.tell("schema: " + manifest.FileName + " has no tool, and hooks have no schema")
	}
	packages := schema.Read(tree, moduleOf(tree, m))
	var faults []error
	files := map[string][]byte{}
	for _, t := range tools {
		if len(o.tools) > 0 && !slices.Contains(o.tools, t.Name) {
			continue
		}
		derived, err := packages.Of(t.Entry)
		if err != nil {
			faults = append(faults, fmt.Errorf("tool %s: %w", t.Name, err))
			continue
		}
		one := compared(tree, t, derived)
		if other, ok := files[t.Parameters]; ok && !bytes.Equal(other, one.text) {
			faults = append(faults, fmt.Errorf("%s is the parameters of tools with different types; give each its own file", t.Parameters))
		}
		files[t.Parameters] = one.text
		result.Tools = append(result.Tools, one)
	}
	if len(faults) > 0 {
		return &install.Error{Layer: install.LayerGenerate, Err: underived(faults)}
	}
	switch {
	case o.write:
		err = writeSchemas(ctx, dir, result.Tools)
	case o.check:
		err = schemasDiffer(result.Tools)
	}
	result.OK = err == nil
	if perr := c.printSchemas(result, o); perr != nil {
		return perr
	}
	return err
}

// underived is every reason why a schema cannot be derived, a line each.
func underived(reasons []error) error {
	var lines []string
	for _, err := range reasons {
		text := err.Error()
		if errors.Is(err, schema.ErrUntold) {
			text = strings.ReplaceAll(text, "\n", ": ") + "; decode them with ext.Typed, or leave this tool's schema to be written by hand"
		}
		lines = append(lines, strings.Split(text, "\n")...)
	}
	return errors.New(strings.Join(lines, "\n"))
}

// compared is a tool's schema beside its file.
func compared(tree source.Tree, t manifest.Tool, derived *schema.Schema) schemaTool {
	one := schemaTool{Name: t.Name, Parameters: t.Parameters, State: schemaCurrent, Schema: derived.JSON(), Differences: []schema.Difference{}, text: derived.JSON()}
	have, ok := tree.File(t.Parameters)
	if !ok {
		one.State = schemaMissing
		return one
	}
	if d := derived.Differences(have); len(d) > 0 {
		one.State, one.Differences = schemaDiffers, d
	}
	return one
}

// schemasDiffer is the error of --check.
func schemasDiffer(tools []schemaTool) error {
	var lines []string
	for _, t := range tools {
		if t.State == schemaMissing {
			lines = append(lines, t.Parameters+": it is not there; write it with --write")
		}
		for _, d := range t.Differences {
			lines = append(lines, t.Parameters+": "+d.Error())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return &install.Error{Layer: install.LayerVerify, Err: errors.New(strings.Join(lines, "\n"))}
}

func (c *cli) printSchemas(result schemaResult, o schemaOptions) error {
	if o.json {
		return c.printJSON(result)
	}
	var out strings.Builder
	for _, t := range result.Tools {
		switch {
		case o.check:
		case o.write:
			fmt.Fprintf(&out, "%s %s\n", escape.Line(t.Parameters), t.State)
		case len(result.Tools) > 1:
			fmt.Fprintf(&out, "%s (%s):\n%s", escape.Line(t.Parameters), t.State, t.text)
		default:
			out.Write(t.text)
		}
	}
	return writeShown(c.out, out.String(), escape.JSON)
}

func namesOf(tools []manifest.Tool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return names
}

// moduleOf is the path that the packages of a tree import each other by.
func moduleOf(tree source.Tree, m manifest.Manifest) string {
	if module := tree.Module(); module != "" {
		return module
	}
	return unnamedModule + m.Name()
}

// draft reads an extension that an author is at work on: the schemas that its manifest names need not be there yet, nor be
// any good.
func draft(ctx context.Context, dir string) (source.Tree, manifest.Manifest, error) {
	tree, err := source.Open(ctx, dir)
	if err != nil {
		layer := install.LayerFetch
		if refused := (*source.Error)(nil); errors.As(err, &refused) && refused.Layer == source.LayerExtract {
			layer = install.LayerExtract
		}
		return tree, manifest.Manifest{}, &install.Error{Layer: layer, Err: err}
	}
	text, ok := tree.File(manifest.FileName)
	if !ok {
		return tree, manifest.Manifest{}, &install.Error{Layer: install.LayerManifest, Err: fmt.Errorf("%s is not there; begin an extension with loomext new", manifest.FileName)}
	}
	m, err := manifest.Decode(text, draftFiles{tree, draftSchema(text)})
	if err != nil {
		return tree, m, &install.Error{Layer: install.LayerManifest, Err: err}
	}
	return tree, m, nil
}

// draftFiles has whatever schema a manifest names.
type draftFiles struct {
	source.Tree
	schema []byte
}

func (d draftFiles) File(path string) ([]byte, bool) {
	if strings.HasPrefix(path, "schema/") {
		return d.schema, true
	}
	return d.Tree.File(path)
}

// braced is what may be a variable in the URI of a resource.
var braced = regexp.MustCompile(`\{(\w+)\}`)

// draftSchema takes any arguments. It has a property for every variable that a manifest could bind a tool's argument to: whether
// the schema has it that the type gives is not known yet.
func draftSchema(text []byte) []byte {
	properties := map[string]any{}
	for _, variable := range braced.FindAllSubmatch(text, -1) {
		properties[string(variable[1])] = map[string]string{"type": "string"}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		return []byte(`{"type":"object"}`) // unreachable: these are maps of strings
	}
	return schema
}

// legible refuses a source that cannot be parsed, or that is made to cost its reader more than it is worth. What else
// vetting has to say is for check: a source that is being written need not pass.
func legible(ctx context.Context, tree source.Tree, m manifest.Manifest) error {
	_, err := vet.Syntax(ctx, tree, m)
	var findings vet.Findings
	if !errors.As(err, &findings) {
		return err
	}
	findings = slices.DeleteFunc(findings, func(f vet.Finding) bool {
		return f.Lint != vet.LintSyntax && f.Lint != vet.LintBound && f.Lint != vet.LintCharacter
	})
	if len(findings) == 0 {
		return nil
	}
	return &install.Error{Layer: install.LayerVetting, Err: findings}
}
