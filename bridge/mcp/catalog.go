package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/manifest"
)

// catalog is what is offered, as the server has it.
type catalog struct {
	mu                                  sync.Mutex
	tools, prompts, resources, patterns features
}

// features are the things of one list, by the name or the URI that clients use.
type features map[string]feature

// feature is one thing that clients find in a list.
type feature struct {
	extension string
	print     string // another where the entry of the list is, or what it is bound to
	arguments []manifest.Argument
	uri       manifest.ResourceURI // of a resource
	text      string               // its URI
	add       func(*sdk.Server)
}

// has reports whether anything of an extension is offered.
func (c *catalog) has(extension string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, list := range []features{c.tools, c.prompts, c.resources, c.patterns} {
		for _, f := range list {
			if f.extension == extension {
				return true
			}
		}
	}
	return false
}

// apply makes the server offer what the records say: no more is taken away and put there
// than has changed, for each change of a list is told to every client.
func (b *Bridge) apply(records []install.Record) {
	b.catalog.mu.Lock()
	defer b.catalog.mu.Unlock()
	fixed, patterns := b.resourceFeatures(records)
	b.update(&b.catalog.tools, b.toolFeatures(records), "tool", b.removeTools)
	b.update(&b.catalog.prompts, b.promptFeatures(records), "prompt", b.server.RemovePrompts)
	b.update(&b.catalog.resources, fixed, "resource", b.server.RemoveResources)
	b.update(&b.catalog.patterns, patterns, "resource template", b.server.RemoveResourceTemplates)
}

