package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
)

// RecordFormat is the format that this version writes and the only one it reads.
const RecordFormat = 1

// maxRecord bounds install.json: a manifest's schemas are at most 32 KiB each, and the
// record holds them beside little else.
const maxRecord = 8 << 20

// Record is install.json: what was approved, what was built from it and with what. It is
// stored, not recomputed: a later loomext whose seam is wider compares, and asks.
type Record struct {
	Format           int               `json:"format"`
	Name             string            `json:"name"`
	Version          string            `json:"version"`
	Description      string            `json:"description"`
	License          string            `json:"license"`
	Source           string            `json:"source"`
	ResolvedRevision string            `json:"resolved_revision"` // a commit, where the source has one
	Module           string            `json:"module"`
	TreeDigest       string            `json:"tree_digest"`
	Files            map[string]string `json:"files"` // the SHA-256 of each kept file, in hexadecimal, so that a changed one can be named
	ArtifactDigest   string            `json:"artifact_digest"`
	ArtifactSize     int64             `json:"artifact_size"` // bytes
	PreludeDigest    string            `json:"prelude_digest"`
	Revision         string            `json:"revision"`
	Fingerprint      string            `json:"fingerprint"`
	ApprovalKey      string            `json:"approval_key"`
	Seam             RecordSeam        `json:"seam"`
	Net              *RecordNet        `json:"net"`
	Commands         [][]string        `json:"commands"`
	CommandEnv       []string          `json:"command_env,omitempty"` // names of variables
	MemoryMB         int               `json:"memory_mb"`
	Config           json.RawMessage   `json:"config"`    // canonical, as approved
	Overrides        json.RawMessage   `json:"overrides"` // canonical, the keys the operator set
	Requested        []string          `json:"requested"`
	Granted          []string          `json:"granted"`
	Tools            []RecordTool      `json:"tools"`
	Hooks            []RecordHook      `json:"hooks"`
	MCP              *RecordMCP        `json:"mcp,omitempty"` // not there where the manifest binds nothing, as in every record of before
	Toolchain        string            `json:"toolchain"`
	BuildEnv         []string          `json:"build_env"`
	BuildFlags       []string          `json:"build_flags"`
	BuildJail        jail.Report       `json:"build_jail"`
	ApprovedBy       string            `json:"approved_by"`
	ApprovedHow      string            `json:"approved_how"`
	ApprovedAt       time.Time         `json:"approved_at"`
	InstalledAt      time.Time         `json:"installed_at"` // to the nanosecond, so that no two generations are one
}

// RecordSeam is the import seam that the source was vetted against.
type RecordSeam struct {
	Version int      `json:"version"`
	Allow   []string `json:"allow"`
	Denied  []string `json:"denied"`
}

// RecordNet is the approved network terms.
type RecordNet struct {
	Hosts            []string       `json:"hosts"`
	Methods          []string       `json:"methods"`
	MaxResponseBytes int64          `json:"max_response_bytes"`
	RequestsPerCall  int            `json:"requests_per_call"`
	Secrets          []RecordSecret `json:"secrets"`
}

// RecordSecret is a secret by name: the variable that holds it, and where its value may go.
type RecordSecret struct {
	Env    string `json:"env"`
	Host   string `json:"host"`
	Header string `json:"header"`
	Format string `json:"format"`
}

// RecordTool is what a harness offers a model, from the record alone.
type RecordTool struct {
	Name          string          `json:"name"`
	Description   string          `json:"description"`
	PromptSnippet string          `json:"prompt_snippet"`
	Parameters    string          `json:"parameters"`
	Entry         string          `json:"entry"`
	TimeoutMS     int64           `json:"timeout_ms"`
	Schema        json.RawMessage `json:"schema"`
}

// RecordHook is one declared lifecycle event.
type RecordHook struct {
	Event string `json:"event"`
	Entry string `json:"entry"`
}

// Tool finds a tool of the record by name.
func (r Record) Tool(name string) (RecordTool, bool) {
	for _, tool := range r.Tools {
		if tool.Name == name {
			return tool, true
		}
	}
	return RecordTool{}, false
}

