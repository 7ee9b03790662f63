package manifest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/loomext/loomext/internal/tomlfile"
)

// Prompt is one [[mcp.prompt]] table: a tool as a text that a person asks for by
// name. Its arguments are the tool's, see [Arguments].
type Prompt struct {
	Name        string
	Description string // one line for the person who chooses
	Tool        string // name of a tool of the same extension
}

// Resource is one [[mcp.resource]] table: a tool as something to read, under a URI.
type Resource struct {
	URI         string // absolute, or a template of RFC 6570, level 1
	Name        string
	Description string // may be empty
	MIMEType    string // of the text that the tool gives
	Tool        string // name of a tool of the same extension
}

// Variables lists the variables of the URI, each of them an argument of the tool. The tool of
// a fixed URI is called without arguments.
func (r Resource) Variables() []string {
	uri, _ := ParseURI(r.URI)
	return uri.Variables()
}

// Prompts lists the prompts, sorted by name.
func (m Manifest) Prompts() []Prompt { return slices.Clone(m.prompts) }

// Resources lists the resources, sorted by URI.
func (m Manifest) Resources() []Resource { return slices.Clone(m.resources) }

// mcp reads both lists of tables. Tools have been read.
func (d *decoder) mcp(n tomlfile.Node) {
	s, ok := d.open("mcp", n)
	if !ok {
		return
	}
	for _, item := range d.faults.Each("mcp.prompt", s.Values) {
		if len(d.m.prompts) == maxPrompts {
			d.faults.Add(item.Line, "mcp.prompt", "", fmt.Sprintf("there are more than %d prompts", maxPrompts), "split the extension")
			break
		}
		d.prompt(item)
	}
	for _, item := range d.faults.Each("mcp.resource", s.Values) {
		if len(d.m.resources) == maxResources {
			d.faults.Add(item.Line, "mcp.resource", "", fmt.Sprintf("there are more than %d resources", maxResources), "write a template, or split the extension")
			break
		}
		d.resource(item)
	}
	slices.SortFunc(d.m.prompts, func(a, b Prompt) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(d.m.resources, func(a, b Resource) int { return cmp.Compare(a.URI, b.URI) })
}

func (d *decoder) prompt(n tomlfile.Node) {
	s, ok := d.open("mcp.prompt", n)
	if !ok {
		return
	}
	var p Prompt
	if n, ok := s.Need("name", `"prompt_name"`); ok {
		p.Name, ok = s.Word(n, "name", nameWord)
		if ok && slices.ContainsFunc(d.m.prompts, func(other Prompt) bool { return other.Name == p.Name }) {
			s.Fault(n, "name", "another prompt is named "+tomlfile.Quote(p.Name), "give each prompt its own name")
		}
		d.namesTogether(s, n, "prompt", p.Name)
	}
	if n, ok := s.Need("description", `"one line for the person who chooses"`); ok {
		p.Description, _ = s.Text(n, "description", maxDescription, "")
	}
	n, tool, ok := d.bound(s)
	p.Tool = tool.Name
	if ok {
		s.promptArguments(n, tool)
	}
	d.m.prompts = append(d.m.prompts, p)
}

// bound reads the tool that a prompt or a resource calls. It is false where there
// is no such tool, or its schema is at fault.
func (d *decoder) bound(s section) (tomlfile.Node, Tool, bool) {
	n, ok := s.Need("tool", `"tool_name"`)
	if !ok {
		return n, Tool{}, false
	}
	name, ok := s.Text(n, "tool", MaxName, "")
	if !ok {
		return n, Tool{}, false
	}
	names := make([]string, len(d.m.tools))
	for i, t := range d.m.tools {
		if names[i] = t.Name; t.Name == name {
			return n, t, d.m.schemas[name] != nil
		}
	}
	switch {
	case len(names) == 0:
		s.Fault(n, "tool", "the extension has no tool "+tomlfile.Quote(name), "add a [[tool]] of that name")
	case !slices.Contains(names, ""): // a tool whose name is at fault may be the one
		s.Fault(n, "tool", "the extension has no tool "+tomlfile.Quote(name), tomlfile.Choose(name, names))
	}
	return n, Tool{}, false
}

// textual is what to do about a property that no text can give.
const textual = "write a type of string, number, integer or boolean, or an enum of such values"

// promptArguments checks that whoever fills the prompt in can give what the tool
// takes: texts, by name.
func (s section) promptArguments(n tomlfile.Node, tool Tool) {
	var names []string
	for _, p := range properties(tool.Schema) {
		names = append(names, p.Name)
		if p.fault != "" {
			s.Fault(n, "tool", atProperty(tool, p.Name)+": "+p.fault+", and the arguments of a prompt are texts", textual)
		}
	}
	for _, name := range required(tool.Schema) {
		if !slices.Contains(names, name) {
			s.Fault(n, "tool", tool.Parameters+" requires "+tomlfile.Quote(name)+", which is none of its top-level properties, so no prompt has it",
				"add it to properties")
		}
	}
}

func atProperty(tool Tool, name string) string {
	return tool.Parameters + " at " + tomlfile.Printable(pointer([]string{"properties", name}))
}

func (d *decoder) resource(n tomlfile.Node) {
	s, ok := d.open("mcp.resource", n)
	if !ok {
		return
	}
	r := Resource{MIMEType: DefaultMIMEType}
	uri, ok := s.Need("uri", `"notes://today"`)
	if ok {
		r.URI = d.uri(s, uri)
	}
	if n, ok := s.Need("name", `"resource_name"`); ok {
		r.Name, ok = s.Word(n, "name", nameWord)
		if ok && slices.ContainsFunc(d.m.resources, func(other Resource) bool { return other.Name == r.Name }) {
			s.Fault(n, "name", "another resource is named "+tomlfile.Quote(r.Name), "give each resource its own name")
		}
	}
	if n, ok := s.Get("description"); ok {
		r.Description, _ = s.Text(n, "description", maxDescription, "")
	}
	if n, ok := s.Get("mime_type"); ok {
		r.MIMEType, _ = s.Word(n, "mime_type", mimeWord)
	}
	n, tool, ok := d.bound(s)
	r.Tool = tool.Name
	if ok && r.URI != "" {
		d.resourceArguments(s, n, uri, r, tool)
	}
	d.m.resources = append(d.m.resources, r)
}

var mimeWord = tomlfile.Word{
	What: "a plain media type", Rule: `two names in lower case without parameters, like "text/markdown"`,
	Bound: maxMIMEType, Is: isMIMEType,
}

// uri reads where a resource is found.
func (d *decoder) uri(s section, n tomlfile.Node) string {
	v, ok := s.Text(n, "uri", maxURI, "")
	if !ok {
		return ""
	}
	if parts, msg, fix := splitURI(v); parts == nil {
		s.Fault(n, "uri", tomlfile.Quote(v)+" cannot be a resource: "+msg, fix)
		return ""
	}
	own, _ := ParseURI(v)
	for _, other := range d.m.resources {
		if has, ok := ParseURI(other.URI); ok && has.sameForm(own) {
			s.Fault(n, "uri", "another resource answers "+tomlfile.Quote(other.URI), "give each resource a URI of its own")
		}
	}
	return v
}

// resourceArguments checks that the URI gives the tool what it needs. The variables
// of a template are all that it gets; of a fixed URI it gets nothing.
func (d *decoder) resourceArguments(s section, tool, uri tomlfile.Node, r Resource, t Tool) {
	variables := r.Variables()
	if len(variables) == 0 {
		for _, f := range d.m.schemas[t.Name].Check([]byte("{}")) {
			s.Fault(tool, "tool", "a fixed URI gives no arguments, and "+t.Parameters+" does not take that: "+f.Error(),
				"require nothing, or write a template like {id} into uri")
		}
		return
	}
	all := properties(t.Schema)
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	for _, v := range variables {
		i := slices.Index(names, v)
		switch {
		case i < 0:
			s.Fault(uri, "uri", "the tool "+tomlfile.Quote(t.Name)+" has no top-level property "+tomlfile.Quote(v), chooseVariable(v, names))
		case all[i].fault != "":
			s.Fault(uri, "uri", atProperty(t, v)+": "+all[i].fault+", and a variable is a text", textual)
		}
	}
	for _, name := range required(t.Schema) {
		if !slices.Contains(variables, name) {
			s.Fault(uri, "uri", t.Parameters+" requires "+tomlfile.Quote(name)+", which is no variable of the URI",
				"write it into the URI in braces, or require it no more")
		}
	}
}

// chooseVariable names the property that a variable was probably meant to be.
func chooseVariable(got string, names []string) string {
	if len(names) == 0 {
		return "add it to properties"
	}
	return tomlfile.Choose(got, names)
}
