package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
	"github.com/loomext/loomext/vet"
)

// Approval is everything an operator reads before an extension is installed. It is computed
// before anything is built.
type Approval struct {
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description"`
	License     string          `json:"license"`
	Source      string          `json:"source"`
	Tools       []RecordTool    `json:"tools"`
	Hooks       []RecordHook    `json:"hooks"`
	MCP         *RecordMCP      `json:"mcp"` // nil where the manifest binds nothing
	Net         *RecordNet      `json:"net"`
	Commands    [][]string      `json:"commands"`
	CommandEnv  []string        `json:"command_env,omitempty"` // names of the variables that commands get
	MemoryMB    int             `json:"memory_mb"`
	Requests    []Request       `json:"requests"`
	Config      json.RawMessage `json:"config"`
	Overrides   json.RawMessage `json:"overrides"`
	Revision    string          `json:"revision"`
	TreeDigest  string          `json:"tree_digest"`
	// Granted is what this install grants, where that was said ahead of the question; nil
	// is a question that is still to be answered.
	Granted []string `json:"granted"`
	// ApprovalKey is the key of this approval with what is granted, or with all that is
	// requested while that is open.
	ApprovalKey string `json:"approval_key"`
	// Changes is how this differs from what is installed under the name. It is empty for
	// a first install.
	Changes []Change `json:"changes"`
	// Replaces is the version that is installed now, or empty.
	Replaces string `json:"replaces"`
	// Warnings are lines about what is no fault and yet wrong: where a tool's schema and the
	// type that it decodes into disagree.
	Warnings []string `json:"warnings"`
}

// Change is one field of the record that an install would change, in the record's spelling.
type Change struct {
	Field string          `json:"field"`
	Was   json.RawMessage `json:"was"`
	Now   json.RawMessage `json:"now"`
}

// Request is one capability that an extension asks for, with the places that use it.
type Request struct {
	Capability string   `json:"capability"`
	Uses       []string `json:"uses"` // "tool/run.go:12:2 net.Fetch"
}

// Decision is an operator's answer to an [Approval].
type Decision struct {
	All     bool     // every requested capability
	Granted []string // or these of them; empty grants none
	How     string   // how the answer was given, for the record: "prompt", "--yes", "--grant"
}

// grants is the capabilities a decision grants of those requested, sorted. A capability that
// was not requested is an error: a grant that does nothing is a misunderstanding.
func (d Decision) grants(requested []string) ([]string, error) {
	if d.All {
		return list(requested), nil
	}
	granted := []string{}
	for _, capability := range d.Granted {
		if !slices.Contains(requested, capability) {
			return nil, &GrantError{Capability: capability, Requested: requested}
		}
		if !slices.Contains(granted, capability) {
			granted = append(granted, capability)
		}
	}
	slices.Sort(granted)
	return granted, nil
}

// GrantError is a grant of a capability that the extension does not request.
type GrantError struct {
	Capability string
	Requested  []string
}

func (e *GrantError) Error() string {
	asks := "it requests none"
	if len(e.Requested) > 0 {
		asks = "it requests " + strings.Join(e.Requested, ", ")
	}
	return fmt.Sprintf("cannot grant %q: %s; grant a subset of what is requested", e.Capability, asks)
}

// examined is a source that passed every check which needs no build.
type examined struct {
	tree      source.Tree
	manifest  manifest.Manifest
	pkg       vet.Package
	config    manifest.Config
	overrides []byte
	approval  Approval
	record    Record // the terms, without an approval
	level     jail.Level
}

// examine reads, decodes and vets a source. The one child it starts checks types; it writes nothing but the builder's cache.
// Where passed, if not nil, says that this very source passed before, its types are not checked again: the package is
// then not typed, and may not be built.
func examine(ctx context.Context, src string, sets []string, b *build.Builder, progress func(Progress), passed func(examined) bool) (examined, error) {
	var x examined
	step := steps(progress)

	done := step(LayerFetch, "read "+src)
	tree, err := source.Open(ctx, src)
	if sourceLayer(err) == LayerExtract && lacksManifest(src) {
		return x, noManifest(src) // it is no extension, so what else is wrong with it does not matter
	}
	if err != nil {
		return x, refuse(sourceLayer(err), err)
	}
	x.tree = tree
	done(fmt.Sprintf("%d files", len(tree.Paths())))

	done = step(LayerManifest, "decode extension.toml")
	text, ok := tree.File(manifest.FileName)
	if !ok {
		return x, noManifest(src)
	}
	m, manifestErr := manifest.Decode(text, tree)
	if manifestErr != nil {
		return x, refuse(LayerManifest, manifestErr)
	}
	x.manifest = m
	if x.config, x.overrides, err = override(m, sets); err != nil {
		return x, refuse(LayerManifest, err)
	}
	done(m.Name() + " " + m.Version())

	done = step(LayerVetting, "vet the source")
	if x.pkg, err = vet.Syntax(ctx, tree, m); err != nil {
		return x, refuse(LayerVetting, err)
	}
	if passed == nil || !passed(x) {
		if x.pkg, err = vetTypes(ctx, x.pkg, b); err != nil {
			return x, err
		}
	}
	done("passed")
	return x, x.describe()
}

