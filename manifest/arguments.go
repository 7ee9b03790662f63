package manifest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/loomext/loomext/internal/tomlfile"
)

// Argument is a top-level property of a tool's schema as one that is given as a
// text: an argument of a prompt, or a variable in a resource's URI.
type Argument struct {
	Name        string
	Description string
	Required    bool
	// Enum is the values that the schema names, as texts, in its order. It is
	// empty where any value of the type will do.
	Enum []string

	kind string            // "string", "number", "integer" or "boolean"; empty where only Enum says
	enum []json.RawMessage // beside Enum, as JSON
}

// Value is the JSON value that a text means. A text that the property cannot take
// is a JSON string, of which [Schema.Check] then says what is wrong.
func (a Argument) Value(text string) json.RawMessage {
	if i := slices.Index(a.Enum, text); i >= 0 {
		return bytes.Clone(a.enum[i])
	}
	switch {
	case (a.kind == "number" || a.kind == "integer") && isNumber(text),
		a.kind == "boolean" && (text == "true" || text == "false"):
		return json.RawMessage(text)
	}
	value, err := encodeJSON(text)
	if err != nil {
		return json.RawMessage(`""`) // unreachable: every string has an encoding
	}
	return value
}

// isNumber reports whether a text is a JSON number and nothing else.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && strings.TrimSpace(s) == s && json.Valid([]byte(s))
}

// Arguments lists the top-level properties of a tool's schema that can be given as
// texts, in the schema's order. Of a tool that a prompt calls those are all.
func Arguments(schema []byte) []Argument {
	var arguments []Argument
	for _, p := range properties(schema) {
		if p.fault == "" {
			arguments = append(arguments, p.Argument)
		}
	}
	return arguments
}

// property is an Argument, or why a text cannot give it.
type property struct {
	Argument
	fault string
}

// topLevel is what the first level of a schema says.
type topLevel struct {
	Properties json.RawMessage `json:"properties"`
	Required   []string        `json:"required"`
}

// properties lists the top-level properties of a schema in its order. What is no
// schema has none.
func properties(schema []byte) []property {
	var top topLevel
	if json.Unmarshal(schema, &top) != nil {
		return nil
	}
	var list []property
	for name, raw := range members(top.Properties) {
		p := property{Argument: Argument{Name: name, Required: slices.Contains(top.Required, name)}}
		p.read(raw)
		list = append(list, p)
	}
	return list
}

// required lists what the first level of a schema requires.
func required(schema []byte) []string {
	var top topLevel
	if json.Unmarshal(schema, &top) != nil {
		return nil
	}
	return top.Required
}

// members goes through the members of a JSON object in its order, and through
// nothing of any other value.
func members(object json.RawMessage) func(yield func(string, json.RawMessage) bool) {
	return func(yield func(string, json.RawMessage) bool) {
		dec := json.NewDecoder(bytes.NewReader(object))
		if open, err := dec.Token(); err != nil || open != json.Delim('{') {
			return
		}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return
			}
			var value json.RawMessage
			name, _ := key.(string)
			if dec.Decode(&value) != nil || !yield(name, value) {
				return
			}
		}
	}
}

// read takes from a property's schema what a text for it needs.
func (p *property) read(raw json.RawMessage) {
	var says struct {
		Type        any               `json:"type"`
		Enum        []json.RawMessage `json:"enum"`
		Const       json.RawMessage   `json:"const"`
		Description string            `json:"description"`
	}
	if json.Unmarshal(raw, &says) != nil {
		p.fault = "its schema says nothing of its type"
		return
	}
	p.Description = says.Description
	if says.Const != nil {
		says.Enum = append(says.Enum, says.Const)
	}
	for _, value := range says.Enum {
		p.choice(value)
	}
	if says.Type == nil {
		if p.fault == "" && len(p.Enum) == 0 {
			p.fault = "its schema says nothing of its type"
		}
		return
	}
	p.kind = textKind(says.Type)
	if p.kind == "" && p.fault == "" {
		p.fault = "it is not of one plain type"
	}
}

// choice adds one value of an enum. Null has no text, and is left out.
func (p *property) choice(raw json.RawMessage) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return
	}
	text := string(raw)
	switch v := value.(type) {
	case nil:
		return
	case string:
		text = v
	case bool, json.Number:
	default:
		p.fault = "its enum holds " + tomlfile.Printable(text)
		return
	}
	if slices.Contains(p.Enum, text) {
		return // "1" beside 1: the first of them is meant
	}
	p.Enum, p.enum = append(p.Enum, text), append(p.enum, bytes.Clone(raw))
}

// textKind is the one type beside null that a text can mean, or empty.
func textKind(says any) string {
	kinds := []any{says}
	if list, ok := says.([]any); ok {
		kinds = slices.DeleteFunc(slices.Clone(list), func(kind any) bool { return kind == "null" })
	}
	if len(kinds) != 1 {
		return ""
	}
	kind, _ := kinds[0].(string)
	if !slices.Contains([]string{"string", "number", "integer", "boolean"}, kind) {
		return ""
	}
	return kind
}
