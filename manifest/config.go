package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loomext/loomext/internal/tomlfile"
)

// Config is an extension's configuration: the defaults of its [config] table,
// perhaps with an operator's overrides. It is a value; nothing changes one.
type Config struct {
	// values holds map[string]any, []any, string, int64, float64 and bool. An
	// integer and a float are told apart here, though JSON does not: an
	// override must be of the default's type.
	values map[string]any
	json   []byte
}

// Overrides is canonical JSON of the keys an operator set, and only those.
type Overrides []byte

// JSON is the configuration as canonical JSON, an object.
func (c Config) JSON() []byte {
	if c.json == nil {
		return []byte("{}")
	}
	return slices.Clone(c.json)
}

// Keys lists the keys that may be overridden, sorted.
func (c Config) Keys() []string { return slices.Sorted(maps.Keys(c.values)) }

// Override replaces defaults by values as an operator types them: a string's
// text as it is, a number, true or false, and JSON for an array or a table. The
// error joins what is wrong with each key.
func (c Config) Override(sets map[string]string) (Config, Overrides, error) {
	typed := make(map[string]any, len(sets))
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(sets)) {
		value, err := c.read(key, sets[key])
		if err != nil {
			errs = append(errs, fmt.Errorf("manifest: --set %s: %w", tomlfile.Printable(key), err))
			continue
		}
		typed[key] = value
	}
	if len(errs) > 0 {
		return Config{}, nil, errors.Join(errs...)
	}
	return c.with(typed)
}

// Apply replaces defaults by recorded overrides, checked as Override checks them.
func (c Config) Apply(o Overrides) (Config, error) {
	if len(o) == 0 {
		return c, nil
	}
	v, fault := decodeJSON(o, jsonBounds{maxConfig, tomlfile.MaxDepth, tomlfile.MaxValues})
	if fault != nil {
		return Config{}, fmt.Errorf("manifest: overrides: %w", fault)
	}
	set, ok := v.(map[string]any)
	if !ok {
		return Config{}, errors.New("manifest: overrides: not a JSON object; install the extension anew")
	}
	sets := make(map[string]string, len(set))
	for key, value := range set {
		text, isText := value.(string)
		if !isText {
			raw, err := encodeJSON(value)
			if err != nil {
				return Config{}, fmt.Errorf("manifest: overrides: %w", err)
			}
			text = string(raw)
		}
		if _, wantsText := c.values[key].(string); isText != wantsText && c.values[key] != nil {
			return Config{}, fmt.Errorf("manifest: overrides: %s: expected %s; install the extension anew", tomlfile.Printable(key), typeName(c.values[key]))
		}
		sets[key] = text
	}
	changed, _, err := c.Override(sets)
	return changed, err
}

func (c Config) with(typed map[string]any) (Config, Overrides, error) {
	values := maps.Clone(c.values)
	if values == nil {
		values = map[string]any{}
	}
	maps.Copy(values, typed)
	changed, err := newConfig(values)
	if err != nil {
		return Config{}, nil, err
	}
	overrides, err := canonicalValue(typed)
	return changed, overrides, err
}

// read gives text the type of the key's default.
func (c Config) read(key, text string) (any, error) {
	old, known := c.values[key]
	if !known {
		fix := tomlfile.Choose(key, c.Keys())
		if len(c.values) == 0 {
			fix = "the extension has no configuration"
		}
		return nil, errors.New("there is no such key; " + fix)
	}
	switch old.(type) {
	case string:
		if !utf8.ValidString(text) {
			return nil, errors.New("the text is not UTF-8; write it in UTF-8")
		}
		if name, bad := hiddenConfig(text); bad {
			return nil, fmt.Errorf("the text holds %s; remove it", name)
		}
		if len(text) > maxConfigString {
			return nil, fmt.Errorf("the text has %d bytes, the bound is %d; shorten it", len(text), maxConfigString)
		}
		return text, nil
	case int64:
		i, err := strconv.ParseInt(text, 10, 64)
		if err != nil || i < -maxInteger || i > maxInteger {
			return nil, fmt.Errorf("expected an integer within ±2^53, found %s; write a whole number", tomlfile.Quote(text))
		}
		return i, nil
	case float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !json.Valid([]byte(text)) || !(math.Abs(f) <= maxInteger) {
			return nil, fmt.Errorf("expected a number within ±2^53, found %s; write one like 2.5", tomlfile.Quote(text))
		}
		return f, nil
	case bool:
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("expected true or false, found %s", tomlfile.Quote(text))
		}
		return text == "true", nil
	}
	return readStructure(old, text)
}

