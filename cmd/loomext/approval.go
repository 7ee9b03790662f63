package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/satellite"
)

const (
	// labelWidth is the width of the column that names what stands beside it.
	labelWidth = 14
	// textWidth is where descriptions wrap: beside the labels they fit a terminal of 100 columns.
	textWidth = 82
	// usesShown is how many places of one capability an approval lists; the rest is counted.
	usesShown = 5
)

// approvalText is everything an operator reads before an extension is installed. All text of
// the extension in it is escaped, and so it can go to a terminal as it is. gate says what the
// operator made of its gate.
func approvalText(a install.Approval, gate gateSetting) string {
	var p page
	p.title(a.Name, a.Version, a.License, a.Description)
	p.row("source", escape.Line(a.Source))
	if a.Replaces != "" {
		p.row("replaces", escape.Line(a.Replaces))
		p.row("changes", orNoneLines(changeLines(a.Changes))...)
	}
	p.tools(a.Tools)
	p.mcp(a.MCP)
	p.hooks(a.Hooks)
	p.gate(a.Hooks, gate)
	p.requests(a.Requests)
	p.net(a.Net)
	p.commands(a.Commands, a.CommandEnv)
	p.row("memory", memoryText(a.MemoryMB))
	p.config(a.Config, a.Overrides)
	for i, warning := range a.Warnings {
		label := "warnings"
		if i > 0 {
			label = ""
		}
		p.row(label, wrap(escape.Line(warning), textWidth)...)
	}
	p.row("tree", a.TreeDigest)
	p.row("revision", a.Revision)
	if a.Granted == nil {
		p.row("approval key", escape.Line(a.ApprovalKey)+" (with all that is requested)")
	} else {
		p.row("granting", orNone(a.Granted))
		p.row("approval key", escape.Line(a.ApprovalKey))
	}
	return p.String()
}

// page lays out labels with what they name. Its text is escaped by the time it is added.
type page struct{ strings.Builder }

// row adds lines under one label.
func (p *page) row(label string, lines ...string) {
	for i, line := range lines {
		if i > 0 {
			label = ""
		}
		p.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", labelWidth, label, line), " "))
		p.WriteByte('\n')
	}
}

func (p *page) title(name, version, license, description string) {
	line := escape.Line(name) + " " + escape.Line(version)
	if license != "" {
		line += "  " + escape.Line(license)
	}
	p.WriteString(line + "\n")
	for _, line := range wrap(escape.Block(description), textWidth) {
		if line != "" {
			p.WriteString("  " + line + "\n")
		}
	}
}

func (p *page) tools(tools []install.RecordTool) {
	label := "tools"
	for _, tool := range tools {
		p.row(label, fmt.Sprintf("%s  (%s, at most %s)", escape.Line(tool.Name), escape.Line(tool.Entry),
			time.Duration(tool.TimeoutMS)*time.Millisecond))
		p.row("", indented(wrap(escape.Block(tool.Description), textWidth-2))...)
		p.row("", indented(wrap("arguments: "+argumentsText(tool.Schema), textWidth-2))...)
		p.row("", indented(wrap("prompt: "+escape.Block(tool.PromptSnippet), textWidth-2))...)
		label = ""
	}
	if len(tools) == 0 {
		p.row(label, "none")
	}
}

// mcp lists what clients of MCP get instead of the tools that are bound there. Few extensions
// bind any, and of none nothing is said.
func (p *page) mcp(mcp *install.RecordMCP) {
	if mcp == nil {
		return
	}
	label := "mcp prompts"
	for _, prompt := range mcp.Prompts {
		p.row(label, fmt.Sprintf("%s  (by the tool %s)", escape.Line(prompt.Name), escape.Line(prompt.Tool)))
		p.row("", indented(wrap(escape.Block(prompt.Description), textWidth-2))...)
		label = ""
	}
	label = "mcp resources"
	for _, resource := range mcp.Resources {
		p.row(label, escape.Line(resource.URI))
		p.row("", indented(wrap(fmt.Sprintf("%s, %s, by the tool %s", escape.Line(resource.Name),
			escape.Line(resource.MIMEType), escape.Line(resource.Tool)), textWidth-2))...)
		p.row("", indented(wrap(escape.Block(resource.Description), textWidth-2))...)
		label = ""
	}
}

