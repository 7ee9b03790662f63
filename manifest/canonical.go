package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"

	"github.com/loomext/loomext/internal/tomlfile"
)

// Canonical renders a JSON text in its one canonical form (RFC 8785): sorted
// keys, no space, shortest numbers. It refuses what the form cannot carry or two
// readers could understand differently: duplicate keys, lone surrogates, and
// numbers beyond ±2^53, where neighboring integers become one.
func Canonical(raw []byte) ([]byte, error) {
	v, fault := decodeJSON(raw, jsonBounds{maxCanonicalBytes, maxCanonicalDepth, maxCanonicalValues})
	if fault != nil {
		return nil, fmt.Errorf("manifest: canonical JSON: %w", fault)
	}
	if n, ok := inexact(v); ok {
		return nil, fmt.Errorf("manifest: canonical JSON: %s is beyond ±2^53; write it as a string", tomlfile.Quote(n))
	}
	out, err := jcs.Transform(raw)
	if err != nil {
		return nil, fmt.Errorf("manifest: canonical JSON: %s", tomlfile.Printable(err.Error()))
	}
	return out, nil
}

// inexact finds a number that canonical JSON does not carry.
func inexact(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		if !exact(v) {
			return string(v), true
		}
	case []any:
		for _, item := range v {
			if n, ok := inexact(item); ok {
				return n, true
			}
		}
	case map[string]any:
		for _, item := range v {
			if n, ok := inexact(item); ok {
				return n, true
			}
		}
	}
	return "", false
}

func exact(n json.Number) bool {
	if !strings.ContainsAny(string(n), ".eE") {
		i, err := strconv.ParseInt(string(n), 10, 64)
		return err == nil && i >= -maxInteger && i <= maxInteger
	}
	f, err := strconv.ParseFloat(string(n), 64)
	return err == nil && f >= -maxInteger && f <= maxInteger
}

// digest is "sha256:" and the lower-case hex digest of data.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// canonicalValue renders a value this package built.
func canonicalValue(v any) ([]byte, error) {
	raw, err := encodeJSON(v)
	if err != nil {
		return nil, err
	}
	return Canonical(raw)
}

// object is a JSON object under construction.
type object map[string]any

// seal computes the canonical form and the revision. What it covers is listed
// in testdata/vectors/README.md; whatever is added to a manifest is added here.
// A table that is not there is not there in the canonical form either, so that a
// table which a later loomext learns leaves today's revisions as they are.
func (m *Manifest) seal() error {
	doc := object{
		"manifest":    1,
		"name":        m.name,
		"version":     m.version,
		"description": m.description,
		"tier":        m.tier,
		"requests":    notNil(m.requests),
		"config":      json.RawMessage(m.config.JSON()),
	}
	if m.license != "" {
		doc["license"] = m.license
	}
	tools := []object{}
	for _, t := range m.tools {
		tools = append(tools, object{
			"name": t.Name, "description": t.Description, "prompt_snippet": t.PromptSnippet,
			"parameters": t.Parameters, "schema": digest(t.Schema), "entry": t.Entry, "timeout_ms": t.TimeoutMS,
		})
	}
	doc["tools"] = tools
	hooks := []object{}
	for _, h := range m.hooks {
		hooks = append(hooks, object{"event": h.Event, "entry": h.Entry})
	}
	doc["hooks"] = hooks
	if m.net != nil {
		secrets := []object{}
		for _, s := range m.net.Secrets {
			secrets = append(secrets, object{"env": s.Env, "host": s.Host, "header": s.Header, "format": s.Format})
		}
		doc["net"] = object{
			"hosts": m.net.Hosts, "methods": m.net.Methods, "secrets": secrets,
			"max_response_bytes": m.net.MaxResponseBytes, "requests_per_call": m.net.RequestsPerCall,
		}
	}
	if m.proc != nil {
		proc := object{"commands": m.proc.Commands}
		if len(m.proc.Env) > 0 {
			proc["env"] = m.proc.Env
		}
		doc["proc"] = proc
	}
	if m.limits != (Limits{}) {
		doc["limits"] = object{"memory_mb": m.limits.MemoryMB}
	}
	if mcp := m.mcpObject(); len(mcp) > 0 {
		doc["mcp"] = mcp
	}
	canonical, err := canonicalValue(doc)
	if err != nil {
		return err
	}
	m.canonical, m.revision = canonical, digest(canonical)
	return nil
}

// mcpObject is what the manifest binds for MCP. A list without entries is left out.
func (m *Manifest) mcpObject() object {
	mcp := object{}
	var prompts, resources []object
	for _, p := range m.prompts {
		prompts = append(prompts, object{"name": p.Name, "description": p.Description, "tool": p.Tool})
	}
	for _, r := range m.resources {
		resources = append(resources, object{
			"uri": r.URI, "name": r.Name, "description": r.Description, "mime_type": r.MIMEType, "tool": r.Tool,
		})
	}
	if prompts != nil {
		mcp["prompts"] = prompts
	}
	if resources != nil {
		mcp["resources"] = resources
	}
	return mcp
}

func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// Fingerprint is "sha256:" and 64 hex digits over a revision and the granted
// capabilities, whose order and repetition mean nothing: the digest of the
// canonical JSON {"granted":[…],"revision":"…"}.
func Fingerprint(revision string, granted []string) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(granted)))
	return mustDigest(object{"granted": notNil(sorted), "revision": revision})
}

// ApprovalKey is "sha256:" and 64 hex digits over everything an operator said
// yes to: the digest of the canonical JSON
// {"fingerprint":"…","overrides":"…","tree":"…"}, where overrides is the text of
// an [Overrides], "{}" where there is none.
func ApprovalKey(fingerprint string, overrides []byte, treeDigest string) string {
	text := string(overrides)
	if text == "" {
		text = "{}"
	}
	return mustDigest(object{"fingerprint": fingerprint, "overrides": text, "tree": treeDigest})
}

// mustDigest digests an object of strings. Encoding one cannot fail unless it is
// larger than the bound on canonical JSON; that object is digested as encoded,
// so that the function stays total and no two inputs share a result.
func mustDigest(o object) string {
	canonical, err := canonicalValue(o)
	if err != nil {
		canonical, _ = encodeJSON(o)
	}
	return digest(canonical)
}
