package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loomext/loomext/internal/tomlfile"
)

func (d *decoder) tool(n tomlfile.Node) {
	s, ok := d.open("tool", n)
	if !ok {
		return
	}
	t := Tool{TimeoutMS: DefaultTimeoutMS}
	if n, ok := s.Need("name", `"tool_name"`); ok {
		t.Name, _ = s.Word(n, "name", nameWord)
		d.toolName(s, n, t.Name)
	}
	if n, ok := s.Need("description", `"what the model reads"`); ok {
		t.Description, _ = s.Text(n, "description", maxToolText, "\n")
	}
	if n, ok := s.Need("prompt_snippet", `"tool_name: one line for the list of tools"`); ok {
		t.PromptSnippet, _ = s.Text(n, "prompt_snippet", maxPromptSnippet, "")
	}
	var schema *Schema
	if n, ok := s.Need("parameters", `"schema/tool_name.json"`); ok {
		t.Parameters, t.Schema, schema = d.schema(s, n)
	}
	if n, ok := s.Need("entry", `"package_directory"`); ok {
		t.Entry = d.entry(s, n)
	}
	if n, ok := s.Get("timeout_ms"); ok {
		t.TimeoutMS, _ = s.Number(n, "timeout_ms", minTimeoutMS, maxTimeoutMS)
	}
	if len(d.m.tools) == maxTools {
		d.faults.Add(s.Line, s.Name, "", fmt.Sprintf("there are more than %d tools", maxTools), "split the extension")
		return
	}
	d.m.tools = append(d.m.tools, t)
	if d.m.schemas == nil {
		d.m.schemas = map[string]*Schema{}
	}
	d.m.schemas[t.Name] = schema
}

// toolName checks a tool's name against the others and the extension's.
func (d *decoder) toolName(s section, n tomlfile.Node, name string) {
	if name == "" {
		return
	}
	if slices.ContainsFunc(d.m.tools, func(t Tool) bool { return t.Name == name }) {
		s.Fault(n, "name", "another tool is named "+tomlfile.Quote(name), "give each tool its own name")
	}
	d.namesTogether(s, n, "tool", name)
}

// namesTogether checks a name that clients see with the extension's before it.
func (d *decoder) namesTogether(s section, n tomlfile.Node, what, name string) {
	if both := len(d.m.name) + len(name); both > MaxName {
		s.Fault(n, "name", fmt.Sprintf("the extension's and the %s's name together have %d bytes, the bound is %d", what, both, MaxName),
			"shorten one of them")
	}
}

// entry reads a package directory of the tree.
func (d *decoder) entry(s section, n tomlfile.Node) string {
	v, ok := s.Text(n, "entry", maxPath, "")
	if !ok {
		return ""
	}
	switch {
	case v == "." || v == "./":
		s.Fault(n, "entry", "the entry is the root of the tree", "move the package into a directory of its own")
	case strings.HasSuffix(v, ".go"):
		s.Fault(n, "entry", tomlfile.Quote(v)+" is a file", "name the directory that holds the package")
	case !isPath(v):
		s.Fault(n, "entry", tomlfile.Quote(v)+" is not a plain relative path", `write one like "tool" or "tools/search"`)
	case !slices.Contains(d.packages, v):
		fix := "name a directory of the tree that holds Go files"
		if near, ok := tomlfile.Nearest(v, d.packages); ok {
			fix = "did you mean " + tomlfile.Quote(near) + "?"
		}
		s.Fault(n, "entry", "there is no Go package in "+tomlfile.Quote(v), fix)
	default:
		return v
	}
	return ""
}

// compiled is what became of one schema file. Tools may share one.
type compiled struct {
	schema *Schema
	faults SchemaFaults
}

// schema reads the schema file that parameters names.
func (d *decoder) schema(s section, n tomlfile.Node) (file string, raw []byte, schema *Schema) {
	v, ok := s.Text(n, "parameters", maxPath, "")
	if !ok {
		return "", nil, nil
	}
	if !isPath(v) || !strings.HasPrefix(v, "schema/") {
		s.Fault(n, "parameters", tomlfile.Quote(v)+" is not a path under schema/", `write one like "schema/tool_name.json"`)
		return "", nil, nil
	}
	if d.files != nil {
		raw, ok = d.files.File(v)
	}
	if d.files == nil || !ok {
		s.Fault(n, "parameters", "there is no file "+tomlfile.Quote(v)+" in the tree", "add it, or name the file that is there")
		return "", nil, nil
	}
	c, done := d.compiled[v]
	if !done {
		c.schema, c.faults = compileSchema(raw)
		if d.compiled == nil {
			d.compiled = map[string]compiled{}
		}
		d.compiled[v] = c
	}
	for _, f := range c.faults {
		where := v
		if f.Pointer != "" {
			where += " at " + tomlfile.Printable(f.Pointer)
		}
		s.Fault(n, "parameters", where+": "+f.Msg, "correct the schema")
	}
	return v, raw, c.schema
}

func (d *decoder) hook(n tomlfile.Node) {
	s, ok := d.open("hook", n)
	if !ok {
		return
	}
	var h Hook
	if n, ok := s.Need("event", `"tool_call"`); ok {
		h.Event = d.event(s, n)
	}
	if n, ok := s.Need("entry", `"package_directory"`); ok {
		h.Entry = d.entry(s, n)
	}
	d.m.hooks = append(d.m.hooks, h)
}

func (d *decoder) event(s section, n tomlfile.Node) string {
	v, ok := s.Text(n, "event", MaxName, "")
	if !ok {
		return ""
	}
	if _, known := HookFunc(v); !known {
		s.Fault(n, "event", "there is no event "+tomlfile.Quote(v), tomlfile.Choose(v, Events()))
		return ""
	}
	if slices.ContainsFunc(d.m.hooks, func(h Hook) bool { return h.Event == v }) {
		s.Fault(n, "event", "another hook answers "+tomlfile.Quote(v), "answer each event in one place")
	}
	return v
}
