package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/escape"
)

// configResult is what config check --json prints. docs/cli.md describes it. Where there are
// faults nothing is in force: egress and ceilings are null, and secrets is empty.
type configResult struct {
	OK       bool            `json:"ok"`
	Path     string          `json:"path"`
	Found    bool            `json:"found"`
	Egress   *configEgress   `json:"egress"`
	Ceilings *configCeilings `json:"ceilings"`
	Secrets  []configSecret  `json:"secrets"`
	Warnings []string        `json:"warnings"`
	Faults   []configFault   `json:"faults"`
}

type configEgress struct {
	Roots   []configRoot  `json:"roots"`
	Resolve []configRoute `json:"resolve"`
	Private []string      `json:"private"`
	Proxy   string        `json:"proxy"`
}

type configRoot struct {
	Subject  string `json:"subject"`
	NotAfter string `json:"not_after"`
}

type configRoute struct {
	Host    string `json:"host"`
	Port    uint16 `json:"port"`
	Address string `json:"address"`
}

type configCeilings struct {
	MaxResponseBytes int64 `json:"max_response_bytes"`
	TimeoutMS        int64 `json:"timeout_ms"`
}

type configFault struct {
	Line  int    `json:"line"`
	Table string `json:"table"`
	Key   string `json:"key"`
	Msg   string `json:"msg"`
	Fix   string `json:"fix"`
}

func (c *cli) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check the operator's configuration",
		Long: `config is about config.toml in the store's directory, which says how the host reaches the
network, what its own ceilings are, and where secrets come from. docs/config.md describes it.

Exit statuses: 0; 2 usage. See "loomext help exitcodes".`,
		Example:           "  loomext config check\n  loomext config check --json",
		Args:              knownCommand,
		ValidArgsFunction: cobra.NoFileCompletions,

		SuggestionsMinimumDistance: 2, // as of the root
		RunE:                       ran(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(c.configCheckCommand())
	return cmd
}

func (c *cli) configCheckCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Show what holds, and what is wrong",
		Long: `check reads config.toml as every session does and shows what holds, defaults included: how
requests leave, the ceilings, and for each secret that the file or an installed extension
names where it comes from and whether it can be had now. It shows no secret, reads none and
runs no command. Without the file everything has its default, which is no fault.

Exit statuses: 0, with warnings or without; 2 usage; 9 the file is at fault; 16 the store
cannot be read. See "loomext help exitcodes".`,
		Example: `  loomext config check
  loomext config check --home /srv/loom --json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: ran(func(*cobra.Command, []string) error {
			return c.configCheck(asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what holds, or the faults, as JSON")
	return cmd
}

func (c *cli) configCheck(asJSON bool) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	result := configResult{
		Path: filepath.Join(store.Home(), config.FileName), Secrets: []configSecret{}, Warnings: []string{}, Faults: []configFault{},
	}
	_, err = os.Lstat(result.Path)
	result.Found = err == nil
	loaded, err := config.Load(store.Home())
	var refusal *config.Error
	if errors.As(err, &refusal) && asJSON {
		for _, f := range refusal.Faults {
			result.Faults = append(result.Faults, configFault{f.Line, f.Table, f.Key, f.Msg, f.Fix})
		}
		if err := c.printJSON(result); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	entries, err := store.List()
	if err != nil {
		return err
	}
	result.OK = true
	result.hold(loaded)
	result.Secrets = append(result.Secrets, c.secretsOf(loaded, entries)...)
	result.Warnings = append(result.Warnings, configWarnings(loaded, result.Secrets, entries)...)
	for _, warning := range result.Warnings {
		c.errorf("%s\n", escape.Line(warning))
	}
	if asJSON {
		return c.printJSON(result)
	}
	return c.printf("%s", result.text())
}

// hold fills in what holds but for the secrets.
func (r *configResult) hold(c config.Config) {
	egress := &configEgress{Roots: []configRoot{}, Resolve: []configRoute{}, Private: append([]string{}, c.Egress.Private...)}
	for _, root := range c.Egress.Roots {
		egress.Roots = append(egress.Roots, configRoot{root.Subject.String(), root.NotAfter.UTC().Format(time.RFC3339)})
	}
	for _, route := range c.Egress.Resolve {
		egress.Resolve = append(egress.Resolve, configRoute{route.Host, route.Port, route.Address.String()})
	}
	if c.Egress.Proxy != nil {
		egress.Proxy = c.Egress.Proxy.String()
	}
	r.Egress = egress
	r.Ceilings = &configCeilings{c.Ceilings.MaxResponseBytes, c.Ceilings.Timeout.Milliseconds()}
}

// text is what holds for people, escaped.
func (r configResult) text() string {
	var p page
	path := escape.Line(r.Path)
	if !r.Found {
		path += " is not there: the defaults hold"
	}
	p.row("file", path)
	var roots, routes []string
	for _, root := range r.Egress.Roots {
		roots = append(roots, fmt.Sprintf("%s, until %s", escape.Line(root.Subject), root.NotAfter))
	}
	for _, route := range r.Egress.Resolve {
		routes = append(routes, fmt.Sprintf("%s:%d at %s", escape.Line(route.Host), route.Port, route.Address))
	}
	p.row("roots", append([]string{"the system's"}, roots...)...)
	p.row("resolve", orNoneLines(routes)...)
	p.row("private", orNone(r.Egress.Private))
	proxy := "none"
	if r.Egress.Proxy != "" {
		proxy = escape.Line(r.Egress.Proxy)
	}
	p.row("proxy", proxy)
	p.row("ceilings", bytesText(r.Ceilings.MaxResponseBytes)+" a response",
		(time.Duration(r.Ceilings.TimeoutMS)*time.Millisecond).String()+" an invocation")
	var rows [][]string
	for _, secret := range r.Secrets {
		rows = append(rows, secret.cells())
	}
	var secrets strings.Builder
	table(&secrets, rows)
	p.row("secrets", orNoneLines(strings.FieldsFunc(secrets.String(), func(r rune) bool { return r == '\n' }))...)
	return p.String()
}
