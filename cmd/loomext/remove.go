package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
)

func (c *cli) removeCommand() *cobra.Command {
	return &cobra.Command{
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
			return c.remove(cmd.Context(), args[0])
		}),
	}
}

func (c *cli) remove(ctx context.Context, name string) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	if err := store.Remove(ctx, name); err != nil {
		return err
	}
	return c.printf("%s removed\n", escape.Line(name))
}
