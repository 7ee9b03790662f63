package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
)

// verifyResult is what verify --json prints. docs/cli.md describes it.
type verifyResult struct {
	OK         bool                   `json:"ok"`
	Extensions []install.Verification `json:"extensions"`
}

func (c *cli) verifyCommand() *cobra.Command {
	var all, noRebuild, strict, asJSON bool
	cmd := &cobra.Command{
		Use:   "verify <name>… | --all",
		Short: "Prove that what is installed is what was approved",
		Long: `verify derives again what an install says of itself: link, record, digests, manifest,
approval and seam, then vets the installed source anew and, where the recorded toolchain is
there, builds it again, which must give the same bytes. It writes nothing into the store.

A check that cannot be made is "skipped", with the reason; only a check that fails fails the
verification. --require-rebuild makes a rebuild that was skipped a failure. An empty store fails --all: a CI step that verifies nothing proves nothing.

What the record says of the jail around the build is printed: the level, and a line for each
layer that was skipped. The rebuild runs in a jail as well; --best-effort makes do with a
weaker one where this machine lacks a wall.

Exit statuses: 0 no check failed; 2 usage; 16 not installed, or nothing is; 17 a check
failed; 18 the jail refused a rebuild. See "loomext help exitcodes".`,
		Example:           "  loomext verify units\n  loomext verify --all --no-rebuild\n  loomext verify --all --require-rebuild --json",
		ValidArgsFunction: c.completeNames(-1),
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return usagef("verify takes names or --all, not both")
			case noRebuild && strict:
				return usagef("verify rebuilds or does not: --require-rebuild and --no-rebuild exclude each other")
			case !all && len(args) == 0:
				return usagef("verify wants the names of extensions, or --all")
			}
			return nil
		},
	}
	c.addBestEffort(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&all, "all", false, "verify everything that is installed")
	flags.BoolVar(&noRebuild, "no-rebuild", false, "do not build again; the check says so")
	flags.BoolVar(&strict, "require-rebuild", false, "a rebuild that cannot be made fails")
	flags.BoolVar(&asJSON, "json", false, "print every check as JSON")
	cmd.RunE = ran(func(cmd *cobra.Command, args []string) error {
		return c.verify(cmd.Context(), args, install.VerifyOptions{Rebuild: !noRebuild, Strict: strict}, asJSON)
	})
	return cmd
}

// verify checks the named extensions, or all where no name is given.
func (c *cli) verify(ctx context.Context, names []string, o install.VerifyOptions, asJSON bool) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if names, err = allNames(store); err != nil {
			return c.unverified(err, asJSON)
		}
	}
	o.Builder, o.Progress = c.builder(), c.showStep
	result := verifyResult{OK: true, Extensions: []install.Verification{}}
	var text strings.Builder
	var refused error // names that cannot be verified; the others are all the same
	for _, name := range names {
		v, err := store.Verify(ctx, name, o)
		if errors.As(err, new(*install.Error)) && ctx.Err() == nil {
			refused, result.OK = errors.Join(refused, err), false
		} else if err != nil {
			return err
		}
		if len(v.Checks) == 0 {
			continue
		}
		result.OK = result.OK && v.OK
		result.Extensions = append(result.Extensions, v)
		verificationText(&text, v, err)
	}
	if len(result.Extensions) == 0 {
		return c.unverified(refused, asJSON)
	}
	if asJSON {
		err = c.printJSON(result)
	} else {
		err = c.printf("%s", text.String())
	}
	if err != nil {
		return err
	}
	return c.verdict(result, refused)
}

// unverified is the error of a verification of nothing, after the document that says so.
func (c *cli) unverified(err error, asJSON bool) error {
	if asJSON {
		if err := c.printJSON(verifyResult{Extensions: []install.Verification{}}); err != nil {
			return err
		}
	}
	return err
}

// verdict is the error of a verification that found a fault, after a line for each.
func (c *cli) verdict(result verifyResult, refused error) error {
	failed := false
	for _, v := range result.Extensions {
		failed = failed || !v.OK
		c.reportFailed(v)
	}
	if !failed {
		return refused
	}
	if refused != nil {
		c.errorf("%s\n", escape.Block(refused.Error()))
	}
	return &statusError{status: install.LayerVerify.ExitStatus()}
}

// allNames is every name of a store. A store without any is an error.
func allNames(store *install.Store) ([]string, error) {
	entries, err := store.List()
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, &install.Error{Layer: install.LayerRecord, Err: fmt.Errorf(
			"nothing is installed in %s, so there is nothing to verify; install an extension first, or name another --home", store.Home())}
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name
	}
	return names, nil
}

// verificationText adds the checks of one extension, escaped. Refused is why it was not rebuilt.
func verificationText(w *strings.Builder, v install.Verification, refused error) {
	verdict := "ok" + atLevel(v.JailLevel)
	switch {
	case !v.OK:
		verdict = "FAILED"
	case refused != nil:
		verdict = "not rebuilt"
	}
	w.WriteString(strings.TrimRight(escape.Line(v.Name)+" "+escape.Line(v.Version), " ") + ": " + verdict + "\n")
	var rows [][]string
	for _, check := range v.Checks {
		rows = append(rows, []string{"  " + check.Name, check.State, escape.Line(check.Detail)})
		if check.Name == install.CheckJail {
			for _, layer := range skippedLayers(v.BuildJail) {
				rows = append(rows, []string{"", "", "  " + layer})
			}
		}
	}
	table(w, rows)
}

// reportFailed prints an error line for every check that failed.
func (c *cli) reportFailed(v install.Verification) {
	for _, check := range v.Checks {
		if check.State == install.StateFailed {
			c.errorf("verify: %s: %s: %s\n", escape.Line(v.Name), check.Name, escape.Indented(check.Detail, "  "))
		}
	}
}
