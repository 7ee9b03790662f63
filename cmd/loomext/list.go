package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
)

// listEntry is one element of what list --json prints. docs/cli.md describes it. Of a broken
// install only the name and the fault are known.
type listEntry struct {
	Name           string   `json:"name"`
	Version        string   `json:"version"`
	Description    string   `json:"description"`
	Source         string   `json:"source"`
	Tools          []string `json:"tools"`
	MCPNames       []string `json:"mcp_names"`
	Hooks          []string `json:"hooks"`
	Granted        []string `json:"granted"`
	TreeDigest     string   `json:"tree_digest"`
	ArtifactDigest string   `json:"artifact_digest"`
	ApprovalKey    string   `json:"approval_key"`
	ApprovedAt     string   `json:"approved_at"`
	Fault          *string  `json:"fault"`
}

func (c *cli) listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List what is installed",
		Long: `list shows every installed extension, by its record. An install that is broken is a row
with its fault; it does not keep the others from being shown. To check the files behind the
records, use verify. Of an extension with many tools the row has the first ones and how many
there are; show and --json have all.

Where two extensions have a tool of one name, loomext mcp serves both under longer names, which
are shown below the list.

Exit statuses: 0, broken rows or not; 2 usage; 16 the store cannot be read.
See "loomext help exitcodes".`,
		Example:           "  loomext list\n  loomext list --json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: ran(func(*cobra.Command, []string) error {
			return c.list(asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return cmd
}

func (c *cli) list(asJSON bool) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	entries, err := store.List()
	if err != nil {
		return err
	}
	rows := make([]listEntry, 0, len(entries))
	offered := mcp.Offer(records(entries), nil, nil)
	for _, entry := range entries {
		rows = append(rows, newListEntry(entry, offered))
	}
	if asJSON {
		return c.printJSON(rows)
	}
	if len(rows) == 0 {
		c.errorf("nothing is installed in %s; install an extension with: loomext install <dir>\n", escape.Line(store.Home()))
		return nil
	}
	var text strings.Builder
	cells := [][]string{{"NAME", "VERSION", "TOOLS", "GRANTED", "DESCRIPTION"}}
	for _, row := range rows {
		cells = append(cells, row.cells())
	}
	table(&text, cells)
	if longer := longerNames(offered); len(longer) > 0 {
		told := wrap("Tools of one name, as loomext mcp serves them: "+escape.Line(strings.Join(longer, ", ")), longerWidth)
		text.WriteString("\n" + strings.Join(told, "\n") + "\n")
	}
	return c.printf("%s", text.String())
}

// longerNames are the names of tools that are not served under their own.
func longerNames(offered []mcp.Offered) []string {
	var names []string
	for _, tool := range offered {
		if tool.Name != tool.Tool {
			names = append(names, tool.Name)
		}
	}
	return names
}

func newListEntry(entry install.Entry, offered []mcp.Offered) listEntry {
	row := listEntry{Name: entry.Name, Tools: []string{}, MCPNames: []string{}, Hooks: []string{}, Granted: []string{}}
	if entry.Record == nil {
		fault := "record: cannot be read"
		if entry.Err != nil {
			fault = entry.Err.Error()
		}
		row.Fault = &fault
		return row
	}
	r := entry.Record
	row.Version, row.Description, row.Source = r.Version, r.Description, r.Source
	row.TreeDigest, row.ArtifactDigest, row.ApprovalKey = r.TreeDigest, r.ArtifactDigest, r.ApprovalKey
	row.ApprovedAt = r.ApprovedAt.UTC().Format(time.RFC3339)
	row.Granted = append(row.Granted, r.Granted...)
	for _, tool := range r.Tools {
		row.Tools = append(row.Tools, tool.Name)
	}
	for _, tool := range offered {
		if tool.Extension == r.Name {
			row.MCPNames = append(row.MCPNames, tool.Name)
		}
	}
	for _, hook := range r.Hooks {
		row.Hooks = append(row.Hooks, hook.Event)
	}
	return row
}

// cells is a row for people, escaped.
func (e listEntry) cells() []string {
	if e.Fault != nil {
		return []string{escape.Line(e.Name), "broken", "-", "-", escape.Line(*e.Fault)}
	}
	return []string{
		escape.Line(e.Name), escape.Line(e.Version), shortList(e.Tools), dashed(e.Granted), escape.Line(e.Description),
	}
}

const (
	// toolsWidth is how many columns the tools of a row take: a table is read by its rows, and every
	// row is as wide as the widest.
	toolsWidth = 40
	// longerWidth is how wide the lines below the table are.
	longerWidth = 100
)

// shortList is all names where they have room, else how many there are and the first of them.
func shortList(names []string) string {
	whole := dashed(names)
	if columns(whole) <= toolsWidth {
		return whole
	}
	text := fmt.Sprintf("%d tools: ", len(names))
	for _, name := range names {
		next := escape.Line(name) + ", "
		if columns(text+next+"…") > toolsWidth {
			break
		}
		text += next
	}
	return text + "…"
}

func dashed(words []string) string {
	if len(words) == 0 {
		return "-"
	}
	return escape.Line(strings.Join(words, ","))
}
