package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/broker/workspace"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/manifest"
)

// configResult is what config check --json prints. docs/cli.md describes it. Where there are
// faults nothing is in force: egress, ceilings, hooks and work are null, and the lists are empty.
type configResult struct {
	OK       bool            `json:"ok"`
	Path     string          `json:"path"`
	Found    bool            `json:"found"`
	Egress   *configEgress   `json:"egress"`
	Ceilings *configCeilings `json:"ceilings"`
	Hooks    *configHooks    `json:"hooks"`
	Work     *configWork     `json:"work"`
	Gates    []configGate    `json:"gates"`
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

// configWork is what holds for the workspaces of sessions and the commands in them.
type configWork struct {
	Protected []string `json:"protected"` // beside what always is
	Readable  []string `json:"readable"`
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

type configHooks struct {
	Order      []string         `json:"order"`
	DeadlineMS map[string]int64 `json:"deadline_ms"` // of every event
}

// configGate is an extension whose gate was set, or that is installed and has one.
type configGate struct {
	Extension string `json:"extension"`
	Gate      string `json:"gate"`
	Installed bool   `json:"installed"` // with a hook for tool_call
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
network, what its own ceilings are, where secrets come from, and how hooks are asked. docs/config.md describes it.

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
		Path: filepath.Join(store.Home(), config.FileName), Gates: []configGate{}, Secrets: []configSecret{}, Warnings: []string{}, Faults: []configFault{},
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
	result.Gates = append(result.Gates, gatesOf(loaded, entries)...)
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
	r.Work = &configWork{Protected: append([]string{}, c.Workspace.Protected...), Readable: append([]string{}, c.Proc.Readable...)}
	r.Hooks = &configHooks{Order: append([]string{}, c.Hooks.Order...), DeadlineMS: map[string]int64{}}
	for _, event := range manifest.Events() {
		r.Hooks.DeadlineMS[event] = cmp.Or(c.Hooks.Deadline[event], hookbus.DefaultDeadline).Milliseconds()
	}
}

// gatesOf are the gates that were set and those that are installed, by the name of their
// extension.
func gatesOf(c config.Config, entries []install.Entry) []configGate {
	installed := map[string]bool{}
	for name := range c.Extensions {
		installed[name] = false
	}
	for _, entry := range entries {
		if entry.Err == nil && slices.Contains(entry.Record.Events(), eventToolCall) {
			installed[entry.Name] = true
		}
	}
	var gates []configGate
	for _, name := range slices.Sorted(maps.Keys(installed)) {
		gates = append(gates, configGate{name, string(gateOf(c, name)), installed[name]})
	}
	return gates
}

// gateOf is the setting of an extension's gate.
func gateOf(c config.Config, name string) hookbus.Gate {
	if c.Extensions[name].Gate == string(hookbus.Open) {
		return hookbus.Open
	}
	return hookbus.Closed
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
	rest := "by name"
	if len(r.Hooks.Order) > 0 {
		rest = "the others by name"
	}
	p.row("load order", append(append([]string{}, r.Hooks.Order...), rest)...)
	p.row("deadlines", deadlineLines(r.Hooks.DeadlineMS)...)
	p.row("protected", append([]string{strings.Join(workspace.Protected(), ", ")}, escaped(r.Work.Protected)...)...)
	p.row("readable", append([]string{"the system's programs"}, escaped(r.Work.Readable)...)...)
	var gates []string
	for _, gate := range r.Gates {
		line := escape.Line(gate.Extension) + " is " + gate.Gate
		if !gate.Installed {
			line += ", and not installed with a gate"
		}
		gates = append(gates, line)
	}
	p.row("gates", orNoneLines(gates)...)
	var rows [][]string
	for _, secret := range r.Secrets {
		rows = append(rows, secret.cells())
	}
	var secrets strings.Builder
	table(&secrets, rows)
	p.row("secrets", orNoneLines(strings.FieldsFunc(secrets.String(), func(r rune) bool { return r == '\n' }))...)
	return p.String()
}

func escaped(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = escape.Line(line)
	}
	return out
}

// deadlineLines has the usual time of an answer, and the events that have another.
func deadlineLines(ms map[string]int64) []string {
	lines := []string{hookbus.DefaultDeadline.String() + " an answer of a hook"}
	for _, event := range manifest.Events() {
		if own := time.Duration(ms[event]) * time.Millisecond; own != hookbus.DefaultDeadline {
			lines = append(lines, own.String()+" of "+event)
		}
	}
	return lines
}
