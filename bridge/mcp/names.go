package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/manifest"
)

// Budget is how many bytes the entries of all tools may have together before a warning
// is due. A client puts them before its model with every request: this is some sixteen
// thousand tokens, a part that one notices in any model's window.
const Budget = 64 << 10

// Offered is a tool under the name that clients know it by.
type Offered struct {
	Name, Extension, Tool string
	// Bytes is the size of its entry in the list of tools.
	Bytes int
}

// Offer is what is served of the records as tools, by name. A tool has its plain name,
// or where another extension has one of that name, as both do, <extension>__<tool>.
// What a prompt or a resource is made of is no tool; nor is one whose schema the
// protocol has no place for.
func Offer(records []install.Record, only, except []string) []Offered {
	chosen := choice{only: only, except: except}
	var offered []Offered
	for _, t := range toolsOf(records, chosen) {
		entry, plain, err := t.entry()
		if err != nil || fits(entry, plain) != nil {
			continue
		}
		text, err := json.Marshal(entry)
		if err != nil {
			continue
		}
		offered = append(offered, Offered{Name: t.served, Extension: t.extension, Tool: t.tool.Name, Bytes: len(text)})
	}
	slices.SortFunc(offered, func(a, b Offered) int { return cmp.Compare(a.Name, b.Name) })
	return offered
}

// choice is what the operator wants served.
type choice struct{ only, except []string }

// newChoice refuses what can be no name: what was meant to be kept out would be
// served.
func newChoice(only, except []string) (choice, error) {
	for _, name := range slices.Concat(only, except) {
		if !IsChoice(name) {
			return choice{}, fmt.Errorf("mcp: %q is the name of no extension and no tool; write an extension's name, or extension__tool", name)
		}
	}
	return choice{only: only, except: except}, nil
}

// IsChoice reports whether Options.Only and Except may have a name: that of an extension,
// or of a tool as <extension>__<tool>. Whether there is one is another matter.
func IsChoice(name string) bool {
	extension, tool, one := host.SplitName(name)
	return manifest.IsName(extension) && (!one || manifest.IsName(tool))
}

// Serves reports whether the options have a tool of an extension served.
func (o Options) Serves(extension, tool string) bool {
	return choice{only: o.Only, except: o.Except}.serves(extension, tool)
}

// serves reports whether a tool of an extension is to be served.
func (c choice) serves(extension, tool string) bool {
	named := func(name string) bool { return name == extension || name == qualified(extension, tool) }
	return (len(c.only) == 0 || slices.ContainsFunc(c.only, named)) && !slices.ContainsFunc(c.except, named)
}

// extensions are those that can have anything to serve, or none where all can.
func (c choice) extensions() []string {
	var extensions []string
	for _, name := range c.only {
		extension, _, _ := host.SplitName(name)
		extensions = append(extensions, extension)
	}
	slices.Sort(extensions)
	return slices.Compact(extensions)
}

func qualified(extension, tool string) string {
	return host.Tool{Extension: extension, Name: tool}.QualifiedName()
}

// named is something of an extension that clients call by a name.
type named interface {
	plain() (extension, name string)
}

// serve gives each its name: the plain one, but where two have it, or where one is what
// another is to be called then.
func serve[N named](all []N, give func(n N, name string)) {
	count := map[string]int{}
	for _, n := range all {
		_, name := n.plain()
		count[name]++
	}
	long := map[string]bool{}
	for _, n := range all {
		if extension, name := n.plain(); count[name] > 1 {
			long[qualified(extension, name)] = true
		}
	}
	for _, n := range all {
		extension, name := n.plain()
		if count[name] > 1 || long[name] {
			name = qualified(extension, name)
		}
		give(n, name)
	}
}

// names are the names of the extensions.
func names(records []install.Record) []string {
	all := make([]string, len(records))
	for i, r := range records {
		all[i] = r.Name
	}
	return all
}

// maxInstructions is how much a client is told of the extensions before it asks, in
// bytes: it stands before its model all the time.
const maxInstructions = 2 << 10

// maxSnippet is how much of that one tool has, in bytes: a sentence.
const maxSnippet = 200

// instructions name the extensions and what they say of their tools, as far as there is
// room. What is said is told from what loomext says by the name of who says it.
func instructions(records []install.Record, chosen choice) string {
	var extensions, snippets []string
	for _, r := range records {
		if slices.ContainsFunc(r.Tools, func(t install.RecordTool) bool { return chosen.serves(r.Name, t.Name) }) {
			extensions = append(extensions, r.Name)
		}
	}
	for _, t := range toolsOf(records, chosen) {
		if t.tool.PromptSnippet != "" {
			snippets = append(snippets, snippet(t))
		}
	}
	if len(extensions) == 0 {
		return "No extension is installed that has anything to offer here."
	}
	text := "Each of these extensions runs in a sandbox of this machine: " + within(extensions, ", ", maxInstructions/2) + "."
	if len(snippets) > 0 {
		text += " Their tools, in their own words: " + within(snippets, "; ", maxInstructions-len(text)) + "."
	}
	return text
}

// snippet is what an extension says of a tool, in one line, under the name that the tool is called by.
func snippet(t *tool) string {
	said := strings.Join(strings.Fields(t.tool.PromptSnippet), " ")
	if after, named := strings.CutPrefix(said, t.tool.Name+":"); named {
		said = strings.TrimSpace(after)
	}
	return t.extension + ": " + t.served + ": " + bounded(said, maxSnippet)
}

// within joins as many texts as there is room for, and says where more follow.
func within(texts []string, separator string, room int) string {
	var b strings.Builder
	for i, text := range texts {
		if b.Len()+len(separator)+len(text) > room {
			fmt.Fprintf(&b, "%sand %d more", separator, len(texts)-i)
			break
		}
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(text)
	}
	return strings.TrimPrefix(b.String(), separator)
}
