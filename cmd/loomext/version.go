package main

import (
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/vendorize"
	"github.com/loomext/loomext/vet"
)

// versionResult is what version --json prints. docs/cli.md describes it.
type versionResult struct {
	Loomext       string `json:"loomext"`
	Commit        string `json:"commit"`
	Modified      bool   `json:"modified"`
	Go            string `json:"go"`
	Platform      string `json:"platform"`
	WireVersion   int    `json:"wire_version"`
	SeamVersion   int    `json:"seam_version"`
	PreludeDigest string `json:"prelude_digest"`
}

func (c *cli) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of loomext, its seam and its prelude",
		Long: `version prints the version of this program, of the Go release it was built with, of the
wire protocol, of the seam that source is vetted against, and the digest of the prelude that
every satellite is built from.

Exit statuses: 0; 2 usage. See "loomext help exitcodes".`,
		Example:           "  loomext version\n  loomext version --json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: ran(func(*cobra.Command, []string) error {
			return c.version(asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the versions as JSON")
	return cmd
}

func (c *cli) version(asJSON bool) error {
	v := currentVersion()
	if asJSON {
		return c.printJSON(v)
	}
	var p page
	p.row("loomext", v.Loomext)
	if v.Commit != "" {
		commit := v.Commit
		if v.Modified {
			commit += " with local changes"
		}
		p.row("commit", commit)
	}
	p.row("go", v.Go)
	p.row("platform", v.Platform)
	p.row("wire", strconv.Itoa(v.WireVersion))
	p.row("seam", strconv.Itoa(v.SeamVersion))
	p.row("prelude", v.PreludeDigest)
	return c.printf("%s", p.String())
}

// currentVersion is what there is to tell of this program.
func currentVersion() versionResult {
	v := versionResult{
		Loomext: host.Version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		WireVersion: wire.Version, SeamVersion: vet.SeamVersion, PreludeDigest: vendorize.Digest(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Commit = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}
