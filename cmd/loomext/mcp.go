package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
)

// mcpOptions are the flags of a server.
type mcpOptions struct {
	only, except []string
	warm         bool
	http         mcpHTTP
	client       string // whose configuration is printed, in place of serving
	asJSON       bool
}

// mcpParting is what a client has to take the last answers after a signal. Whoever does not
// read its pipe cannot be waited for: a write into it cannot be called off.
const mcpParting = 2 * time.Second

func (c *cli) mcpCommand() *cobra.Command {
	var o mcpOptions
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the installed tools to a client of the Model Context Protocol",
		Long: `mcp serves the tools, prompts and resources of everything that is installed to a client of
the Model Context Protocol: over standard input and output, for a client that starts it, or
over Streamable HTTP with --http.

The list of tools comes from the install records; a satellite starts with the first call of
its extension, or ahead of need with --warm. What is installed or removed while it runs is
noticed, and clients are told. Two extensions with a tool of one name have it served as
<extension>__<tool>; loomext list says so.

--print-config prints the entry of a client's configuration that starts this program, or with
--http one that connects to it.

Over HTTP a client sends a bearer token: that of the environment variable that --token-env
names, or one that is made for this run and printed on standard error. Addresses other than
loopback need --allow-remote. The protocol is served at /mcp.

Standard output carries the protocol and nothing else. The server ends with its input, or
with SIGINT or SIGTERM, and leaves no satellite.

Exit statuses: 0 the client, or a signal, ended it; 2 usage, which includes an address that
cannot be listened on; 9 config.toml is at fault; 16 the store cannot be read.
See "loomext help exitcodes".`,
		Example: `  loomext mcp --print-config claude > .mcp.json
  loomext mcp --only units --warm
  loomext mcp --http 8383 --token-env LOOMEXT_TOKEN
  loomext mcp --print-config claude --http 8383 --token-env LOOMEXT_TOKEN`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.addBestEffort(cmd)
	c.addSession(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&o.only, "only", nil, "serve only these: extensions, or tools as extension__tool (a comma list; repeatable)")
	flags.StringArrayVar(&o.except, "except", nil, "do not serve these (likewise)")
	flags.BoolVar(&o.warm, "warm", false, "start the satellites at once, not with their first call")
	flags.StringVar(&o.client, "print-config", "", "print the configuration entry of a client, for this program or with --http for its address: "+strings.Join(mcpClientNames(), ", "))
	flags.BoolVar(&o.asJSON, "json", false, "with --print-config: print the entry and where it belongs as JSON")
	o.http.addFlags(flags)
	must(cmd.RegisterFlagCompletionFunc("only", c.completeOffered))
	must(cmd.RegisterFlagCompletionFunc("except", c.completeOffered))
	must(cmd.RegisterFlagCompletionFunc("print-config", cobra.FixedCompletions(mcpClientNames(), cobra.ShellCompDirectiveNoFileComp)))
	for _, name := range []string{"http", "token-env"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	cmd.RunE = ran(func(cmd *cobra.Command, _ []string) error {
		if err := errors.Join(c.checkSession(cmd), o.settle(cmd)); err != nil {
			return err
		}
		if o.client != "" {
			return c.printMCPConfig(o)
		}
		return c.mcp(cmd.Context(), o)
	})
	return cmd
}

// settle checks the flags against each other.
func (o *mcpOptions) settle(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	for _, flag := range []struct {
		name string
		list *[]string
	}{{"only", &o.only}, {"except", &o.except}} {
		if !changed(flag.name) {
			continue
		}
		list := flag.list
		if *list = commaList(strings.Join(*list, ",")); len(*list) == 0 {
			return usagef("--%s names nothing; name extensions, or tools as extension__tool, or leave it out", flag.name)
		}
		for _, name := range *list {
			if !mcp.IsChoice(name) {
				return usagef("--%s %q can be the name of no extension and no tool; give an extension's name, or extension__tool", flag.name, name)
			}
		}
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	switch {
	case changed("print-config") && !slices.Contains(mcpClientNames(), o.client):
		return usagef("--print-config %q: no client of that name is known; it is one of %s", o.client, strings.Join(mcpClientNames(), ", "))
	case o.asJSON && !changed("print-config"):
		return usagef("--json goes with --print-config; a server's standard output is the protocol's")
	}
	if changed("print-config") {
		if err := o.http.connectable(); err != nil {
			return err
		}
	}
	if err := o.http.settle(changed); err != nil || !changed("print-config") {
		return err
	}
	return o.http.settleEntry()
}

// mcp serves until the client or a signal ends it.
func (c *cli) mcp(ctx context.Context, o mcpOptions) error {
	out := c.out
	if !o.http.serves() {
		var err error
		if out, err = c.takeOutput(); err != nil {
			return err
		}
	}
	store, err := c.store()
	if err != nil {
		return err
	}
	if info, err := os.Stat(store.Home()); err == nil && !info.IsDir() {
		if _, err := store.List(); err != nil { // before the configuration in it is at fault
			return err
		}
	}
	reports := c.newReports() // whoever does not read standard error holds up no call
	c.reports = reports
	defer reports.end()
	defer unhurriedCollector()()
	broken := &brokenTold{c: c}
	defer c.adviseLater(store, o, broken)()
	if c.jail.BestEffort {
		c.noteJail(jail.Inspect())
	}
	logger := slog.New(servedWarnings{warnings{c: c}, broken})
	h, err := host.New(host.Options{Home: store.Home(), Jail: c.jail, Logger: logger})
	if err != nil {
		return err
	}
	defer h.Close()
	recording, endRecord, err := c.openRecord()
	if err != nil {
		return err
	}
	defer endRecord()
	bridged := mcp.Options{
		Only: o.only, Except: o.except, Version: host.Version(), Logger: logger, Warm: o.warm,
		Workspace: c.session.workspace, Record: recording,
	}
	if o.http.serves() {
		return c.serveHTTP(ctx, h, bridged, o.http)
	}
	return c.serveStdio(ctx, h, bridged, out)
}

const (
	// starting is how long a server is thought to be starting: until then a client waits for
	// its list of tools, and what else there is to do waits.
	starting = time.Second
	// startingMemory is what a server may use meanwhile before garbage is collected.
	startingMemory = 256 << 20
	// collectAt is how much of what is in use is to come on top of it before garbage is collected, in percent. A server has
	// some megabytes in use, and the SDK drops as much with a few hundred messages: at the usual 100 a call takes a
	// third longer.
	collectAt    = 400
	usualPercent = 100 // of the Go runtime
)

// unhurriedCollector has the garbage collector wait while the server starts. Its first rounds would come while the records
// of all that is installed are read, and cost as much time as reading them. Later it comes less often than usual. What it gives ends the
// start.
func unhurriedCollector() (end func()) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(startingMemory)
	usual := sync.OnceFunc(func() {
		if percent == usualPercent {
			percent = collectAt // nobody has said otherwise
		}
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	timer := time.AfterFunc(starting, usual)
	return func() {
		timer.Stop()
		usual()
	}
}

// adviseLater gives the operator advice when the server has started, or when it ends before.
func (c *cli) adviseLater(store *install.Store, o mcpOptions, broken *brokenTold) (end func()) {
	ended := make(chan struct{})
	var advice sync.WaitGroup
	advice.Go(func() {
		select {
		case <-time.After(starting):
		case <-ended:
		}
		c.adviseMCP(store, o, broken)
	})
	return func() {
		close(ended)
		advice.Wait()
	}
}

// takeOutput gives standard output to the protocol. What anything else in this process
// prints there from now on goes to standard error.
func (c *cli) takeOutput() (io.Writer, error) {
	own := c.out
	c.out = c.err
	if own != io.Writer(os.Stdout) {
		return own, nil
	}
	return takeStdout()
}

// serveStdio serves the client that started this program.
func (c *cli) serveStdio(ctx context.Context, h *host.Host, o mcp.Options, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in := c.in
	if f, ok := in.(*os.File); ok {
		if isTerminal(f) {
			c.tell("mcp: this speaks the Model Context Protocol, one message a line, to a client that starts it; " +
				"loomext mcp --print-config " + strings.Join(mcpClientNames(), "|") + " prints a client's entry for it")
		}
		waiting, err := newInput(ctx, f)
		if err != nil {
			return err
		}
		defer waiting.Close()
		in = waiting
	}
	bridge, err := mcp.New(h, o)
	if err != nil {
		return err
	}
	defer bridge.Close()
	served := make(chan error, 1)
	go func() { served <- bridge.Serve(ctx, &mcp.Lines{In: in, Out: out, Logger: o.Logger}) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		bridge.Close() // its calls end, and their answers go out
		select {
		case <-served:
		case <-time.After(mcpParting):
		}
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, syscall.EPIPE) {
		return nil // a client that is gone has no use for a status
	}
	return err
}
