package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
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

// adviseMCP tells the operator of flags that mean nothing in this store, and of tools that
// take more room than they should. It keeps nothing from being served.
func (c *cli) adviseMCP(store *install.Store, o mcpOptions) error {
	entries, err := store.List()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Record == nil {
			c.tell("mcp: " + escape.Line(entry.Name) + " is broken and not served; loomext verify " + escape.Line(entry.Name) + " says why")
		}
	}
	all := records(entries)
	known := choices(all)
	for _, flag := range []struct {
		name string
		list []string
	}{{"only", o.only}, {"except", o.except}} {
		for _, name := range flag.list {
			if !slices.ContainsFunc(known, func(k choice) bool { return k.name == name }) {
				c.tell(fmt.Sprintf("mcp: --%s %s: nothing of that name is installed; loomext list shows what is", flag.name, escape.Line(name)))
			}
		}
	}
	c.adviseSize(mcp.Offer(all, o.only, o.except))
	return nil
}

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

// choice is what --only and --except can name.
type choice struct{ name, about string }

// choices are the extensions, each with its tools behind it.
func choices(all []install.Record) []choice {
	var known []choice
	for _, record := range all {
		known = append(known, choice{record.Name, record.Description})
		for _, tool := range record.Tools {
			known = append(known, choice{host.Tool{Extension: record.Name, Name: tool.Name}.QualifiedName(), tool.PromptSnippet})
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
	for _, known := range choices(records(c.entries())) {
		if !slices.Contains(commaList(given), known.name) {
			names = append(names, completion(given+known.name, known.about))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