// Events are the events that it declares hooks for.
func (r Record) Events() []string {
	events := make([]string, len(r.Hooks))
	for i, hook := range r.Hooks {
		events[i] = hook.Event
	}
	return events
}

// terms fills what a manifest decides: everything of the record that [Store.Load] re-derives
// from the installed tree.
func (r *Record) terms(m manifest.Manifest) error {
	r.Name, r.Version = m.Name(), m.Version()
	r.Description, r.License = m.Description(), m.License()
	r.Revision = m.Revision()
	r.Requested = list(m.Requests())
	r.MemoryMB = m.Limits().MemoryMB
	r.Net, r.Commands, r.CommandEnv = nil, [][]string{}, nil
	if net, ok := m.Net(); ok {
		r.Net = &RecordNet{
			Hosts: list(net.Hosts), Methods: list(net.Methods),
			MaxResponseBytes: net.MaxResponseBytes, RequestsPerCall: net.RequestsPerCall,
			Secrets: []RecordSecret{},
		}
		for _, secret := range net.Secrets {
			r.Net.Secrets = append(r.Net.Secrets, RecordSecret(secret))
		}
	}
	if proc, ok := m.Proc(); ok {
		r.Commands, r.CommandEnv = append(r.Commands, proc.Commands...), proc.Env
	}
	r.Tools, r.Hooks = []RecordTool{}, []RecordHook{}
	for _, tool := range m.Tools() {
		var schema bytes.Buffer
		if err := json.Compact(&schema, tool.Schema); err != nil {
			return fmt.Errorf("the schema %s is no JSON: %w", tool.Parameters, err)
		}
		r.Tools = append(r.Tools, RecordTool{
			Name: tool.Name, Description: tool.Description, PromptSnippet: tool.PromptSnippet,
			Parameters: tool.Parameters, Entry: tool.Entry, TimeoutMS: tool.TimeoutMS, Schema: schema.Bytes(),
		})
	}
	for _, hook := range m.Hooks() {
		r.Hooks = append(r.Hooks, RecordHook{Event: hook.Event, Entry: hook.Entry})
	}
	r.MCP = mcpTerms(m)
	return nil
}

// list is a copy that is never null in JSON.
func list(items []string) []string { return append([]string{}, items...) }

// sealKey is the one key of install.json that is not of the record itself.
const sealKey = "seal"

// encode renders install.json and its digest. Beside the record's fields stands a seal, the
// SHA-256 of each field, so that a check which finds the file changed can say where. Neither
// is a signature: who can write the store can write both.
func (r Record) encode() (text []byte, digest string, err error) {
	fields, order, err := r.fields()
	if err != nil {
		return nil, "", err
	}
	seal := make(map[string]string, len(fields))
	for key, value := range fields {
		seal[key] = sum(value)
	}
	sealed, err := json.Marshal(seal) // map keys come sorted
	if err != nil {
		return nil, "", err
	}
	fields[sealKey] = sealed
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, object(fields, append(order, sealKey)), "", "  "); err != nil {
		return nil, "", err
	}
	pretty.WriteByte('\n')
	return pretty.Bytes(), sum(pretty.Bytes()), nil
}

// fields is the record as its JSON members, compact, with their order.
func (r Record) fields() (map[string]json.RawMessage, []string, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, nil, err
	}
	return members(text.Bytes())
}

// members splits a JSON object into its members without reading their values, refusing a key
// that stands twice.
func members(text []byte) (map[string]json.RawMessage, []string, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, nil, errors.New("it is no JSON object")
	}
	fields, order := map[string]json.RawMessage{}, []string{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		key, _ := token.(string)
		if _, twice := fields[key]; twice {
			return nil, nil, fmt.Errorf("the key %q stands twice", key)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, nil, err
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			return nil, nil, err
		}
		fields[key], order = compact.Bytes(), append(order, key)
	}
	if _, err := dec.Token(); err != nil {
		return nil, nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, nil, errors.New("something stands after the record")
	}
	return fields, order, nil
}

// object joins members again. Keys are the record's own and need no escaping beyond %q.
func object(fields map[string]json.RawMessage, order []string) []byte {
	var text bytes.Buffer
	for i, key := range order {
		separator := ","
		if i == 0 {
			separator = "{"
		}
		fmt.Fprintf(&text, "%s%q:%s", separator, key, fields[key])
	}
	text.WriteByte('}')
	return text.Bytes()
}

