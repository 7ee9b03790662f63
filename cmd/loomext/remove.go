package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
)

// removeResult is what remove --json prints. docs/cli.md describes it.
type removeResult struct {
	Name    string `json:"name"`
	Removed bool   `json:"removed"`
}

func (c *cli) removeCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:        "remove <name>",
		Aliases:    []string{"rm"},
		SuggestFor: []string{"uninstall", "delete"},
		Short:      "Remove an installed extension",
		Long: `remove takes an extension away, broken or not: its link first, in one step, then its files.
A session that still runs it keeps its files until it ends.

Exit statuses: 0; 2 usage; 16 not installed, or the store is not writable.
See "loomext help exitcodes".`,
		Example:           "  loomext remove units",
		Args:              exactly("name"),
		ValidArgsFunction: c.completeNames(1),
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			return c.remove(cmd.Context(), args[0], asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was removed as JSON")
	return cmd
}

func (c *cli) remove(ctx context.Context, name string, asJSON bool) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	if err := store.Remove(ctx, name); err != nil {
		return meant(store, name, err)
	}
	if asJSON {
		return c.printJSON(removeResult{Name: name, Removed: true})
	}
	return c.printf("%s removed\n", escape.Line(name))
}