func (p *page) hooks(hooks []install.RecordHook) {
	var lines []string
	for _, hook := range hooks {
		lines = append(lines, fmt.Sprintf("%s  (%s)", escape.Line(hook.Event), escape.Line(hook.Entry)))
	}
	p.row("hooks", orNoneLines(lines)...)
}

const eventToolCall = "tool_call"

// gateSetting is what the operator's configuration says of an extension's gate. Err is set
// where that cannot be known.
type gateSetting struct {
	gate hookbus.Gate
	err  error
}

// gateSetting is that of an extension, as sessions will have it.
func (c *cli) gateSetting(name string) gateSetting {
	store, err := c.store()
	if err != nil {
		return gateSetting{err: err}
	}
	loaded, err := config.Load(store.Home())
	return gateSetting{gateOf(loaded, name), err}
}

// gate says what becomes of a tool call when the extension gives no verdict. One without a
// hook for it has no gate.
func (p *page) gate(hooks []install.RecordHook, s gateSetting) {
	if !slices.ContainsFunc(hooks, func(hook install.RecordHook) bool { return hook.Event == eventToolCall }) {
		return
	}
	switch {
	case s.err != nil:
		p.row("gate", "not known: config.toml is at fault; see loomext config check")
	case s.gate == hookbus.Open:
		p.row("gate", "open: a tool call goes through when this extension gives no verdict (set in config.toml)")
	default:
		p.row("gate", "closed: a tool call is blocked when this extension gives no verdict")
	}
}

func (p *page) requests(requests []install.Request) {
	label := "capabilities"
	for _, request := range requests {
		p.row(label, escape.Line(request.Capability))
		label = ""
		var places []string
		for i, use := range request.Uses {
			if i == usesShown {
				places = append(places, fmt.Sprintf("and %d more places", len(request.Uses)-usesShown))
				break
			}
			places = append(places, "used at "+escape.Line(use))
		}
		p.row("", indented(places)...)
	}
	if len(requests) == 0 {
		p.row(label, "none")
	}
}

func (p *page) net(net *install.RecordNet) {
	if net == nil {
		p.row("network", "none")
		return
	}
	p.row("network", "hosts    "+escape.Line(strings.Join(net.Hosts, ", ")),
		"methods  "+escape.Line(strings.Join(net.Methods, ", ")),
		fmt.Sprintf("ceiling  %d requests a call, %s a response", net.RequestsPerCall, bytesText(net.MaxResponseBytes)))
	var secrets []string
	for _, secret := range net.Secrets {
		secrets = append(secrets, fmt.Sprintf("%s  goes to %s as %s: %s", escape.Line(secret.Env),
			escape.Line(secret.Host), escape.Line(secret.Header), escape.Line(secret.Format)))
	}
	p.row("secrets", orNoneLines(secrets)...)
}

func (p *page) commands(commands [][]string, env []string) {
	var lines []string
	for _, argv := range commands {
		words := make([]string, len(argv))
		for i, word := range argv {
			words[i] = shellWord(escape.Line(word))
		}
		lines = append(lines, strings.Join(words, " ")+" …")
	}
	p.row("commands", orNoneLines(lines)...)
	if len(env) > 0 {
		p.row("variables", wrap("commands get "+escape.Line(strings.Join(env, ", "))+" from the host's environment", textWidth)...)
	}
}

// config lists the configuration key by key and marks what the operator set.
func (p *page) config(config, overrides json.RawMessage) {
	values, set := object(config), object(overrides)
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	var lines []string
	for _, key := range keys {
		line := fmt.Sprintf("%s = %s", escape.Line(key), escape.JSON(string(values[key])))
		if _, ok := set[key]; ok {
			line += "  (set by you)"
		}
		lines = append(lines, line)
	}
	p.row("config", orNoneLines(lines)...)
}

// object is the members of a JSON object, and nothing for anything else.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// shellWord quotes a word of a command so that its borders show.
func shellWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " '\"\\$`&|;<>()*?[]#~") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func memoryText(mb int) string {
	if mb <= 0 {
		return fmt.Sprintf("%d MB (the default)", satellite.DefaultMemory>>20)
	}
	return fmt.Sprintf("%d MB", mb)
}

func indented(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		if line != "" {
			out = append(out, "  "+line)
		}
	}
	return out
}

func orNoneLines(lines []string) []string {
	if len(lines) == 0 {
		return []string{"none"}
	}
	return lines
}

func orNone(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return escape.Line(strings.Join(items, ", "))
}
