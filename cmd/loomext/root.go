package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of the root's help.
const (
	groupStore   = "store"
	groupAuthors = "authors"
)

// root assembles the commands. Each call makes its own: nothing of a run is shared.
func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "loomext",
		Short: "Extensions for agent harnesses, installed like packages, run like strangers",
		Long: `loomext installs extensions of agent harnesses from their Go source: the manifest is
decoded, the source vetted, a static satellite built without network, and what the operator
approved is recorded. A harness then runs the satellite; loomext call runs one of its tools.

Results go to standard output, everything else to standard error.
"loomext help exitcodes" lists the exit statuses.`,
		Example: `  loomext install ./examples/units
  loomext call units convert --args '{"value": 26.2, "from": "mi", "to": "km"}'
  loomext verify --all`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,

		SuggestionsMinimumDistance: 2, // two letters off is a slip of the hand
		Args:                       knownCommand,
		CompletionOptions:          cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		}),
	}
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) { c.homeSet = cmd.Flags().Changed("home") }
	root.PersistentFlags().StringVar(&c.home, "home", "", "the store (default $LOOM_HOME, else ~/.loom)")
	must(root.MarkPersistentFlagDirname("home"))
	root.AddGroup(
		&cobra.Group{ID: groupStore, Title: "What is installed:"},
		&cobra.Group{ID: groupAuthors, Title: "Before an install:"},
	)
	for _, sub := range []*cobra.Command{c.installCommand(), c.listCommand(), c.showCommand(), c.verifyCommand(), c.removeCommand(), c.callCommand(), c.fireCommand(), c.statusCommand(), c.logsCommand(), c.artifactsCommand(), c.auditCommand(), c.replayCommand(), c.configCommand(), c.mcpCommand()} {
		sub.GroupID = groupStore
		root.AddCommand(sub)
	}
	for _, sub := range []*cobra.Command{c.newCommand(), c.vendorCommand(), c.schemaCommand(), c.checkCommand(), c.testCommand(), c.devCommand(), c.inspectCommand(), c.doctorCommand()} {
		sub.GroupID = groupAuthors
		root.AddCommand(sub)
	}
	root.AddCommand(c.versionCommand(), c.completionCommand(), exitcodesTopic())
	root.SetHelpCommand(helpCommand())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagFault(err) })
	return root
}

// helpCommand is cobra's but for a topic that is not there, which is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about a command or a topic",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var topics []cobra.Completion
			for _, sub := range cmd.Root().Commands() {
				if len(args) == 0 && !sub.Hidden {
					topics = append(topics, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return topics, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("there is no help on %q; see loomext help", strings.Join(args, " "))
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		}),
	}
}

// flagFault says of a value that is none to its flag what would be one.
func flagFault(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	want := map[string]string{
		"bool":     "is neither true nor false; write the flag alone",
		"int":      "is no whole number; give one such as 10",
		"duration": "is no time; give one with its unit, such as 500ms or 10s",
	}[flag.Value.Type()]
	if want == "" {
		return err
	}
	return usagef("--%s: %q %s", flag.Name, invalid.GetValue(), want)
}

// must is for the wiring of flags that exist, which only a typing error can break.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// exactly wants n arguments and names them when there are others.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		want := ""
		for _, name := range names {
			want += " <" + name + ">"
		}
		plural := "s"
		if len(args) == 1 {
			plural = ""
		}
		return fmt.Errorf("%s wants%s and has %d argument%s; see %s --help", cmd.CommandPath(), want, len(args), plural, cmd.CommandPath())
	}
}

// knownCommand refuses a word that is no command, with those it may have been meant for.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := cmd.SuggestionsFor(args[0])
	if len(near) == 0 {
		return usagef("unknown command %q; see loomext --help", args[0])
	}
	return usagef("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
}
