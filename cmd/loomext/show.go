package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
)

// showResult is what show --json prints. docs/cli.md describes it.
type showResult struct {
	Name     string         `json:"name"`
	Dir      string         `json:"dir"`
	Artifact string         `json:"artifact"`
	Record   install.Record `json:"record"`
}

func (c *cli) showCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show <name>",
		Short: "Show one installed extension and its approval",
		Long: `show checks an installed extension as every session does before it uses one, and shows
its record: what it is, what was approved, by whom and when, and what was built how.

Exit statuses: 0; 2 usage; 16 not installed, or damaged. See "loomext help exitcodes".`,
		Example:           "  loomext show units\n  loomext show units --json",
		Args:              exactly("name"),
		ValidArgsFunction: c.completeNames(1),
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			return c.show(cmd.Context(), args[0], asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the record as JSON")
	return cmd
}

func (c *cli) show(ctx context.Context, name string, asJSON bool) error {
	installed, err := c.load(ctx, name)
	if err != nil {
		return err
	}
	defer installed.Close()
	if asJSON {
		return c.printJSON(showResult{
			Name: installed.Record.Name, Dir: installed.Dir, Artifact: installed.Artifact, Record: installed.Record,
		})
	}
	return c.printf("%s", recordText(installed))
}

// load loads one extension of the store.
func (c *cli) load(ctx context.Context, name string) (*install.Installed, error) {
	store, err := c.store()
	if err != nil {
		return nil, err
	}
	installed, err := store.Load(ctx, name)
	return installed, meant(store, name, err)
}

// recordText is a record for people, escaped.
func recordText(installed *install.Installed) string {
	r := installed.Record
	var p page
	p.title(r.Name, r.Version, r.License, r.Description)
	p.row("source", escape.Line(r.Source))
	if r.ResolvedRevision != "" {
		p.row("commit", escape.Line(r.ResolvedRevision))
	}
	p.row("installed at", escape.Line(installed.Dir))
	p.tools(r.Tools)
	p.mcp(r.MCP)
	p.hooks(r.Hooks)
	p.row("requested", orNone(r.Requested))
	p.row("granted", orNone(r.Granted))
	p.net(r.Net)
	p.commands(r.Commands, r.CommandEnv)
	p.row("memory", memoryText(r.MemoryMB))
	p.config(r.Config, r.Overrides)
	p.row("approved", fmt.Sprintf("by %s at %s with %s", escape.Line(r.ApprovedBy),
		r.ApprovedAt.UTC().Format(time.RFC3339), escape.Line(r.ApprovedHow)))
	p.row("approval key", escape.Line(r.ApprovalKey))
	p.row("fingerprint", escape.Line(r.Fingerprint))
	p.row("revision", escape.Line(r.Revision))
	p.row("tree", escape.Line(r.TreeDigest))
	p.row("artifact", fmt.Sprintf("%s, %s", escape.Line(r.ArtifactDigest), bytesText(r.ArtifactSize)))
	p.row("prelude", escape.Line(r.PreludeDigest))
	p.row("seam", fmt.Sprintf("version %d", r.Seam.Version))
	p.row("built with", escape.Line(r.Toolchain))
	p.row("build jail", jailText(r.BuildJail)...)
	return p.String()
}
