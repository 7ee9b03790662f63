package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/loomext/loomext/internal/tomlfile"
)

// Dialect is the one dialect of JSON Schema that tools are written in.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema is the compiled JSON Schema of a tool's arguments. It loads nothing,
// and a check costs bounded work whatever schema and arguments ask for. It may
// be used by several goroutines; checks that a glance does not settle take turns.
type Schema struct {
	glance *glance // nil where the schema is not of the plain kind

	mu    sync.Mutex
	root  *jsonschema.Schema
	meter *meter
	shape *shape
}

// SchemaFault is one thing wrong with arguments, or with a schema itself.
type SchemaFault struct {
	Pointer string `json:"pointer"` // JSON pointer to the value; empty is the whole
	Msg     string `json:"msg"`
}

// Error renders the fault as one line.
func (f SchemaFault) Error() string {
	if f.Pointer == "" {
		return f.Msg
	}
	return tomlfile.Printable(f.Pointer) + ": " + f.Msg
}

// SchemaFaults are all faults of one schema.
type SchemaFaults []SchemaFault

// Error renders one line for each fault.
func (fs SchemaFaults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// tidy sorts faults by pointer, drops repetitions and cuts the rest.
func (fs SchemaFaults) tidy(bound int) SchemaFaults {
	slices.SortFunc(fs, func(a, b SchemaFault) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Msg, b.Msg))
	})
	fs = slices.Compact(fs)
	if len(fs) > bound {
		rest := len(fs) - bound + 1
		fs = append(fs[:bound-1:bound-1], SchemaFault{Msg: fmt.Sprintf("and %d more", rest)})
	}
	return fs
}

// CompileSchema reads a JSON Schema 2020-12 for a tool's arguments. On failure
// the error is [SchemaFaults]: all faults, by JSON pointer into the schema.
//
// Refused are, beside what the dialect itself does not allow: references out of
// the file, dynamic references and nested identifiers; keywords that this
// dialect would silently ignore, or that are near misses of one it knows;
// schemas that never come to an end; regular expressions that are not RE2.
func CompileSchema(raw []byte) (*Schema, error) {
	s, faults := compileSchema(raw)
	if len(faults) > 0 {
		return nil, faults
	}
	return s, nil
}

// hiddenFaults names the texts of a schema, keys included, that hold what a reader would not
// see: a model reads them, and no approval shows them. Line breaks and tabs are allowed.
func hiddenFaults(v any, at []string) SchemaFaults {
	var faults SchemaFaults
	judge := func(what, text string) {
		if name, found := tomlfile.Hidden(text, "\n\t"); found {
			faults = append(faults, SchemaFault{pointer(at), what + " holds " + name + "; leave it out, or write it as an escape of the pattern's own in a pattern"})
		}
	}
	switch v := v.(type) {
	case string:
		judge("the text", v)
	case []any:
		for i, item := range v {
			faults = append(faults, hiddenFaults(item, append(at, strconv.Itoa(i)))...)
		}
	case map[string]any:
		for key, item := range v {
			judge("a key", key)
			faults = append(faults, hiddenFaults(item, append(at, key))...)
		}
	}
	return faults
}

func compileSchema(raw []byte) (*Schema, SchemaFaults) {
	doc, fault := decodeJSON(raw, jsonBounds{MaxSchema, maxSchemaDepth, MaxSchema})
	if fault != nil {
		return nil, SchemaFaults{{fault.Pointer, fault.Msg}}
	}
	root, ok := doc.(map[string]any)
	if !ok {
		return nil, SchemaFaults{{"", "a tool's schema is an object"}}
	}
	if faults := hiddenFaults(root, nil); len(faults) > 0 {
		return nil, faults.tidy(tomlfile.MaxFaults)
	}
	if faults := dialectFaults(root); len(faults) > 0 {
		return nil, faults
	}
	delete(root, "$id") // references stay in the file, so nothing goes by it
	meta, err := metaschema()
	if err != nil {
		return nil, SchemaFaults{{"", "the dialect's own schema is not there: " + err.Error()}}
	}
	if err := meta.Validate(root); err != nil {
		return nil, explain(err, nil).tidy(tomlfile.MaxFaults)
	}
	shape, faults := survey(root)
	if len(faults) > 0 {
		return nil, faults.tidy(tomlfile.MaxFaults)
	}
	plain := newGlance(root) // before the compiler, which marks what it reads
	m := &meter{most: maxWork}
	compiled, err := compileMetered(root, shape, m)
	if err != nil {
		return nil, SchemaFaults{{"", "the schema does not compile: " + tomlfile.Printable(err.Error())}}
	}
	return &Schema{root: compiled, meter: m, shape: shape, glance: plain}, nil
}

// dialectFaults checks what is said about the schema as a whole.
func dialectFaults(root map[string]any) SchemaFaults {
	var faults SchemaFaults
	if v, there := root["$schema"]; there {
		s, _ := v.(string)
		if strings.TrimSuffix(s, "#") != Dialect {
			faults = append(faults, SchemaFault{"/$schema", "tools are written in " + Dialect + "; write that, or leave it out"})
		}
	}
	if v, there := root["$id"]; there {
		if _, ok := v.(string); !ok {
			faults = append(faults, SchemaFault{"/$id", "expected a string"})
		}
	}
	return faults
}

// Check checks a call's arguments. The result is empty where they fit; else it
// is one fault for each thing wrong, sorted by JSON pointer.
func (s *Schema) Check(args []byte) []SchemaFault {
	if s.glance.fits(args) {
		return nil
	}
	v, fault := decodeJSON(args, jsonBounds{MaxArguments, maxArgumentDepth, maxArgumentValues})
	if fault != nil {
		return []SchemaFault{{"", fault.Error()}}
	}
	err := s.validate(v)
	if err == nil {
		return nil
	}
	if errors.Is(err, errSpent) {
		return []SchemaFault{{"", errSpent.Error()}}
	}
	return explain(err, s.shape).tidy(maxArgumentFaults)
}

func (s *Schema) validate(v any) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		// The validator cannot be told to stop; the meter leaves it by a panic.
		if r := recover(); r != nil {
			if r != errSpent {
				panic(r)
			}
			err = errSpent
		}
	}()
	s.meter.left = s.meter.most
	return s.root.Validate(v)
}

var metaschema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	return c.Compile(Dialect)
})

// nothing is the loader of every compiler here: it loads nothing.
type nothing struct{}

func (nothing) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not part of this schema", url)
}
