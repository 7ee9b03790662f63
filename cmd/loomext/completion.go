package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
)

// shells are those a completion script can be written for.
var shells = []string{"bash", "zsh", "fish"}

func (c *cli) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a completion script for a shell",
		Long: `completion prints a script that completes commands, flags, and the names of installed
extensions and their tools, which it asks loomext for as you type. That for bash needs the
package bash-completion.

Exit statuses: 0; 2 usage. See "loomext help exitcodes".`,
		Example: `  source <(loomext completion bash)
  loomext completion zsh > "${fpath[1]}/_loomext"
  loomext completion fish > ~/.config/fish/completions/loomext.fish`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return usagef("completion wants one of bash, zsh and fish")
			}
			return nil
		},
		ValidArgs: shells,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return writeFault(root.GenBashCompletionV2(c.out, true))
			case "zsh":
				return writeFault(root.GenZshCompletion(c.out))
			}
			return writeFault(root.GenFishCompletion(c.out, true))
		}),
	}
}

// directories completes the one argument that is a directory.
func directories(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeNames completes up to limit names of installed extensions, any number where limit
// is negative.
func (c *cli) completeNames(limit int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if limit >= 0 && len(args) >= limit {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for _, entry := range c.entries() {
			if slices.Contains(args, entry.Name) {
				continue
			}
			about := "broken"
			if entry.Record != nil {
				about = entry.Record.Description
			}
			names = append(names, completion(entry.Name, about))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeCall completes the extension and then its tool.
func (c *cli) completeCall(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return c.completeNames(1)(cmd, args, toComplete)
	}
	var tools []cobra.Completion
	for _, entry := range c.entries() {
		if len(args) > 1 || entry.Name != args[0] || entry.Record == nil {
			continue
		}
		for _, tool := range entry.Record.Tools {
			tools = append(tools, completion(tool.Name, tool.PromptSnippet))
		}
	}
	return tools, cobra.ShellCompDirectiveNoFileComp
}

// completeFire completes the extension and then one of its events; for --sample and --all, an
// event.
func (c *cli) completeFire(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	sample, _ := cmd.Flags().GetBool("sample")
	if all, _ := cmd.Flags().GetBool("all"); sample || all {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return eventNames(), cobra.ShellCompDirectiveNoFileComp
	}
	if len(args) == 0 {
		return c.completeNames(1)(cmd, args, toComplete)
	}
	var events []cobra.Completion
	for _, entry := range c.entries() {
		if len(args) > 1 || entry.Name != args[0] || entry.Record == nil {
			continue
		}
		for _, hook := range entry.Record.Hooks {
			events = append(events, escape.Line(hook.Event))
		}
	}
	return events, cobra.ShellCompDirectiveNoFileComp
}

// completion is a candidate with its description, which a shell prints: it is escaped.
func completion(name, about string) cobra.Completion {
	const shown = 80
	return cobra.CompletionWithDesc(escape.Line(name), clip(escape.Line(about), shown))
}

// entries is what is installed, or nothing: a completion has nobody to tell of an error.
func (c *cli) entries() []install.Entry {
	store, err := c.store()
	if err != nil {
		return nil
	}
	entries, err := store.List()
	if err != nil {
		return nil
	}
	return entries
}
