package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/gen"
	"github.com/loomext/loomext/install"
)

// maxInspected bounds the file that inspect reads; a satellite has a few MiB.
const maxInspected = 1 << 30

// inspectResult is what inspect --json prints. docs/cli.md describes it.
type inspectResult struct {
	Path        string          `json:"path"`
	Size        int64           `json:"size"`
	Digest      string          `json:"digest"`
	Declaration gen.Declaration `json:"declaration"`
	ELF         elfFacts        `json:"elf"`
}

func (c *cli) inspectCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect <artifact>",
		Short: "Read what a satellite declares, without running it",
		Long: `inspect reads a loom_satellite file: its digest, what it declares (name, version, revision,
tools, hooks, configuration) and what its ELF headers say. It runs nothing.

Exit statuses: 0; 2 usage; 10 the file cannot be read; 17 it is no satellite.
See "loomext help exitcodes".`,
		Example: "  loomext inspect ~/.loom/extensions/units/loom_satellite\n  loomext inspect ./loom_satellite --json",
		Args:    exactly("artifact"),
		RunE: ran(func(_ *cobra.Command, args []string) error {
			return c.inspect(args[0], asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was read as JSON")
	return cmd
}

func (c *cli) inspect(path string, asJSON bool) error {
	result, err := readArtifact(path)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(result)
	}
	return c.printf("%s", inspectText(result))
}

// readArtifact reads a file once, through one descriptor.
func readArtifact(path string) (inspectResult, error) {
	refuse := func(layer install.Layer, err error) (inspectResult, error) {
		return inspectResult{}, &install.Error{Layer: layer, Err: fmt.Errorf("%s: %w", path, err)}
	}
	// Without this look a named pipe would block the open.
	if info, err := os.Stat(path); err != nil {
		return refuse(install.LayerFetch, fmt.Errorf("%w; name a file, such as extensions/<name>/loom_satellite below the store", errors.Unwrap(err)))
	} else if !info.Mode().IsRegular() {
		return refuse(install.LayerFetch, errors.New("it is no regular file; name the loom_satellite of a generation"))
	}
	f, err := os.Open(path)
	if err != nil {
		return inspectResult{}, &install.Error{Layer: install.LayerFetch, Err: err}
	}
	defer f.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, io.LimitReader(f, maxInspected+1))
	switch {
	case err != nil:
		return refuse(install.LayerFetch, err)
	case size > maxInspected:
		return refuse(install.LayerVerify, fmt.Errorf("it has more than %d bytes, and no satellite has; name another file", int64(maxInspected)))
	}
	result := inspectResult{Path: path, Size: size, Digest: "sha256:" + hex.EncodeToString(hash.Sum(nil))}
	if result.ELF, err = readELF(f); err != nil {
		return refuse(install.LayerVerify, fmt.Errorf("%w; name a loom_satellite", err))
	}
	if result.Declaration, err = gen.ReadDeclaration(f, size); err != nil {
		return refuse(install.LayerVerify, err)
	}
	return result, nil
}

// inspectText is an artifact for people, escaped.
func inspectText(r inspectResult) string {
	d := r.Declaration
	var p page
	p.title(d.Name, d.Version, "", "")
	p.row("file", escape.Line(r.Path))
	p.row("size", bytesText(r.Size))
	p.row("digest", r.Digest)
	p.row("revision", escape.Line(d.Revision))
	p.row("tools", orNone(d.Tools))
	p.row("hooks", orNone(d.Hooks))
	p.config(d.Config, nil)
	linked := "static"
	if !r.ELF.Static {
		linked = "NOT static"
	}
	p.row("elf", fmt.Sprintf("%s %s %s, %s, entry %s", r.ELF.Class, r.ELF.Machine, r.ELF.Type, linked, r.ELF.Entry))
	var odd []string
	for _, flag := range []struct {
		set  bool
		text string
	}{
		{r.ELF.Interpreter, "names an interpreter"},
		{r.ELF.Dynamic, "asks for libraries"},
		{r.ELF.ExecStack, "executable stack"},
		{r.ELF.WriteExec, "memory both writable and executable"},
	} {
		if flag.set {
			odd = append(odd, flag.text)
		}
	}
	if len(odd) > 0 {
		p.row("beware", strings.Join(odd, ", "))
	}
	p.row("segments", r.ELF.Segments...)
	return p.String()
}
