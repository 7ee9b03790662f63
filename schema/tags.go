package schema

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A jsonschema tag is a list of keywords with commas between them:
//
//	Days int `json:"days" jsonschema:"minimum=1,maximum=7,default=3"`
//
// A comma that belongs to a value has two backslashes before it, and so has a bar within one value of enum or examples.
// In front of a keyword, "items." makes it one of what the slice, the array or the map holds; it may be repeated.
// docs/cli.md lists the keywords.

// takes is what a keyword may bound, and how its value is read.
type takes struct {
	types []string // JSON types of which one must be there; none is any
	value func(n *node, text string) (any, error)
}

var tagKeywords = map[string]takes{
	"title":            {nil, plainText},
	"description":      {nil, plainText},
	"deprecated":       {nil, flag},
	"type":             {nil, nil}, // by itself, below
	"required":         {nil, nil},
	"default":          {nil, one},
	"examples":         {nil, several},
	"enum":             {[]string{"string", "integer", "number"}, several},
	"format":           {[]string{"string"}, plainText},
	"pattern":          {[]string{"string"}, expression},
	"minLength":        {[]string{"string"}, count},
	"maxLength":        {[]string{"string"}, count},
	"minimum":          {[]string{"integer", "number"}, number},
	"maximum":          {[]string{"integer", "number"}, number},
	"exclusiveMinimum": {[]string{"integer", "number"}, number},
	"exclusiveMaximum": {[]string{"integer", "number"}, number},
	"multipleOf":       {[]string{"integer", "number"}, positive},
	"minItems":         {[]string{"array"}, count},
	"maxItems":         {[]string{"array"}, count},
	"uniqueItems":      {[]string{"array"}, flag},
	"minProperties":    {[]string{"object"}, count},
	"maxProperties":    {[]string{"object"}, count},
}

// blankKeywords stand in the tag of a field "_ struct{}", and are of the struct.
var blankKeywords = []string{"additionalProperties", "description", "title", "minProperties", "maxProperties"}

// tags applies a field's jsonschema tag, and reports whether it says that the field is required.
func (b *builder) tags(n *node, f field) (required bool) {
	pairs := split(f.tag, ',')
	// What the type is comes first, since the others are judged by it.
	slices.SortStableFunc(pairs, func(x, y string) int {
		return boolToInt(isType(y)) - boolToInt(isType(x))
	})
	for _, pair := range pairs {
		key, value, has := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if key == "required" && !has {
			required = true
			continue
		}
		if err := apply(n, key, value, has); err != nil && !b.lenient {
			b.faults = append(b.faults, b.p.fault(f.tagPos, "jsonschema tag of "+f.goName+": "+err.Error(), "see docs/cli.md of loomext, schema, for what a tag may say"))
		}
	}
	return required
}

