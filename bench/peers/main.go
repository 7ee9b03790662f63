// Command peers calls a tool that gives its arguments back through other people's ways to run a plugin: go-plugin over
// gRPC, and the Model Context Protocol over standard streams. Command bench of the module above starts it beside a session of
// loomext and lets the two take turns; what is told is the time of a call.
//
// It is a module of its own, so that what the peers depend on is no dependency of loomext, and it imports nothing of loomext.
//
// Each peer is used as its own documentation shows, with what it offers to be fast: no TLS, no log, no schema checked at the far
// end, and for gRPC a message that is nothing but the bytes. The far end is this program again, started by the peer's own client.
//
// Invariants: one batch is under way at a time, and nothing is written to standard output but one number for each line that was
// read, the nanoseconds of one call. It ends with its standard input.
//
//	peers go-plugin|mcp LEADIN BATCH ARGUMENTS
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// The peers, and the roles of their far ends.
const (
	peerGoPlugin   = "go-plugin"
	peerMCP        = "mcp"
	serverGoPlugin = "go-plugin-server"
	serverMCP      = "mcp-server"
)

// tool is the name of the one tool.
const tool = "echo"

// peer is a client with its far end running.
type peer interface {
	// call sends the text and returns what came back.
	call(ctx context.Context, text string) (string, error)
	close() error
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 1 {
		switch args[0] {
		case serverGoPlugin:
			serveGoPlugin()
			return nil
		case serverMCP:
			return serveMCP(ctx)
		}
	}
	if len(args) != 4 {
		return errors.New("want a peer, two numbers and the arguments of the tool; command bench knows them")
	}
	leadIn, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	batch, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	if leadIn < 0 || batch < 1 {
		return fmt.Errorf("%d calls to lead in and %d to count; want at least 0 and 1", leadIn, batch)
	}
	p, err := open(ctx, args[0])
	if err != nil {
		return err
	}
	return errors.Join(serve(ctx, p, leadIn, batch, args[3], in, out), p.close())
}

func open(ctx context.Context, name string) (peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	switch name {
	case peerGoPlugin:
		return openGoPlugin(self)
	case peerMCP:
		return openMCP(ctx, self)
	}
	return nil, fmt.Errorf("no peer %q", name)
}

// serve does a batch for each line of in, and writes how long one call of it took, in nanoseconds.
func serve(ctx context.Context, p peer, leadIn, batch int, text string, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var start time.Time
		for i := -leadIn; i < batch; i++ {
			if i == 0 {
				start = time.Now()
			}
			back, err := p.call(ctx, text)
			if err != nil {
				return err
			}
			if len(back) != len(text) {
				return fmt.Errorf("%d bytes came back of %d", len(back), len(text))
			}
		}
		if _, err := fmt.Fprintln(out, (time.Since(start) / time.Duration(batch)).Nanoseconds()); err != nil {
			return err
		}
	}
	return lines.Err()
}