// readStructure reads JSON for an array or a table.
func readStructure(old any, text string) (any, error) {
	v, fault := decodeJSON([]byte(text), jsonBounds{maxConfig, tomlfile.MaxDepth, tomlfile.MaxValues})
	if fault != nil {
		return nil, fmt.Errorf("expected %s as JSON: %w", typeName(old), fault)
	}
	v, err := plain(v)
	if err != nil {
		return nil, err
	}
	if typeName(v) != typeName(old) {
		return nil, fmt.Errorf("expected %s as JSON, found %s", typeName(old), typeName(v))
	}
	return v, nil
}

// plain turns decoded JSON into configuration values.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if !exact(v) {
			return nil, fmt.Errorf("%s is beyond ±2^53; write it as a string", tomlfile.Quote(string(v)))
		}
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			item, err := plain(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = item
		}
	case map[string]any:
		for key := range v {
			if name, bad := tomlfile.Hidden(key, ""); bad {
				return nil, fmt.Errorf("a key holds %s; remove it", name)
			}
			item, err := plain(v[key])
			if err != nil {
				return nil, err
			}
			v[key] = item
		}
	case string:
		if name, bad := hiddenConfig(v); bad {
			return nil, fmt.Errorf("a text holds %s; remove it", name)
		}
	case nil:
		return nil, errors.New("there is no null in a configuration; leave the key out")
	}
	return v, nil
}

func typeName(v any) string {
	switch v.(type) {
	case map[string]any:
		return "a table"
	case []any:
		return "an array"
	}
	return tomlfile.Node{Value: v}.Kind()
}

// newConfig checks the size of a whole configuration.
func newConfig(values map[string]any) (Config, error) {
	canonical, err := canonicalValue(values)
	if err != nil {
		return Config{}, err
	}
	if len(canonical) > maxConfig {
		return Config{}, fmt.Errorf("manifest: the configuration has %d bytes as JSON, the bound is %d", len(canonical), maxConfig)
	}
	return Config{values: values, json: canonical}, nil
}

// hiddenConfig permits what JSON shows as an escape.
func hiddenConfig(s string) (string, bool) { return tomlfile.Hidden(s, "\n\t") }

// config reads the [config] table.
func (d *decoder) config(n tomlfile.Node) {
	t, ok := n.Value.(tomlfile.Table)
	if !ok {
		d.faults.Add(n.Line, "config", "", "expected a table, found "+n.Kind(), "write it under its own [config] line")
		return
	}
	before := d.faults.Count()
	values := d.configTable(t, "")
	if d.faults.Count() > before {
		return
	}
	config, err := newConfig(values)
	if err != nil {
		d.faults.Add(n.Line, "config", "", strings.TrimPrefix(err.Error(), "manifest: "), "make it smaller")
		return
	}
	d.m.config = config
}

func (d *decoder) configTable(t tomlfile.Table, prefix string) map[string]any {
	values := make(map[string]any, len(t))
	for _, key := range t.ByLine() {
		n, label := t[key], prefix+tomlfile.Printable(key)
		if name, bad := tomlfile.Hidden(key, ""); bad {
			d.faults.Add(n.Line, "config", label, "the key holds "+name, "remove it")
		} else if len(key) > maxConfigKey || prefix == "" && !isConfigKey(key) {
			d.faults.Add(n.Line, "config", label, "this is no key that --set could name",
				"write letters, digits, hyphens and underscores, beginning with a letter, at most "+strconv.Itoa(maxConfigKey))
		}
		values[key] = d.configValue(n, label)
	}
	return values
}

func (d *decoder) configValue(n tomlfile.Node, label string) any {
	fault := func(msg, fix string) { d.faults.Add(n.Line, "config", label, msg, fix) }
	switch v := n.Value.(type) {
	case tomlfile.Table:
		return d.configTable(v, label+".")
	case tomlfile.List:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = d.configValue(item, label)
		}
		return items
	case string:
		if name, bad := hiddenConfig(v); bad {
			fault("the text holds "+name, "remove it: people must see all that is there")
		} else if len(v) > maxConfigString {
			fault(fmt.Sprintf("the text has %d bytes, the bound is %d", len(v), maxConfigString), "shorten it")
		}
	case int64:
		if v < -maxInteger || v > maxInteger {
			fault(strconv.FormatInt(v, 10)+" is beyond ±2^53, which JSON does not carry exactly", "write it as a string")
		}
	case float64:
		if !(math.Abs(v) <= maxInteger) { // NaN is not
			fault(strconv.FormatFloat(v, 'g', -1, 64)+" is not a number within ±2^53", "write it as a string")
		}
	case time.Time:
		fault("a configuration is JSON, which has no dates", "write it as a string")
	}
	return n.Value
}

func isConfigKey(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '_' && c != '-') {
			return false
		}
	}
	return s != ""
}