func isType(pair string) bool {
	key, _, _ := strings.Cut(pair, "=")
	return key == "type" || strings.HasSuffix(key, ".type")
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// blank applies the tag of a field "_", which is the struct's.
func (b *builder) blank(n *node, g goType) {
	if g.fields == nil || g.fields.Fields == nil {
		return
	}
	for _, decl := range g.fields.Fields.List {
		if len(decl.Names) != 1 || decl.Names[0].Name != "_" {
			continue
		}
		b.tag(decl, "_")
		tag, pos := tagOf(decl)
		for _, pair := range split(tag.Get("jsonschema"), ',') {
			key, value, has := strings.Cut(pair, "=")
			err := error(nil)
			switch {
			case !slices.Contains(blankKeywords, key):
				err = unknownKey(key, blankKeywords)
			case key == "additionalProperties" && value != "false":
				err = fmt.Errorf("additionalProperties is %q; it can be false", value)
			case key == "additionalProperties":
				n.closed = true
				continue
			default:
				err = apply(n, key, value, has)
			}
			if err != nil && !b.lenient {
				b.faults = append(b.faults, b.p.fault(pos, "jsonschema tag of _: "+err.Error(), "see docs/cli.md of loomext, schema, for what a tag may say"))
			}
		}
	}
}

// tag judges what a field's tag is made of, where encoding/json and reflect would pass over a slip without a word.
func (b *builder) tag(decl *ast.Field, goName string) {
	if b.lenient || decl.Tag == nil {
		return
	}
	text, pos := tagOf(decl)
	add := func(what, fix string) {
		b.faults = append(b.faults, b.p.fault(pos, "the tag of "+goName+" "+what, fix))
	}
	keys, rest := tagKeys(string(text))
	if rest != "" {
		add(fmt.Sprintf("is not read from %s on", short(rest)), `write each part as key:"value", without a space after the colon and with a space between parts`)
	}
	for i, key := range keys {
		for _, known := range []string{"json", "jsonschema"} {
			if key != known && foldKey(key) == known {
				add(fmt.Sprintf("has the key %q, which nothing reads", key), "write "+known)
			}
			if key == known && slices.Index(keys, key) < i {
				add("has "+key+" twice, and the first is read", "make one of the two")
			}
		}
	}
	name, options, _ := strings.Cut(text.Get("json"), ",")
	if !goodName(name) {
		add(fmt.Sprintf("gives it the JSON name %q, which encoding/json does not take, so that the name is %s", name, goName), "use letters, digits and marks other than quotes and commas")
	}
	for option := range strings.SplitSeq(options, ",") {
		if !slices.Contains([]string{"", "omitempty", "omitzero", "string"}, option) { // "string" is a fault by itself
			add(fmt.Sprintf("has the json option %q, which is none", option), "write omitempty or omitzero, or take it out")
		}
	}
}

// tagKeys lists the keys of a tag as reflect reads it, and what is left where reflect stops.
func tagKeys(text string) (keys []string, rest string) {
	for {
		text = strings.TrimLeft(text, " ")
		end := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r == ':' || r == '"' || r == 0x7f })
		if end <= 0 || !strings.HasPrefix(text[end:], `:"`) {
			return keys, text
		}
		value, err := strconv.QuotedPrefix(text[end+1:])
		if err != nil {
			return keys, text
		}
		keys, text = append(keys, text[:end]), text[end+1+len(value):]
	}
}

// apply sets one keyword.
func apply(n *node, key, value string, has bool) error {
	if rest, inner := strings.CutPrefix(key, "items."); inner {
		switch {
		case n.items != nil:
			return apply(n.items, rest, value, has)
		case n.values != nil:
			return apply(n.values, rest, value, has)
		}
		return fmt.Errorf("items. is for slices, arrays and maps, and %s is none", n.spelled)
	}
	k, known := tagKeywords[key]
	switch {
	case !known || key == "required":
		return unknownKey(key, tagNames())
	case key == "type":
		return n.say(value)
	case n.ref != "" && !slices.Contains([]string{"title", "description", "deprecated"}, key):
		return fmt.Errorf("%s cannot stand beside a type that refers to itself", key)
	case k.types != nil && !n.unknown && !slices.ContainsFunc(k.types, func(t string) bool { return slices.Contains(n.types, t) }):
		return fmt.Errorf("%s is for %s, and %s is none", key, strings.Join(k.types, " and "), n.spelled)
	}
	if isFlag := key == "deprecated" || key == "uniqueItems"; isFlag == has {
		if isFlag {
			return fmt.Errorf("%s is said without a value", key)
		}
		return fmt.Errorf("%s wants a value: %s=…", key, key)
	}
	parsed, err := k.value(n, value)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if err := n.narrows(key, parsed); err != nil {
		return err
	}
	if n.tagged == nil {
		n.tagged = map[string]bool{}
	}
	n.tagged[key] = true
	n.set(key, parsed)
	return nil
}

// tagNames lists what a tag may say.
func tagNames() []string {
	names := make([]string, 0, len(tagKeywords))
	for name := range tagKeywords {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// foldKey is the letters of a key, by which one is known to whoever writes it in another way.
func foldKey(s string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return r
	}, s))
}

func unknownKey(key string, known []string) error {
	short := map[string]string{"min": "minimum", "max": "maximum", "desc": "description", "example": "examples", "regexp": "pattern", "optional": "omitempty in the json tag"}
	for _, name := range known {
		if foldKey(name) == foldKey(key) || short[foldKey(key)] == name {
			return fmt.Errorf("there is no %q; did you mean %s?", key, name)
		}
	}
	if near := short[foldKey(key)]; near != "" {
		return fmt.Errorf("there is no %q; did you mean %s?", key, near)
	}
	return fmt.Errorf("there is no %q; there are %s", key, strings.Join(known, ", "))
}

