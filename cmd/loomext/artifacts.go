package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/broker/artifact"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
)

// artifactEntry is one element of what artifacts --json prints. docs/cli.md describes it.
type artifactEntry struct {
	artifact.Artifact
	Path string `json:"path"` // of the file that holds the data
}

// artifactsOptions are the flags of artifacts.
type artifactsOptions struct {
	extension      string
	remove, asJSON bool
}

func (c *cli) artifactsCommand() *cobra.Command {
	var o artifactsOptions
	cmd := &cobra.Command{
		Use:   "artifacts [id]",
		Short: "List what extensions emitted, or print one of it",
		Long: `artifacts lists what extensions emitted and the store kept, the newest last. With an id it writes
the data of that one to standard output, escaped where that is a terminal and byte for byte where
it is not. The store is bounded, and the oldest make room by themselves; --remove takes one away
before.

Exit statuses: 0, with artifacts or none; 2 usage; 16 there is none of that id, or the store
cannot be read. See "loomext help exitcodes".`,
		Example: `  loomext artifacts
  loomext artifacts --extension csvtool --json
  loomext artifacts 06h2rsv9uo0av5cn8r2q8bogns > table.csv
  loomext artifacts 06h2rsv9uo0av5cn8r2q8bogns --remove`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usagef("artifacts takes one id; see loomext artifacts --help")
			case len(args) == 0 && o.remove:
				return usagef("--remove wants the id of the artifact that is to go")
			case len(args) == 1 && (o.extension != "" || o.asJSON):
				return usagef("--extension and --json are for the list; leave them or the id out")
			}
			return nil
		},
		ValidArgsFunction: c.completeArtifacts,
		RunE: ran(func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.listArtifacts(o)
			}
			return c.oneArtifact(args[0], o.remove)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.extension, "extension", "", "only those of this extension")
	flags.BoolVar(&o.remove, "remove", false, "remove the artifact, and print nothing")
	flags.BoolVar(&o.asJSON, "json", false, "print the list as JSON")
	return cmd
}

// artifacts is the store of what extensions emitted.
func (c *cli) artifacts() (*artifact.Store, error) {
	store, err := c.store()
	if err != nil {
		return nil, err
	}
	return artifact.Open(filepath.Join(store.Home(), artifact.DirName)), nil
}

func (c *cli) listArtifacts(o artifactsOptions) error {
	store, err := c.artifacts()
	if err != nil {
		return err
	}
	all, err := store.List()
	if err != nil {
		return &install.Error{Layer: install.LayerRecord, Err: err}
	}
	entries := []artifactEntry{}
	for _, a := range all {
		if o.extension != "" && a.Extension != o.extension {
			continue
		}
		path, err := store.Path(a.ID)
		if err != nil {
			continue // it made room in between
		}
		entries = append(entries, artifactEntry{a, path})
	}
	if o.asJSON {
		return c.printJSON(entries)
	}
	if len(entries) == 0 {
		c.errorf("there are no artifacts; an extension makes one with report.Emit\n")
		return nil
	}
	var text strings.Builder
	cells := [][]string{{"ID", "CREATED", "EXTENSION", "SIZE", "TYPE", "NAME"}}
	for _, e := range entries {
		cells = append(cells, []string{e.ID, e.Created.UTC().Format(time.RFC3339), escape.Line(e.Extension), bytesText(e.Size), escape.Line(e.ContentType), escape.Line(e.Name)})
	}
	table(&text, cells)
	return c.printf("%s", text.String())
}

// oneArtifact prints or removes one.
func (c *cli) oneArtifact(id string, remove bool) error {
	store, err := c.artifacts()
	if err != nil {
		return err
	}
	refused := func(err error) error { return &install.Error{Layer: install.LayerRecord, Err: err} }
	if remove {
		if err := store.Remove(id); err != nil {
			return refused(err)
		}
		return nil
	}
	path, err := store.Path(id)
	if err != nil {
		return refused(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return refused(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, artifact.MaxData))
	if err != nil {
		return refused(err)
	}
	return writeShown(c.out, string(data), escape.Block)
}

// completeArtifacts completes ids.
func (c *cli) completeArtifacts(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	store, err := c.artifacts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	all, err := store.List()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, cobra.ShellCompDirectiveError
	}
	var ids []cobra.Completion
	for _, a := range all {
		ids = append(ids, cobra.CompletionWithDesc(a.ID, escape.Line(a.Extension+": "+a.Name)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
