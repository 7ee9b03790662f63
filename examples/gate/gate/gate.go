// Package gate is the entry of the hook tool_call: it blocks shell commands that destroy or leak.
package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loomext/loomext/prelude/ext"
	"github.com/loomext/loomext/prelude/ext/hook"

	"example.com/gate/danger"
	"example.com/gate/memory"
)

// settings is what the gate reads of the [config] of extension.toml.
type settings struct {
	ShellTools  []string `json:"shell_tools"`
	CommandKeys []string `json:"command_keys"`
	AllowRules  []string `json:"allow_rules"`
}

// maxCommand is the longest command that is judged, in bytes: a script of a thousand lines.
const maxCommand = 128 << 10

// OnToolCall judges a call. A call of any other tool passes.
func OnToolCall(_ context.Context, call hook.Call) (hook.Verdict, error) {
	s, err := ext.Config[settings]()
	if err != nil {
		return hook.Verdict{}, err
	}
	for _, rule := range s.AllowRules {
		if !slices.Contains(danger.Rules(), rule) {
			return hook.Verdict{}, fmt.Errorf("allow_rules in the configuration names %q; there are %s", rule, strings.Join(danger.Rules(), ", "))
		}
	}
	if !slices.ContainsFunc(s.ShellTools, func(tool string) bool { return strings.EqualFold(tool, call.Tool) }) {
		return hook.Allow, nil
	}
	for _, command := range commands(call.Arguments, s.CommandKeys) {
		if len(command) > maxCommand {
			memory.Blocked("unreadable")
			return hook.Block(fmt.Sprintf("gate: the command has %d bytes and at most %d are judged; write it to a file, and run that", len(command), maxCommand)), nil
		}
		if v, bad := danger.Judge(command, s.AllowRules); bad {
			memory.Blocked(v.Rule)
			return hook.Block("gate: " + v.Rule + ": " + v.Reason), nil
		}
	}
	return hook.Allow, nil
}

// commands are the command lines in a call's arguments: the text itself, the members with one of
// the names, and argument vectors, whose words are quoted for the reader.
func commands(arguments json.RawMessage, keys []string) []string {
	var text string
	if json.Unmarshal(arguments, &text) == nil {
		return []string{text}
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) != nil {
		return vector(arguments)
	}
	var found []string
	for name, value := range members {
		if !slices.ContainsFunc(keys, func(key string) bool { return strings.EqualFold(key, name) }) {
			continue
		}
		if json.Unmarshal(value, &text) == nil {
			found = append(found, text)
		} else {
			found = append(found, vector(value)...)
		}
	}
	slices.Sort(found) // one call has one verdict
	return found
}

// vector is ["rm", "-rf", "/"] as a line.
func vector(value json.RawMessage) []string {
	var words []string
	if json.Unmarshal(value, &words) != nil || len(words) == 0 {
		return nil
	}
	for i, word := range words {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return []string{strings.Join(words, " ")}
}