// sum is a SHA-256 in hexadecimal.
func sum(b []byte) string {
	digest := sha256.Sum256(b)
	return hex.EncodeToString(digest[:])
}

// readRecord reads install.json and holds it against the digest in its generation's name.
// A changed file is refused with the fields that changed.
func readRecord(path, wantDigest string) (Record, error) {
	buffer := recordBuffers.Get().(*bytes.Buffer)
	defer recordBuffers.Put(buffer) // nothing of a record aliases it
	buffer.Reset()
	if err := readBounded(path, maxRecord, buffer); err != nil {
		return Record{}, err
	}
	text := buffer.Bytes()
	if sum(text) != wantDigest {
		return Record{}, tampered(text)
	}
	if record, ok := scanRecord(text); ok {
		return record, nil
	}
	return decodeRecord(text)
}

// decodeRecord reads any text that is a record, and says what is wrong with one that is none.
func decodeRecord(text []byte) (Record, error) {
	fields, order, err := members(text)
	if err != nil {
		return Record{}, fmt.Errorf("%s cannot be read: %w", recordName, err)
	}
	var format int
	if json.Unmarshal(fields["format"], &format) != nil || format != RecordFormat {
		return Record{}, fmt.Errorf("%s has format %s and this loomext reads %d; install it again", recordName, fields["format"], RecordFormat)
	}
	order = slices.DeleteFunc(order, func(key string) bool { return key == sealKey })
	var record Record
	dec := json.NewDecoder(bytes.NewReader(object(fields, order)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&record); err != nil {
		return Record{}, fmt.Errorf("%s cannot be read: %w; install the extension again", recordName, err)
	}
	return record, nil
}

// tampered says which fields of a changed record do not match its seal.
func tampered(text []byte) error {
	const remedy = "it was changed after the approval; install it again"
	fields, _, err := members(text)
	if err != nil {
		return fmt.Errorf("%s does not match the digest in its generation's name and cannot be read (%w); %s", recordName, err, remedy)
	}
	var seal map[string]string
	if err := json.Unmarshal(fields[sealKey], &seal); err != nil {
		return fmt.Errorf("%s does not match the digest in its generation's name, and its %s is gone; %s", recordName, sealKey, remedy)
	}
	delete(fields, sealKey)
	var changed []string
	for key, value := range fields {
		if seal[key] != sum(value) {
			changed = append(changed, key)
		}
	}
	for key := range seal {
		if _, ok := fields[key]; !ok {
			changed = append(changed, key)
		}
	}
	sort.Strings(changed)
	if len(changed) == 0 {
		changed = []string{"its layout"}
	}
	return fmt.Errorf("%s does not match the digest in its generation's name: changed: %s; %s", recordName, strings.Join(changed, ", "), remedy)
}

// differences are the fields in which two records differ, of those given. A field that one of
// them does not have is nil there.
func differences(was, now Record, only []string) ([]Change, error) {
	before, order, err := was.fields()
	if err != nil {
		return nil, err
	}
	after, more, err := now.fields()
	if err != nil {
		return nil, err
	}
	for _, field := range more {
		if _, ok := before[field]; !ok {
			order = append(order, field)
		}
	}
	changes := []Change{}
	for _, field := range order {
		if slices.Contains(only, field) && !bytes.Equal(before[field], after[field]) {
			changes = append(changes, Change{Field: field, Was: before[field], Now: after[field]})
		}
	}
	return changes, nil
}

// readBounded reads a regular file of at most limit bytes, and no link.
func readBounded(path string, limit int64, into *bytes.Buffer) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("%w; install the extension again", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file; install the extension again", path)
	}
	if info.Size() > limit {
		return fmt.Errorf("%s has %d bytes, more than %d; install the extension again", path, info.Size(), limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	into.Grow(int(info.Size()) + bytes.MinRead) // so that it is read in one piece
	_, err = into.ReadFrom(io.LimitReader(f, limit+1))
	return err
}

// recordBuffers are what records are read into: a store has many, and each is read whole.
var recordBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
