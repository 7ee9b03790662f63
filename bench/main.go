// Command bench measures what loomext costs over doing without it, and prints a table of ratios against their limits.
//
// A figure is a ratio because the machine is not part of what is judged. What is measured and what it is measured against
// (the floor) take turns, twice in a round, so that both meet the same machine. Both are told as medians, and the second floor
// of the rounds divided by the first stands beside them: a run in which the two floors disagree by more than 5 % is void and
// repeated, and a figure that stays void is printed as that.
//
// The program is no test and no profiler: it builds loomext from the working tree, installs the extensions of testdata into
// a home and a cache of its own, and ends with status 0 whatever it found, unless -check is given. It writes nothing outside a
// temporary directory but the file that -out names.
// What loomext is held against and depends on other modules is the program of bench/peers, a module of its own; figures that need it
// are not measured where its modules cannot be had.
//
//	go run ./bench [-out FILE] [-only WORD] [-check]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/loomext/loomext/jail"
)

// Exit statuses.
const (
	exitFine  = 0
	exitFault = 1
	exitUsage = 2
	exitOver  = 1 // with -check: a figure is over its limit, void or without proof
)

func main() {
	jail.Main()
	os.Exit(run())
}

func run() int {
	out := flag.String("out", "", "write the table and how it was made to this `file`, as Markdown")
	only := flag.String("only", "", "measure only the figures whose name has this `word`")
	check := flag.Bool("check", false, "end with status 1 when a figure is over its limit or void")
	role := flag.String("role", "", "what the program does when it starts itself; not for people")
	cores := flag.Int("cores", oneCore, "on how many cores; not for people")
	flag.Parse()
	if runtime.GOOS != "linux" {
		fmt.Fprintf(os.Stderr, "bench: no satellite runs on %s, so there is nothing to measure; run it on Linux\n", runtime.GOOS)
		return exitFault
	}
	if err := closeInherited(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return exitFault
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch *role {
	case "":
	case roleIdle:
		return serveIdle(ctx, flag.Args())
	case roleOrigin:
		return serveOrigin(ctx)
	default:
		return servePinned(ctx, *role, *cores, flag.Args())
	}
	if flag.NArg() > 0 {
		flag.Usage()
		return exitUsage
	}
	rows, err := measure(ctx, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return exitFault
	}
	fmt.Print(table(rows))
	if *out != "" {
		text := document(rows, machine(), time.Now())
		if err := os.WriteFile(*out, []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			return exitFault
		}
	}
	if *check && !allHold(rows) {
		return exitOver
	}
	return exitFine
}

// measure makes every figure that is asked for, in the order of the table.
func measure(ctx context.Context, only string) ([]row, error) {
	say("build loomext, the floors and the extensions")
	b, err := newBed(ctx)
	if err != nil {
		return nil, err
	}
	defer b.remove()
	figures := []struct {
		name  string
		taken func(context.Context, *bed) (row, error)
	}{
		{"warm install of a changed one-tool extension ÷ bare go build of the same root", changedInstall},
		{"reinstall of an unchanged tree", unchangedInstall},
		{"satellite started to first answer, unjailed ÷ fork+exec of a static program that answers one frame", firstAnswer},
		{"jailed start to first answer ÷ unjailed", jailedStart},
		{"jailed start to first answer ÷ bubblewrap around the same program", wrappedStart},
		{"tool call, 1 KiB of arguments ÷ the same bytes over net.UnixConn, one core", smallCall},
		{"tool call, 64 KiB of arguments ÷ the same bytes over net.UnixConn + one json.Valid, one core", largeCall},
		{"tool call, 1 KiB of arguments, jailed ÷ unjailed, one core", jailedTrip},
		{"first call of a satellite that was started ahead of need ÷ a later call after the same rest, one core", firstCall},
		{"tool call through a session, 1 KiB of arguments ÷ the same bytes over net.UnixConn, one core", sessionCall},
		{"capability call of 1 KiB ÷ the same bytes over net.UnixConn, one core", effect},
		{"go-plugin over gRPC, a call of 1 KiB ÷ tool call through a session, two cores", goPluginCall},
		{"MCP over standard streams, a call of 1 KiB ÷ tool call through a session, two cores", mcpCall},
		{"tool call of an MCP client over standard streams, 1 KiB, by a jailed satellite ÷ by the SDK's own server, one core", mcpServed},
		{"MCP server started to list of tools told, 50 extensions installed ÷ 1", mcpList},
		{"brokered request to a TLS server, 1 KiB ÷ the same by net/http, connections kept, one core", request},
		{"fs.read of 64 KiB by a tool ÷ kv.get of 64 KiB by a tool + the same read by the host, one core", readByTool},
		{"fs.read through 40 components ÷ through 4, one core", deepPath},
		{"proc.run of /bin/true ÷ bubblewrap around /bin/true", runTrue},
		{"tool call with one effect, recorded ÷ not recorded, one core", recorded},
		{"replay of 1,000 tool calls with one effect ÷ the same calls of a satellite, two cores", replayed},
		{"gate over five extensions of which two have the hook ÷ one event round trip, one core", gateOfTwo},
		{"fold of three hooks over 2 MB of messages ÷ three in-process passes that decode and encode them, one core", foldOfThree},
		{"event that no extension has a hook for", undeclared},
		{"failed calls of 200 sessions with two extensions each, on two cores", failedCalls},
		{"memory of a session more, of 100 to 200 ÷ of 50 to 100", growth},
		{"allocations of one hook_call written and its hook_result read on the host", hostAllocations},
		{"artifact of a JSON tool", artifactSize},
		{"resident memory of its idle satellite", idleMemory},
		{"fall of available memory by 1,000 idle satellites", idleCrowd},
	}
	var rows []row
	for _, f := range figures {
		if !strings.Contains(f.name, only) {
			continue
		}
		say(f.name)
		r, err := f.taken(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		r.figure = f.name
		rows = append(rows, r)
	}
	return rows, nil
}

// say tells of progress where no result goes.
func say(what string) { fmt.Fprintln(os.Stderr, "bench: "+what) }
