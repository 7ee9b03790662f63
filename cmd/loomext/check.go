package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
	"github.com/loomext/loomext/vet"
)

// checkResult is what check --json prints. docs/cli.md describes it.
type checkResult struct {
	OK       bool              `json:"ok"`
	Faults   []checkFault      `json:"faults"`
	Approval *install.Approval `json:"approval"`
}

// checkFault is one thing wrong with a source, from whichever layer found it.
type checkFault struct {
	Layer string `json:"layer"`
	Path  string `json:"path"`
	Line  int    `json:"line"`
	Col   int    `json:"col"`
	Kind  string `json:"kind"` // the lint, or the table and key of the manifest
	Msg   string `json:"msg"`
	Fix   string `json:"fix"`
}

func (c *cli) checkCommand() *cobra.Command {
	var (
		answer  answerFlags
		asJSON  bool
		explain string
	)
	cmd := &cobra.Command{
		Use:   "check <dir> | check --explain <lint>",
		Short: "Decode a manifest and vet a source, without a build",
		Long: `check does what install does before it asks: it reads the source, decodes the manifest and
vets the code, and reports every fault of both at once; what only the types show it reports, all
at once too, when that passed. It compiles nothing of the source and runs nothing of it; its types
are checked in a jailed child against the standard library and the prelude, which are compiled
into the build cache the first time. With --yes, --grant and --set
the approval key is the one that an install with them would record.

With --explain it says why a rule of vetting is there, what to do instead, and shows a source
that it refuses.

Exit statuses: 0 it would be asked for; 2 usage; 10 fetch, 11 extract, 12 manifest, 13
vetting: the first layer with a fault; 15 compile: no Go toolchain; 18 jail: it refused the
child. See "loomext help exitcodes".`,
		Example: "  loomext check .\n  loomext check ./examples/units --yes --json\n  loomext check --explain type",
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("explain") && len(args) > 0 {
				return usagef("--explain explains a lint and checks nothing; leave %q out, or check it without --explain", args[0])
			}
			if cmd.Flags().Changed("explain") {
				return nil
			}
			return exactly("dir")(cmd, args)
		},
		ValidArgsFunction: directories,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("explain") {
				return c.explain(explain, asJSON)
			}
			preset, err := answer.preset(cmd)
			if err != nil {
				return err
			}
			return c.check(cmd.Context(), args[0], answer.sets, preset, asJSON)
		}),
	}
	answer.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the faults, the approval or the explanation as JSON")
	cmd.Flags().StringVar(&explain, "explain", "", "explain a `lint` of vetting")
	_ = cmd.RegisterFlagCompletionFunc("explain", completeLints)
	return cmd
}

// explanation is what check --explain --json prints.
type explanation struct {
	Lint    string `json:"lint"`
	Why     string `json:"why"`
	Instead string `json:"instead"`
	Path    string `json:"path"`
	Example string `json:"example"`
}

// explain says what a rule of vetting is for.
func (c *cli) explain(name string, asJSON bool) error {
	var names []string
	for _, l := range vet.Lints() {
		if l.Name != name {
			names = append(names, l.Name)
			continue
		}
		if asJSON {
			return c.printJSON(explanation{l.Name, l.Why, l.Instead, l.Path, l.Example})
		}
		return c.printf("%s", l.Text())
	}
	return usagef("no lint is called %q; there are %s", name, strings.Join(names, ", "))
}

// completeLints completes the names of the rules.
func completeLints(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, l := range vet.Lints() {
		all = append(all, completion(l.Name, l.Why))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

func (c *cli) check(ctx context.Context, dir string, sets []string, preset *install.Decision, asJSON bool) error {
	approval, err := install.Check(ctx, dir, sets, preset, c.builder())
	if err == nil {
		if asJSON {
			return c.printJSON(checkResult{OK: true, Faults: []checkFault{}, Approval: &approval})
		}
		return c.printf("%s", approvalText(approval, c.gateSetting(approval.Name)))
	}
	var refusal *install.Error
	if !errors.As(err, &refusal) {
		return err
	}
	lines := []string{briefly(err)}
	faults := faultsOf(refusal)
	if findings := vetAnyway(ctx, dir, err); len(findings) > 0 {
		also := &install.Error{Layer: install.LayerVetting, Err: findings}
		lines, faults = append(lines, also.Error()), append(faults, faultsOf(also)...)
	}
	for _, line := range lines {
		c.errorf("%s\n", escape.Block(line))
	}
	if asJSON {
		if err := c.printJSON(checkResult{Faults: faults}); err != nil {
			return err
		}
	}
	return &statusError{status: refusal.Layer.ExitStatus()}
}

// briefly is the lines of an error. Of a capability that is used in many places and not requested,
// which one line of the manifest mends, the first place stands for all. JSON has them all.
func briefly(err error) string {
	var findings vet.Findings
	if !errors.As(err, &findings) || err.Error() != (&install.Error{Layer: install.LayerVetting, Err: findings}).Error() {
		return err.Error()
	}
	type kind struct{ lint, fix string }
	times := map[kind]int{}
	var first vet.Findings
	for _, f := range findings {
		k := kind{f.Lint, f.Fix}
		if times[k]++; times[k] == 1 || f.Lint != vet.LintCapability {
			first = append(first, f)
		}
	}
	for i, f := range first {
		if more := times[kind{f.Lint, f.Fix}] - 1; more > 0 && f.Lint == vet.LintCapability {
			places := "places"
			if more == 1 {
				places = "place"
			}
			first[i].Fix += fmt.Sprintf(" (and %d more %s)", more, places)
		}
	}
	return (&install.Error{Layer: install.LayerVetting, Err: first}).Error()
}

// vetAnyway vets a source whose manifest is at fault, so that an author learns of both at
// once. What vetting says of code against its manifest cannot be known then and is left out.
func vetAnyway(ctx context.Context, dir string, err error) vet.Findings {
	if !errors.As(err, new(manifest.Faults)) {
		return nil
	}
	tree, err := source.Open(ctx, dir)
	if err != nil {
		return nil
	}
	_, err = vet.Syntax(ctx, tree, manifest.Manifest{})
	var findings vet.Findings
	if !errors.As(err, &findings) {
		return nil
	}
	return slices.DeleteFunc(findings, func(f vet.Finding) bool {
		return f.Lint == vet.LintCapability || f.Lint == vet.LintEntry
	})
}

// faultsOf takes an error apart. An error without parts is one fault.
func faultsOf(err *install.Error) []checkFault {
	var (
		faults   []checkFault
		tomls    manifest.Faults
		findings vet.Findings
		sources  source.Errors
	)
	layer := string(err.Layer)
	switch {
	case errors.As(err, &tomls):
		for _, f := range tomls {
			kind := f.Key
			if f.Table != "" {
				kind = "[" + f.Table + "] " + f.Key
			}
			faults = append(faults, checkFault{Layer: layer, Path: manifest.FileName, Line: f.Line, Kind: kind, Msg: f.Msg, Fix: f.Fix})
		}
	case errors.As(err, &findings):
		for _, f := range findings {
			faults = append(faults, checkFault{Layer: layer, Path: f.Path, Line: f.Line, Col: f.Col, Kind: f.Lint, Msg: f.What, Fix: f.Fix})
		}
	case errors.As(err, &sources):
		for _, f := range sources {
			faults = append(faults, checkFault{Layer: f.Layer, Path: f.Path, Msg: f.What, Fix: f.Fix})
		}
	default:
		faults = append(faults, checkFault{Layer: layer, Msg: err.Err.Error()})
	}
	return faults
}