// update brings one list from what it was to what it is to be. A thing that the SDK does
// not take is left out, with a warning, until it is another.
func (b *Bridge) update(have *features, want features, what string, remove func(names ...string)) {
	var gone []string
	for name := range *have {
		if _, still := want[name]; !still {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		remove(gone...)
	}
	var changed []string
	for name, f := range want {
		if was, there := (*have)[name]; !there || was.print != f.print {
			changed = append(changed, name)
		}
	}
	for _, name := range changed {
		err := attempt(func() { want[name].add(b.server) })
		if err == nil {
			continue
		}
		remove(name)
		if b.warned.first(what, name, want[name].print) {
			b.logger.Warn("left out: it cannot be served as a "+what, "name", name, "extension", want[name].extension, "error", err)
		}
	}
	*have = want
}

// attempt runs what the SDK panics in where it does not like what it is given.
func attempt(add func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	add()
	return nil
}

// tool is one tool of a record, under the name that it is served by.
type tool struct {
	extension, served string
	tool              install.RecordTool
}

func (t *tool) plain() (extension, name string) { return t.extension, t.tool.Name }

// toolsOf are the tools of the records that are tools for clients as well.
func toolsOf(records []install.Record, chosen choice) []*tool {
	var all []*tool
	for _, r := range records {
		for _, t := range r.Tools {
			if chosen.serves(r.Name, t.Name) && !r.MCP.Binds(t.Name) {
				all = append(all, &tool{extension: r.Name, tool: t})
			}
		}
	}
	serve(all, func(t *tool, name string) { t.served = name })
	return all
}

// entry is the tool's entry in the list, with its schema as clients get it. Plain says that the SDK
// takes the schema without a further look.
func (t *tool) entry() (entry *sdk.Tool, plain bool, err error) {
	schema, plain, err := servedSchema(t.tool.Schema)
	if err != nil {
		return nil, false, err
	}
	return &sdk.Tool{Name: t.served, Description: t.tool.Description, InputSchema: schema}, plain, nil
}

// anyObject stands for a tool's schema in the server. The SDK reads a schema twice when a tool is
// added, with a buffer of 32 KiB each time, which for the tools of a large store costs more than to
// read its records. This one it takes for what it is, and cannot write to read it again, since it
// says its type twice. What clients get is put into their list; see [Bridge.listed].
var anyObject = &jsonschema.Schema{Type: "object", Types: []string{"object"}}

// addTool adds a tool.
func (b *Bridge) addTool(s *sdk.Server, t *tool) {
	entry, plain, err := t.entry()
	if err != nil {
		panic(err) // to attempt, like the SDK's own
	}
	b.schemas.Store(entry.Name, entry.InputSchema)
	if plain {
		entry.InputSchema = anyObject
	}
	s.AddTool(entry, b.toolHandler(t.extension, t.tool.Name))
}

func (b *Bridge) removeTools(names ...string) {
	b.server.RemoveTools(names...)
	for _, name := range names {
		b.schemas.Delete(name)
	}
}

// listed is a list of tools with their schemas as they were installed.
func (b *Bridge) listed(list *sdk.ListToolsResult) *sdk.ListToolsResult {
	whole := *list
	whole.Tools = make([]*sdk.Tool, len(list.Tools))
	for i, t := range list.Tools {
		entry := *t
		if schema, ok := b.schemas.Load(t.Name); ok {
			entry.InputSchema = schema
		}
		whole.Tools[i] = &entry
	}
	return &whole
}

// headerWord is the one word of a schema that makes the SDK look further than at its top.
const headerWord = `"x-mcp-header"`

// fits says why a server would not take the entry. The SDK is asked where the schema has a word that
// it minds, and where the top is no object; to ask it of every tool would cost a start more than the rest.
func fits(entry *sdk.Tool, plain bool) error {
	if plain {
		return nil
	}
	return attempt(func() {
		sdk.NewServer(&sdk.Implementation{Name: "loomext"}, nil).AddTool(entry, nil)
	})
}

func (b *Bridge) toolFeatures(records []install.Record) features {
	list := features{}
	for _, t := range toolsOf(records, b.choice) {
		list[t.served] = feature{
			extension: t.extension,
			print:     strings.Join([]string{t.extension, t.tool.Name, t.tool.Description, string(t.tool.Schema)}, "\x00"),
			add:       func(s *sdk.Server) { b.addTool(s, t) },
		}
	}
	return list
}

// servedSchema is a tool's schema as clients get it: as it was installed, but that the
// protocol wants the word "object" at the top, which the dialect does not. Plain says that the
// SDK takes it without a further look; of the others it is the SDK's to say.
func servedSchema(schema json.RawMessage) (served json.RawMessage, plain bool, err error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(schema, &top); err != nil || top == nil {
		return nil, false, fmt.Errorf("its schema is no object")
	}
	plain = !bytes.Contains(schema, []byte(headerWord))
	if kind, there := top["type"]; there {
		return schema, plain && string(kind) == `"object"`, nil
	}
	at := slices.Index(schema, '{') + 1
	said := `"type":"object"`
	if len(top) > 0 {
		said += ","
	}
	return slices.Concat(schema[:at], []byte(said), schema[at:]), plain, nil
}

// prompt is one prompt of a record, under the name that it is served by.
type prompt struct {
	extension, served string
	prompt            install.RecordPrompt
	schema            json.RawMessage
}

func (p *prompt) plain() (extension, name string) { return p.extension, p.prompt.Name }

func (b *Bridge) promptFeatures(records []install.Record) features {
	var all []*prompt
	for _, r := range records {
		if r.MCP == nil {
			continue
		}
		for _, p := range r.MCP.Prompts {
			if t, ok := r.Tool(p.Tool); ok && b.choice.serves(r.Name, p.Tool) {
				all = append(all, &prompt{extension: r.Name, prompt: p, schema: t.Schema})
			}
		}
	}
	serve(all, func(p *prompt, name string) { p.served = name })
	list := features{}
	for _, p := range all {
		arguments := manifest.Arguments(p.schema)
		list[p.served] = feature{
			extension: p.extension, arguments: arguments,
			print: strings.Join([]string{p.extension, p.prompt.Tool, p.prompt.Description, string(p.schema)}, "\x00"),
			add: func(s *sdk.Server) {
				entry := &sdk.Prompt{Name: p.served, Description: p.prompt.Description}
				for _, a := range arguments {
					entry.Arguments = append(entry.Arguments, &sdk.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
				}
				s.AddPrompt(entry, b.promptHandler(p.extension, p.prompt.Tool, p.prompt.Description, arguments))
			},
		}
	}
	return list
}

// resourceFeatures are the resources of the records by their URI, and those whose URI is a
// template. What two extensions would both answer, neither does: clients and the SDK would go by
// the text of the URI, and whoever is installed later, or has a name that comes first, would take
// what is the other's.
func (b *Bridge) resourceFeatures(records []install.Record) (fixed, patterns features) {
	schemes := map[string][]feature{}
	for _, record := range records {
		if record.MCP == nil {
			continue
		}
		for _, r := range record.MCP.Resources {
			t, ok := record.Tool(r.Tool)
			if !ok || !b.choice.serves(record.Name, r.Tool) {
				continue
			}
			uri, ok := manifest.ParseURI(r.URI)
			if !ok {
				continue // no manifest has it
			}
			scheme, _, _ := strings.Cut(r.URI, ":")
			schemes[scheme] = append(schemes[scheme], b.resource(record.Name, uri, r, t.Schema))
		}
	}
	fixed, patterns = features{}, features{}
	for _, all := range schemes {
		for _, one := range all {
			text := one.text
			if at := slices.IndexFunc(all, one.meets); at >= 0 {
				if other := all[at].extension; b.warned.first("resource", text, one.extension, other) {
					b.logger.Warn("left out: another extension answers for that URI, so neither does", "uri", text, "extension", one.extension, "other", other)
				}
				continue
			}
			if len(one.uri.Variables()) > 0 {
				patterns[text] = one
			} else {
				fixed[text] = one
			}
		}
	}
	return fixed, patterns
}

// meets reports whether a resource is another extension's and answers for a URI that this one
// answers for.
func (f feature) meets(other feature) bool {
	return f.extension != other.extension && f.uri.Meets(other.uri)
}

func (b *Bridge) resource(extension string, uri manifest.ResourceURI, r install.RecordResource, schema json.RawMessage) feature {
	arguments := manifest.Arguments(schema)
	return feature{
		extension: extension, arguments: arguments, uri: uri, text: r.URI,
		print: strings.Join([]string{extension, r.Name, r.Description, r.MIMEType, r.Tool, string(schema)}, "\x00"),
		add: func(s *sdk.Server) {
			handler := b.resourceHandler(extension, uri, r, arguments)
			if len(uri.Variables()) > 0 {
				s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIMEType}, handler)
				return
			}
			s.AddResource(&sdk.Resource{URI: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIMEType}, handler)
		},
	}
}
