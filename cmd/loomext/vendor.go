package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/vendorize"
)

// unnamedModule is in front of the name of an extension whose go.mod names no module, as in a build.
const unnamedModule = "extension.invalid/"

// vendorResult is what vendor --json prints. docs/cli.md describes it.
type vendorResult struct {
	OK            bool     `json:"ok"`
	Outcome       string   `json:"outcome"`
	Dir           string   `json:"dir"`
	PreludeDigest string   `json:"prelude_digest"`
	Files         int      `json:"files"`
	Stale         []string `json:"stale"`
}

// The outcomes of vendor.
const (
	vendorCurrent = "current"
	vendorWritten = "written"
	vendorStale   = "stale"
)

func (c *cli) vendorCommand() *cobra.Command {
	var check, asJSON bool
	cmd := &cobra.Command{
		Use:   "vendor <dir>",
		Short: "Put the prelude where gopls and go test find it",
		Long: `vendor writes vendor/ and the requirements in go.mod, so that gopls, go build, go vet and
go test resolve everything an extension may import, prelude/cap/captest included, without
network. It is the prelude of this loomext: vendor again after another one was installed.

Neither reaches an install: vendor/ is pruned, and of go.mod the module line alone is read.
What is up to date is left alone, and what a killed loomext left beside it is removed. A
vendor/ or a go.mod with other modules is refused, since an extension can import none. --check
writes nothing and says whether all is current.

Exit statuses: 0 written, or current; 2 usage; 10 no extension there; 14 refused, or not
writable; 17 --check found it not current. See "loomext help exitcodes".`,
		Example:           "  loomext vendor .\n  loomext vendor ./weather --check",
		Args:              exactly("dir"),
		ValidArgsFunction: directories,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			return c.vendor(cmd.Context(), args[0], check, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; fail where something is not current")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the outcome as JSON")
	return cmd
}

func (c *cli) vendor(ctx context.Context, dir string, check, asJSON bool) error {
	if err := holdsExtension(dir); err != nil {
		return err
	}
	author, err := vendorize.OpenAuthor(dir, unnamedModule+c.likelyName(ctx, dir))
	if err != nil {
		return &install.Error{Layer: install.LayerGenerate, Err: err}
	}
	result := vendorResult{OK: true, Outcome: vendorCurrent, Dir: absolute(dir), PreludeDigest: vendorize.Digest(), Files: author.Files(), Stale: author.Stale()}
	stale := len(result.Stale) > 0
	if !stale {
		result.Stale = []string{}
	}
	if check {
		if stale {
			result.OK, result.Outcome = false, vendorStale
		}
	} else {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := author.Write(); err != nil { // where nothing is stale, it sweeps
			return &install.Error{Layer: install.LayerGenerate, Err: err}
		}
		if stale {
			result.Outcome = vendorWritten
		}
	}
	if asJSON {
		if err := c.printJSON(result); err != nil {
			return err
		}
	} else if result.OK {
		if err := c.printf("%s %s  %d files  prelude %s\n", escape.Line(dir), result.Outcome, result.Files, result.PreludeDigest); err != nil {
			return err
		}
	}
	if !result.OK {
		return &install.Error{Layer: install.LayerVerify, Err: fmt.Errorf("%s is not current: %s; run loomext vendor %s", dir, some(result.Stale), dir)}
	}
	return nil
}

// some is the first of several names, and how many others there are.
func some(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// holdsExtension refuses a directory that is none of an extension, before anything is written into it.
func holdsExtension(dir string) error {
	info, err := os.Lstat(filepath.Join(dir, manifest.FileName))
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return &install.Error{Layer: install.LayerFetch, Err: fmt.Errorf("%s: it holds no %s (%w); name the directory of an extension, or begin one with loomext new", dir, manifest.FileName, err)}
	}
	return nil
}

// likelyName is the extension's name where the manifest tells it, else the directory's.
func (c *cli) likelyName(ctx context.Context, dir string) string {
	if _, m, err := draft(ctx, dir); err == nil {
		return m.Name()
	}
	return filepath.Base(absolute(dir))
}

// absolute is a path for people and records; where the working directory is gone, the path as it is.
func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
