package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
)

const (
	// changeShown is the length up to which a change shows its values; those of a whole schema
	// would hide what matters.
	changeShown = 100
	// changesShown is how many changes are listed; the rest is counted.
	changesShown = 40
)

// notCompared are the fields whose values say nothing to a reader.
var notCompared = []string{"tree_digest", "revision", "seam"}

// changeLines is what a reinstall changes, leaf by leaf: "net.hosts: ["a"] → ["b"]".
func changeLines(all []install.Change) []string {
	var lines []string
	for _, change := range all {
		if slices.Contains(notCompared, change.Field) {
			lines = append(lines, escape.Line(change.Field))
			continue
		}
		lines = append(lines, leafChanges(change.Field, change.Was, change.Now)...)
	}
	if rest := len(lines) - changesShown; rest > 0 {
		lines = append(lines[:changesShown], fmt.Sprintf("and %d more; --json has them all", rest))
	}
	return lines
}

func leafChanges(at string, was, now json.RawMessage) []string {
	if bytes.Equal(was, now) {
		return nil
	}
	before, after := parts(was), parts(now)
	if before == nil || after == nil {
		return []string{leafChange(at, was, now)}
	}
	keys := slices.Sorted(maps.Keys(before))
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[key]; !ok {
			keys = append(keys, key)
		}
	}
	var lines []string
	for _, key := range keys {
		lines = append(lines, leafChanges(at+"."+key, before[key], after[key])...)
	}
	return lines
}

// parts are the members of an object, or the elements of a list by what names them. A list of
// plain values is a leaf.
func parts(raw json.RawMessage) map[string]json.RawMessage {
	if members := object(raw); members != nil {
		return members
	}
	var items []map[string]json.RawMessage
	if json.Unmarshal(raw, &items) != nil || items == nil {
		return nil
	}
	named := map[string]json.RawMessage{}
	for i, item := range items {
		name := fmt.Sprint(i)
		for _, key := range []string{"name", "event", "env"} {
			var text string
			if json.Unmarshal(item[key], &text) == nil && text != "" {
				name = text
				break
			}
		}
		whole, err := json.Marshal(item)
		if err != nil {
			return nil
		}
		named[name] = whole
	}
	return named
}

func leafChange(at string, was, now json.RawMessage) string {
	line := escape.Line(at)
	switch {
	case was == nil && len(now) > changeShown:
		return line + ": new"
	case now == nil:
		return line + ": gone"
	case max(len(was), len(now)) > changeShown:
		return line
	case was == nil:
		return line + ": new: " + escape.JSON(string(now))
	}
	return line + ": " + escape.JSON(string(was)) + " → " + escape.JSON(string(now))
}

// argumentsText says in a line what a schema's top level takes: "city string, days integer?".
func argumentsText(schema json.RawMessage) string {
	var top struct {
		Properties map[string]struct {
			Type any   `json:"type"`
			Enum []any `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &top) != nil {
		return "see the schema"
	}
	var words []string
	for _, optional := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(top.Properties)) {
			if slices.Contains(top.Required, name) == optional {
				continue
			}
			word := escape.Line(name)
			switch kind := top.Properties[name].Type.(type) {
			case string:
				word += " " + escape.Line(kind)
			case []any:
				word += " " + escape.Line(strings.Trim(fmt.Sprint(kind), "[]"))
			default:
				if top.Properties[name].Enum != nil {
					word += " one of a list"
				}
			}
			if optional {
				word += "?"
			}
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return "none that the schema names"
	}
	return strings.Join(words, ", ")
}
