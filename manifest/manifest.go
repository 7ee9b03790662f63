// Package manifest reads extension.toml and says what an extension is, what it
// asks for, and under which digests it is approved.
//
// [Decode] turns the file's text into a [Manifest], or into [Faults]: every
// fault of the file at once, each with its line, table and key. There is no
// other way to make a Manifest that says anything, so whoever holds one knows
// that its names, hosts, bounds and schemas have been checked. The package also
// compiles a tool's JSON Schema and checks a call's arguments against it
// ([Schema]), says how texts become arguments ([Arguments], [ResourceURI]), and
// holds the canonical JSON that every digest is taken over ([Canonical],
// [Fingerprint], [ApprovalKey]).
//
// It is not the vetting: whether an entry package exports the right function,
// and whether the source uses what the manifest requests, is decided elsewhere.
// It reads no file and opens no connection; the tree it checks promises against
// is handed in as [Files].
//
// Invariants:
//
//   - An unknown key is a fault in every table. Nothing in the file is ignored.
//   - Two files with the same meaning have the same revision; the order of
//     tables, keys and list entries, and every default left out, mean nothing.
//   - Decoding is total and bounded: any bytes give a Manifest or Faults, in
//     time and memory limited by the constants in bounds.go and those of the
//     reader of TOML files.
package manifest

import (
	"bytes"
	"slices"
)

// Files is the tree that a manifest makes promises about.
type Files interface {
	// File returns the bytes of one file by its slash-separated path from the
	// root of the tree.
	File(path string) ([]byte, bool)
	// Packages lists the directories that hold a Go package.
	Packages() []string
}

// Manifest is a checked extension.toml. Its lists are sorted and without
// duplicates, its defaults filled in. The zero Manifest is empty.
type Manifest struct {
	name, version, description, license, tier string

	requests  []string
	tools     []Tool
	hooks     []Hook
	prompts   []Prompt
	resources []Resource
	net       *Net
	proc      *Proc
	limits    Limits
	config    Config
	schemas   map[string]*Schema // by tool name

	canonical []byte
	revision  string
}

// Tool is one [[tool]] table: a function a model may call.
type Tool struct {
	Name          string
	Description   string // what the model reads; may hold line breaks
	PromptSnippet string // one line for a harness's list of tools
	Parameters    string // path of the schema in the tree, under schema/
	Entry         string // package directory that exports Run
	TimeoutMS     int64  // deadline of one call, in milliseconds
	Schema        []byte // the bytes of the schema file
}

// Hook is one [[hook]] table: a package that answers one event.
type Hook struct {
	Event string
	Entry string // package directory that exports the event's function, see [HookFunc]
}

// Net is the [net] table: where and how the extension asks to reach out.
type Net struct {
	Hosts            []string // exact lower-case names
	Methods          []string
	MaxResponseBytes int64 // as asked for; the host clamps it to its own ceiling
	RequestsPerCall  int   // as asked for; the host clamps it to its own ceiling
	Secrets          []Secret
}

// Secret is one [[net.secret]] table: a credential by name. Its value never
// passes through a manifest.
type Secret struct {
	Env    string // name of the variable that holds the value
	Host   string // one of Net.Hosts
	Header string // request header that carries the value
	Format string // header value with one {} where the secret goes
}

// Proc is the [proc] table.
type Proc struct {
	Commands [][]string // exact argv prefixes
	Env      []string   // names of the variables of the host that commands get
}

// Limits is the [limits] table. A zero field was not set: the host's own limit
// holds.
type Limits struct {
	MemoryMB int // MiB
}

// Name is the extension's name.
func (m Manifest) Name() string { return m.name }

// Version is the extension's SemVer version, without a leading v.
func (m Manifest) Version() string { return m.version }

// Description is the one line an operator reads.
func (m Manifest) Description() string { return m.description }

// License is an SPDX expression, or empty where the manifest states none.
func (m Manifest) License() string { return m.license }

// Tier is always "jailed": no other tier installs.
func (m Manifest) Tier() string { return m.tier }

// Requests is the sorted list of capabilities the extension asks for.
func (m Manifest) Requests() []string { return slices.Clone(m.requests) }

// Limits is what the extension asks to be limited to.
func (m Manifest) Limits() Limits { return m.limits }

// Config is the extension's configuration with its defaults.
func (m Manifest) Config() Config { return m.config }

// Revision is "sha256:" and 64 hex digits over [Manifest.Canonical].
func (m Manifest) Revision() string { return m.revision }

// Canonical is the normalized manifest as canonical JSON, each schema in it by
// the SHA-256 of its bytes.
func (m Manifest) Canonical() []byte { return bytes.Clone(m.canonical) }

// Tools lists the tools, sorted by name.
func (m Manifest) Tools() []Tool {
	tools := slices.Clone(m.tools)
	for i := range tools {
		tools[i].Schema = bytes.Clone(tools[i].Schema)
	}
	return tools
}

// Hooks lists the hooks, sorted by event.
func (m Manifest) Hooks() []Hook { return slices.Clone(m.hooks) }

// Schema is the compiled schema of one tool's arguments.
func (m Manifest) Schema(tool string) (*Schema, bool) {
	s, ok := m.schemas[tool]
	return s, ok
}

// Net is the [net] table, where there is one.
func (m Manifest) Net() (Net, bool) {
	if m.net == nil {
		return Net{}, false
	}
	n := *m.net
	n.Hosts = slices.Clone(n.Hosts)
	n.Methods = slices.Clone(n.Methods)
	n.Secrets = slices.Clone(n.Secrets)
	return n, true
}

// Proc is the [proc] table, where there is one.
func (m Manifest) Proc() (Proc, bool) {
	if m.proc == nil {
		return Proc{}, false
	}
	commands := make([][]string, len(m.proc.Commands))
	for i, argv := range m.proc.Commands {
		commands[i] = slices.Clone(argv)
	}
	return Proc{Commands: commands, Env: slices.Clone(m.proc.Env)}, true
}