// lacksManifest reports whether a directory has nothing of the manifest's name.
func lacksManifest(src string) bool {
	_, err := os.Lstat(filepath.Join(src, manifest.FileName))
	return errors.Is(err, fs.ErrNotExist)
}

func noManifest(src string) error {
	return refuse(LayerManifest, fmt.Errorf("%s: there is no %s at its root; name the directory that holds the extension's", src, manifest.FileName))
}

// describe fills the terms and the approval.
func (x *examined) describe() error {
	if err := x.record.terms(x.manifest); err != nil {
		return refuse(LayerManifest, err)
	}
	seam := vet.CurrentSeam()
	x.record.Source = x.tree.Origin()
	x.record.Module = x.tree.Module()
	x.record.TreeDigest = x.tree.Digest()
	x.record.Seam = RecordSeam{Version: seam.Version, Allow: list(seam.Allow), Denied: list(seam.Denied)}
	x.record.Config, x.record.Overrides = x.config.JSON(), x.overrides

	r := x.record
	x.approval = Approval{
		Name: r.Name, Version: r.Version, Description: r.Description, License: r.License,
		Source: r.Source, Tools: r.Tools, Hooks: r.Hooks, MCP: r.MCP, Net: r.Net, Commands: r.Commands, CommandEnv: r.CommandEnv,
		MemoryMB: r.MemoryMB, Requests: []Request{}, Config: r.Config, Overrides: r.Overrides,
		Revision: r.Revision, TreeDigest: r.TreeDigest, Changes: []Change{}, Warnings: schemaWarnings(x.pkg),
	}
	x.approval.ApprovalKey = approvalKey(r, r.Requested)
	uses := x.pkg.Uses()
	for _, capability := range r.Requested {
		request := Request{Capability: capability, Uses: []string{}}
		for _, use := range uses {
			if use.Capability == capability {
				request.Uses = append(request.Uses, fmt.Sprintf("%s:%d:%d %s", use.Path, use.Line, use.Col, use.Symbol))
			}
		}
		x.approval.Requests = append(x.approval.Requests, request)
	}
	return nil
}

// approvalKey is the key of a record's terms with some capabilities granted.
func approvalKey(r Record, granted []string) string {
	return manifest.ApprovalKey(manifest.Fingerprint(r.Revision, granted), r.Overrides, r.TreeDigest)
}

// against notes how the approval differs from what is installed.
func (x *examined) against(previous Record) error {
	terms := approvedTerms
	if x.approval.Granted != nil {
		terms = append(slices.Clone(terms), "granted")
	}
	changes, err := differences(previous, x.record, terms)
	if err != nil {
		return err
	}
	x.approval.Changes = changes
	x.approval.Replaces = previous.Version
	return nil
}

// approvedTerms is what of a record an operator approved, as opposed to how it was built.
var approvedTerms = []string{
	"name", "version", "description", "license", "source", "tree_digest", "revision", "seam", "net",
	"commands", "memory_mb", "config", "overrides", "requested", "tools", "hooks", "mcp",
}

// Check reads, decodes and vets a source, without a build of it and without a store. The builder
// has the compiled packages that its types are checked against, and says in what jail. With a preset
// the approval has the key that an install with it would record.
func Check(ctx context.Context, src string, sets []string, preset *Decision, b *build.Builder) (Approval, error) {
	x, err := examine(ctx, src, sets, b, nil, nil)
	if err == nil && preset != nil {
		err = x.preset(*preset)
	}
	return x.approval, err
}

// preset settles what is granted ahead of the question.
func (x *examined) preset(d Decision) error {
	if err := x.grant(d); err != nil {
		return err
	}
	x.approval.Granted, x.approval.ApprovalKey = x.record.Granted, x.record.ApprovalKey
	return nil
}

// override applies "key=value" settings to the configuration of a manifest.
func override(m manifest.Manifest, sets []string) (manifest.Config, []byte, error) {
	values := make(map[string]string, len(sets))
	for _, set := range sets {
		key, value, ok := strings.Cut(set, "=")
		if !ok || key == "" {
			return manifest.Config{}, nil, fmt.Errorf("--set %s: it is not key=value; write --set results=5", set)
		}
		if _, twice := values[key]; twice {
			return manifest.Config{}, nil, fmt.Errorf("--set %s: the key is set twice; give it once", key)
		}
		values[key] = value
	}
	return m.Config().Override(values)
}

// operator is who approves, as the system names the user.
func operator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}