// say gives a type that decodes itself the JSON types it decodes from.
func (n *node) say(value string) error {
	if !n.unknown {
		return fmt.Errorf("type is for a type that decodes itself, and %s is none", n.spelled)
	}
	if value == "any" {
		n.unknown = false
		return nil
	}
	for _, t := range strings.Split(value, "|") {
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, t) {
			return fmt.Errorf("type: %q is no JSON type", t)
		}
		n.types = append(n.types, t)
	}
	n.unknown = false
	return nil
}

// narrows refuses a bound that lets through what the Go type does not hold.
func (n *node) narrows(key string, value any) error {
	have, ok := n.get(key)
	if !ok || n.tagged[key] || key != "minimum" && key != "maximum" && key != "minItems" && key != "maxItems" {
		return nil
	}
	old, okOld := new(big.Rat).SetString(string(have))
	fresh, okNew := new(big.Rat).SetString(string(encode(value)))
	if !okOld || !okNew {
		return nil
	}
	if c := fresh.Cmp(old); strings.HasPrefix(key, "min") && c < 0 || strings.HasPrefix(key, "max") && c > 0 {
		return fmt.Errorf("%s is %s, and %s has %s", key, encode(value), n.spelled, have)
	}
	return nil
}

func plainText(_ *node, text string) (any, error) {
	for _, r := range text {
		if unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) {
			return nil, fmt.Errorf("it holds the character %U", r)
		}
	}
	if text == "" {
		return nil, fmt.Errorf("it is empty")
	}
	return text, nil
}

func flag(*node, string) (any, error) { return true, nil }

func count(_ *node, text string) (any, error) {
	const most = 1 << 30
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > most {
		return nil, fmt.Errorf("%q is no number from 0 to %d", text, most)
	}
	return n, nil
}

// numberForm is a number of JSON whose exact value takes little memory.
var numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?$`)

func number(_ *node, text string) (any, error) {
	if !numberForm.MatchString(text) {
		return nil, fmt.Errorf("%q is no number", text)
	}
	return json.RawMessage(text), nil
}

func positive(n *node, text string) (any, error) {
	v, err := number(n, text)
	if err == nil && (strings.HasPrefix(text, "-") || strings.Trim(text, "0.") == "") {
		err = fmt.Errorf("%q is not above 0", text)
	}
	return v, err
}

func expression(_ *node, text string) (any, error) {
	if _, err := regexp.Compile(text); err != nil {
		return nil, fmt.Errorf("%q is no regular expression: %w", text, err)
	}
	return text, nil
}

// one is a value of the field's own type.
func one(n *node, text string) (any, error) {
	if slices.Contains(n.types, "string") {
		return text, nil
	}
	integer := slices.Contains(n.types, "integer")
	switch {
	case integer || slices.Contains(n.types, "number"):
		if !numberForm.MatchString(text) || integer && strings.ContainsAny(text, ".eE") {
			return nil, fmt.Errorf("%q is no %s", text, n.types[0])
		}
		return json.RawMessage(text), nil
	case slices.Contains(n.types, "boolean"):
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("%q is neither true nor false", text)
		}
		return json.RawMessage(text), nil
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%q is no JSON", text)
	}
	return json.RawMessage(text), nil
}

// several are values of the field's own type with bars between them; null is one where the type may be null.
func several(n *node, text string) (any, error) {
	var values []json.RawMessage
	for _, part := range split(text, '|') {
		v, err := one(n, part)
		if err != nil {
			return nil, err
		}
		raw := encode(v)
		if slices.ContainsFunc(values, func(have json.RawMessage) bool { return string(have) == string(raw) }) {
			return nil, fmt.Errorf("%s is there twice", raw)
		}
		values = append(values, raw)
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("it is empty")
	}
	if slices.Contains(n.types, "null") {
		values = append(values, json.RawMessage("null"))
	}
	return array(values), nil
}

// split cuts at a separator that no backslash is before, and takes that backslash out. The backslash of any other
// character stays, since patterns have them.
func split(text string, at byte) []string {
	if text == "" {
		return nil
	}
	var parts []string
	var part strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == at:
			part.WriteByte(at)
			i++
		case text[i] == at:
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(text[i])
		}
	}
	return append(parts, part.String())
}
