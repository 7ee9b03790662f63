package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/tomlfile"
)

const (
	// bytesPerToken is about what JSON of this kind comes to.
	bytesPerToken = 4
	// largestNamed is how many of them are named.
	largestNamed = 3
)

// records are those of everything that is installed and not broken.
func records(entries []install.Entry) []install.Record {
	var all []install.Record
	for _, entry := range entries {
		if entry.Record != nil {
			all = append(all, *entry.Record)
		}
	}
	return all
}

// adviseMCP tells the operator of flags that mean nothing in this store, of what is broken, and
// of tools that take more room than they should. It keeps nothing from being served.
func (c *cli) adviseMCP(store *install.Store, o mcpOptions, broken *brokenTold) {
	entries, err := store.List()
	if err != nil {
		return // the server's own session says so
	}
	if len(entries) == 0 {
		c.tell("mcp: nothing is installed in " + escape.Line(store.Home()) + missing(store.Home()) + "; install an extension with loomext install <dir>, or name another store with --home")
		return
	}
	var (
		all    = records(entries)
		served = mcp.Options{Only: o.only, Except: o.except}
		names  []string
	)
	for _, known := range selectable(all) {
		names = append(names, known.name)
	}
	for _, entry := range entries {
		if entry.Record == nil {
			names = append(names, entry.Name)
			if o.names(entry.Name) {
				broken.tell(entry.Name, entry.Err)
			}
		}
	}
	unknown := c.adviseNames("only", o.only, names)
	c.adviseNames("except", o.except, names)
	if !unknown && len(all) == len(entries) && !slices.ContainsFunc(all, func(r install.Record) bool {
		return slices.ContainsFunc(r.Tools, func(t install.RecordTool) bool { return served.Serves(r.Name, t.Name) })
	}) && len(o.only)+len(o.except) > 0 {
		c.tell("mcp: --only and --except leave nothing of what is installed to be served; loomext list shows what there is")
	}
	c.adviseSize(mcp.Offer(all, o.only, o.except))
}

// missing says of a store that it is not there, as far as it is not.
func missing(home string) string {
	if _, err := os.Stat(home); errors.Is(err, fs.ErrNotExist) {
		return ", which is not there"
	}
	return ""
}

// names reports whether something of an extension whose tools are not known can be meant to be served.
func (o mcpOptions) names(extension string) bool {
	of := func(name string) bool {
		its, _, _ := host.SplitName(name)
		return its == extension
	}
	return (len(o.only) == 0 || slices.ContainsFunc(o.only, of)) && !slices.Contains(o.except, extension)
}

// adviseNames tells of the names of a flag that nothing has, each with the one that it may be meant
// for. It reports whether there are any.
func (c *cli) adviseNames(flag string, given, known []string) bool {
	any := false
	for _, name := range given {
		its, _, one := host.SplitName(name)
		if slices.Contains(known, name) || one && slices.Contains(known, its) && !slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, its+"__") }) {
			continue // it is there, or it is of a broken extension, whose tools nobody knows
		}
		any = true
		what := "loomext list shows what is"
		if near, ok := tomlfile.Nearest(name, known); ok {
			what = "did you mean " + escape.Line(near) + "?"
		}
		c.tell(fmt.Sprintf("mcp: --%s %s: nothing of that name is installed; %s", flag, escape.Line(name), what))
	}
	return any
}

// brokenTold tells of each extension that is refused, once for each cause: every session of a server
// meets it anew.
type brokenTold struct {
	c    *cli
	mu   sync.Mutex
	said map[string]string // the cause, by name
}

func (b *brokenTold) tell(name string, why error) {
	cause := "its record cannot be read"
	if why != nil {
		cause = why.Error()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.said[name] == cause {
		return
	}
	if b.said == nil {
		b.said = map[string]string{}
	}
	b.said[name] = cause
	b.c.tell("mcp: " + escape.Line(name) + " is broken and not served: " + escape.Line(cause) + "; loomext verify " + escape.Line(name) + " looks closer")
}

// refusedMessage is what a host logs of an extension that it cannot load.
const refusedMessage = "extension refused"

// servedWarnings are the warnings of a server's sessions: of an extension that cannot be loaded
// there is one line, whichever session meets it.
type servedWarnings struct {
	warnings
	broken *brokenTold
}

func (w servedWarnings) Handle(ctx context.Context, r slog.Record) error {
	if r.Message != refusedMessage {
		return w.warnings.Handle(ctx, r)
	}
	var (
		name string
		why  error
	)
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "extension":
			name = a.Value.String()
		case "error":
			why, _ = a.Value.Any().(error)
		}
		return true
	})
	w.broken.tell(name, why)
	return nil
}

func (w servedWarnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return servedWarnings{warnings{w.c, slices.Concat(w.attrs, attrs)}, w.broken}
}

func (w servedWarnings) WithGroup(string) slog.Handler { return w }

// adviseSize says where the entries of all tools together are more than the budget.
func (c *cli) adviseSize(offered []mcp.Offered) {
	total := 0
	for _, tool := range offered {
		total += tool.Bytes
	}
	if total <= mcp.Budget {
		return
	}
	largest := slices.Clone(offered)
	slices.SortStableFunc(largest, func(a, b mcp.Offered) int { return cmp.Compare(b.Bytes, a.Bytes) })
	largest = largest[:min(len(largest), largestNamed)]
	named := make([]string, len(largest))
	for i, tool := range largest {
		named[i] = fmt.Sprintf("%s of %s (%s)", escape.Line(tool.Tool), escape.Line(tool.Extension), bytesText(int64(tool.Bytes)))
	}
	c.tell(fmt.Sprintf("mcp: %d tools have %s of names, descriptions and schemas, some %d tokens of every conversation; the largest: %s; serve fewer with --only or --except",
		len(offered), bytesText(int64(total)), total/bytesPerToken, strings.Join(named, ", ")))
}

// selector is what --only and --except can name.
type selector struct{ name, about string }

// selectable are the extensions, each with its tools behind it.
func selectable(all []install.Record) []selector {
	var known []selector
	for _, record := range all {
		known = append(known, selector{record.Name, record.Description})
		for _, tool := range record.Tools {
			known = append(known, selector{host.Tool{Extension: record.Name, Name: tool.Name}.QualifiedName(), tool.PromptSnippet})
		}
	}
	return known
}

// completeOffered completes a comma list of extensions and of tools by both names.
func (c *cli) completeOffered(_ *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	given := ""
	if at := strings.LastIndexByte(toComplete, ','); at >= 0 {
		given = toComplete[:at+1]
	}
	var names []cobra.Completion
	for _, known := range selectable(records(c.entries())) {
		if !slices.Contains(commaList(given), known.name) {
			names = append(names, completion(given+known.name, known.about))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
