package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/install"
)

// answerFlags are the flags that answer an approval, and set what it is about.
type answerFlags struct {
	yes    bool
	grants []string
	sets   []string
}

func (a *answerFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&a.yes, "yes", "y", false, "approve, and grant everything that is requested")
	flags.StringArrayVar(&a.grants, "grant", nil, `approve, and grant these capabilities (a comma list; repeatable; "" grants none)`)
	flags.StringArrayVar(&a.sets, "set", nil, "set key=value in the extension's configuration (repeatable)")
}

// preset is the decision that the flags give, or nil.
func (a *answerFlags) preset(cmd *cobra.Command) (*install.Decision, error) {
	granted := cmd.Flags().Changed("grant")
	switch {
	case a.yes && granted:
		return nil, usagef("--yes grants everything and --grant a subset; give one of them")
	case a.yes:
		return &install.Decision{All: true, How: "--yes"}, nil
	case granted:
		return &install.Decision{Granted: commaList(strings.Join(a.grants, ",")), How: "--grant"}, nil
	}
	return nil, nil
}
