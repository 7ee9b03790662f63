package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Difference is one place where a schema file and the Go type do not say the same.
type Difference struct {
	Pointer string `json:"pointer"` // JSON pointer into the schema; empty is the whole
	Msg     string `json:"msg"`
}

// Error is one line.
func (d Difference) Error() string {
	if d.Pointer == "" {
		return d.Msg
	}
	return d.Pointer + ": " + d.Msg
}

// Differences lists every place where a file is not the derived schema, by pointer. How the file is laid out, the order of
// its members, and the order of required, type and enum mean nothing.
func (s *Schema) Differences(text []byte) []Difference {
	have, err := decoded(text)
	if err != nil {
		return []Difference{{"", "the file is not JSON: " + err.Error()}}
	}
	want, err := decoded(s.text)
	if err != nil {
		return []Difference{{"", err.Error()}}
	}
	var d differ
	d.compare("", "", have, want)
	return d.sorted()
}

func decoded(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

type differ struct{ list []Difference }

func (d *differ) add(at, format string, args ...any) {
	d.list = append(d.list, Difference{at, fmt.Sprintf(format, args...)})
}

func (d *differ) sorted() []Difference {
	slices.SortStableFunc(d.list, func(a, b Difference) int { return strings.Compare(a.Pointer, b.Pointer) })
	return slices.Compact(d.list)
}

// below is a pointer to a member.
func below(at, name string) string {
	return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func (d *differ) compare(at, key string, have, want any) {
	if key == "type" {
		have, want = single(have), single(want)
	}
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(w)) {
			if v, there := h[name]; there {
				d.compare(below(at, name), name, v, w[name])
			} else {
				d.add(below(at, name), "the file does not have it; the type says %s", short(w[name]))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(h)) {
			if _, there := w[name]; !there {
				d.add(below(at, name), "the type does not say it; the file has %s", short(h[name]))
			}
		}
		return
	case []any:
		h, ok := have.([]any)
		if !ok {
			break
		}
		if key == "required" || key == "type" || key == "enum" {
			d.sets(at, h, w)
			return
		}
		if len(h) == len(w) {
			for i := range w {
				d.compare(below(at, strconv.Itoa(i)), "", h[i], w[i])
			}
			return
		}
	}
	if !equal(have, want) {
		d.add(at, "the file says %s, the type says %s", short(have), short(want))
	}
}

// single is a list of one type as that type.
func single(types any) any {
	if list, ok := types.([]any); ok && len(list) == 1 {
		return list[0]
	}
	return types
}

// sets compares lists whose order means nothing.
func (d *differ) sets(at string, have, want []any) {
	has := func(list []any, v any) bool {
		return slices.ContainsFunc(list, func(other any) bool { return equal(other, v) })
	}
	for _, v := range want {
		if !has(have, v) {
			d.add(at, "the file lacks %s, which the type says", short(v))
		}
	}
	for _, v := range have {
		if !has(want, v) {
			d.add(at, "the file has %s, which the type does not say", short(v))
		}
	}
}

// equal reports whether two values are one as JSON, numbers by their value.
func equal(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, both := b.(json.Number)
	if isNumber && both {
		if x == y {
			return true
		}
		p, okP := rational(x)
		q, okQ := rational(y)
		return okP && okQ && p.Cmp(q) == 0
	}
	return string(encode(a)) == string(encode(b))
}

// rational is a number whose exact value takes little memory.
func rational(n json.Number) (*big.Rat, bool) {
	const most = 400 // digits and exponent, as a manifest bounds them
	_, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	if e, err := strconv.Atoi(exponent); len(n) > most || exponent != "" && (err != nil || e > most || e < -most) {
		return nil, false
	}
	return new(big.Rat).SetString(string(n))
}

// short is a value as a message shows it.
func short(v any) string {
	text := string(encode(v))
	if len(text) <= maxRounded {
		return text
	}
	cut := maxRounded
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut] + "…"
}
