// Command loomext installs extensions of agent harnesses, runs their tools and proves what
// is installed.
//
// Each command is one file: flags in, one call into the rooms below, output out. Standard
// output carries results and nothing else; the approval, progress, warnings and errors go to
// standard error. docs/cli.md describes every command, every JSON shape and every exit status.
//
// Invariants:
//
//   - Nothing is written outside the home and the build cache.
//   - No byte of an extension's text acts on a terminal: it is escaped first.
//   - A signal ends a command through its context, so that what it started ends with it.
package main

import (
	"os"

	"github.com/loomext/loomext/jail"
)

func main() {
	jail.Main() // a jailed child starts as this program and must not get further than here
	os.Exit(mainStatus())
}

// mainStatus runs one command against the process's own streams and signals.
func mainStatus() int {
	ctx, stop := withSignals()
	defer stop()
	return run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv})
}
