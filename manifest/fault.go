package manifest

import "github.com/loomext/loomext/internal/tomlfile"

// FileName is the manifest's name, at the root of an extension's tree.
const FileName = "extension.toml"

// Fault is one thing wrong with an extension.toml: its line, table and key, what
// is wrong and what to do.
type Fault = tomlfile.Fault

// Faults are all faults of one extension.toml, by line. As an error it is one
// line for each, beginning with "manifest: extension.toml:".
type Faults = tomlfile.Faults

// format is what an extension.toml may hold. The keys of [config] are the
// author's own.
var format = tomlfile.Format{
	Layer:    "manifest",
	Name:     FileName,
	Subject:  "an extension",
	MaxBytes: MaxFile,
	Relief:   "move data into the extension's own Go files",
	Tables: []tomlfile.Rule{
		{Name: "extension", Keys: []string{"name", "version", "description", "license", "tier", "requests"}},
		{Name: "config"},
		{Name: "tool", Keys: []string{"name", "description", "prompt_snippet", "parameters", "entry", "timeout_ms"}, Listed: true},
		{Name: "hook", Keys: []string{"event", "entry"}, Listed: true},
		{Name: "net", Keys: []string{"hosts", "methods", "max_response_bytes", "requests_per_call", "secret"}},
		{Name: "net.secret", Keys: []string{"env", "host", "header", "format"}, Listed: true},
		{Name: "proc", Keys: []string{"commands", "env"}},
		{Name: "limits", Keys: []string{"memory_mb"}},
		{Name: "mcp", Keys: []string{"prompt", "resource"}},
		{Name: "mcp.prompt", Keys: []string{"name", "description", "tool"}, Listed: true},
		{Name: "mcp.resource", Keys: []string{"uri", "name", "description", "mime_type", "tool"}, Listed: true},
	},
}

// section is one table of the file, with readers of values that only a manifest
// has.
type section struct{ tomlfile.Section }

// open starts to read a table.
func (d *decoder) open(name string, n tomlfile.Node) (section, bool) {
	s, ok := d.faults.Open(name, n)
	return section{s}, ok
}
