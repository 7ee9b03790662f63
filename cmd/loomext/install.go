package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
)

// installResult is what install --json prints. docs/cli.md describes it.
type installResult struct {
	Outcome    string           `json:"outcome"`
	Name       string           `json:"name"`
	Version    string           `json:"version"`
	Generation string           `json:"generation"`
	Granted    []string         `json:"granted"`
	JailLevel  jail.Level       `json:"jail_level"`
	Approval   install.Approval `json:"approval"`
	Record     install.Record   `json:"record"`
}

func (c *cli) installCommand() *cobra.Command {
	var (
		answer answerFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:        "install <dir>",
		SuggestFor: []string{"update", "upgrade", "add"},
		Short:      "Vet, build and install an extension from its source",
		Long: `install reads the source once, decodes its manifest and vets its code, shows what the
extension asks for and asks for your approval. Then it builds the satellite without network
and records what you approved. Nothing of the extension is compiled or run before you said yes.

An approval that was given before, to the letter, is not asked for again. --yes grants
everything that is requested and --grant a subset; without a terminal one of them is needed.
--set changes a default of the extension's configuration; the value keeps its type.

The compiler and the satellite run in a jail. A machine that cannot build every wall of it is
refused; --best-effort makes do with a weaker one, and the result says which.

Exit statuses: 0 installed, replaced or unchanged; 2 usage; 10 to 19 the layer that refused;
20 not approved. See "loomext help exitcodes".`,
		Example: `  loomext install ./examples/units
  loomext install ./search --grant net --set results=5
  loomext install ./units --yes --json`,
		Args:              exactly("dir"),
		ValidArgsFunction: directories,
	}
	answer.add(cmd)
	c.addBestEffort(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.RunE = ran(func(cmd *cobra.Command, args []string) error {
		preset, err := answer.preset(cmd)
		if err != nil {
			return err
		}
		return c.install(cmd.Context(), args[0], answer.sets, preset, asJSON)
	})
	return cmd
}

func (c *cli) install(ctx context.Context, source string, sets []string, preset *install.Decision, asJSON bool) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	result, err := store.Install(ctx, install.Options{
		Source:   source,
		Sets:     sets,
		Preset:   preset,
		Approve:  c.approve,
		Progress: c.showProgress,
		Show: func(a install.Approval) {
			if preset != nil { // who is asked is shown it with the question
				c.progress.clear()
				c.errorf("%s", approvalText(a, c.gateSetting(a.Name)))
			}
		},
		Builder: c.patientBuilder(),
		Jail:    c.jail,
	})
	if err != nil {
		return err
	}
	record := result.Record
	if asJSON {
		return c.printJSON(installResult{
			Outcome: result.Outcome, Name: record.Name, Version: record.Version,
			Generation: result.Generation, Granted: record.Granted, JailLevel: result.JailLevel,
			Approval: result.Approval, Record: record,
		})
	}
	return c.printf("%s %s %s  granted: %s  approval key: %s%s\n", escape.Line(record.Name), escape.Line(record.Version),
		result.Outcome, orNone(record.Granted), record.ApprovalKey, atLevel(result.JailLevel))
}

// approve asks on the terminal, and says so where there is none.
func (c *cli) approve(ctx context.Context, a install.Approval) (install.Decision, error) {
	p, done, err := c.prompter()
	if err != nil {
		c.errorf("%s", approvalText(a, c.gateSetting(a.Name)))
		return install.Decision{}, fmt.Errorf("%s: cannot ask for the approval: %w; say --yes or --grant, or use a terminal: %w",
			escape.Line(a.Name), err, install.ErrDeclined)
	}
	defer done()
	c.progress.clear()
	return p.ask(ctx, a)
}
