package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
)

const (
	roleMCPServed = "mcp-served"
	// serverMCP is the far end of the peers' MCP as their program knows it.
	serverMCP = "mcp-server"

	mcpServedLimit  = 1.25
	mcpServedBatch  = 4
	mcpServedRounds = 600

	mcpListLimit  = 1.2
	mcpListRounds = 40
	// mcpCrowd is how many extensions the crowded home has.
	mcpCrowd = 50
)

// mcpServed is a call of a tool by an MCP client over standard streams, answered by loomext's server and a jailed satellite,
// against the same call of a tool inside a server of the SDK.
func mcpServed(ctx context.Context, b *bed) (row, error) {
	program, err := b.buildPeers(ctx)
	if errors.Is(err, errNoModules) {
		return unmetRow(most(mcpServedLimit), "needs the modules of bench/peers; run go mod download there"), nil
	}
	if err != nil {
		return row{}, err
	}
	args := []string{b.loomext, b.path("home"), program}
	s, spread, err := onBoth(ctx, roleMCPServed, args)
	if err != nil {
		return row{}, err
	}
	note := fmt.Sprintf("%s; %.2f on two cores, where one process more has to wake another core: %s", behind(s), spread.ratio(), behind(spread))
	return ratioRow(s, most(mcpServedLimit), note), nil
}

// takeMCPServed is the pinned child's part.
func takeMCPServed(ctx context.Context, args []string) (_ sample, err error) {
	if len(args) != 3 {
		return sample{}, errors.New("want loomext, a home and the program of the peers")
	}
	text := jsonText(smallArgs)
	floor, err := mcpClient(ctx, exec.CommandContext(ctx, args[2], serverMCP))
	if err != nil {
		return sample{}, err
	}
	defer func() { err = errors.Join(err, floor.Close()) }()
	ours, err := mcpClient(ctx, exec.CommandContext(ctx, args[0], "--home", args[1], "mcp", "--warm", "--only", echoExtension))
	if err != nil {
		return sample{}, err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	return compare(ctx, mcpServedRounds, batches(mcpServedBatch, mcpEcho(ctx, floor, text)), batches(mcpServedBatch, mcpEcho(ctx, ours, text)))
}

func mcpClient(ctx context.Context, server *exec.Cmd) (*mcp.ClientSession, error) {
	server.Stderr = os.Stderr
	return mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil).Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
}

// mcpEcho calls the echo tool and wants its arguments back.
func mcpEcho(ctx context.Context, session *mcp.ClientSession, text []byte) func() error {
	return func() error {
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: echoTool, Arguments: json.RawMessage(text)})
		if err != nil {
			return err
		}
		if len(r.Content) == 1 && !r.IsError {
			if block, ok := r.Content[0].(*mcp.TextContent); ok && len(block.Text) == len(text) {
				return nil
			}
		}
		return fmt.Errorf("the tool answered %+v", r)
	}
}

// mcpList is the start of loomext's MCP server up to its list of tools, with many extensions against one.
func mcpList(ctx context.Context, b *bed) (row, error) {
	alone, crowd := b.path("alone"), b.path("crowd")
	var installs errgroup.Group
	installs.SetLimit(twoCores)
	installs.Go(func() error { return b.installEcho(ctx, alone, 0) })
	for i := range mcpCrowd {
		installs.Go(func() error { return b.installEcho(ctx, crowd, i) })
	}
	if err := installs.Wait(); err != nil {
		return row{}, err
	}
	s, err := compare(ctx, mcpListRounds, b.listed(alone, 1), b.listed(crowd, mcpCrowd))
	if err != nil {
		return row{}, err
	}
	return ratioRow(s, most(mcpListLimit), behind(s)), nil
}

// echoNames are the names of the echo extension and of its tool.
var echoNames = regexp.MustCompile(`(?m)^(name\s*=\s*)"` + echoExtension + `"`)

// installEcho installs the echo extension, and its tool, under a name of its own.
func (b *bed) installEcho(ctx context.Context, home string, number int) error {
	name := echoExtension + strconv.Itoa(number)
	source := b.path("sources/" + name + "_of_" + filepath.Base(home))
	if err := os.CopyFS(source, os.DirFS(filepath.Join(b.module, "bench/testdata", echoExtension))); err != nil {
		return err
	}
	file := filepath.Join(source, "extension.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	named := echoNames.ReplaceAll(text, fmt.Appendf(nil, "${1}%q", name))
	if err := os.WriteFile(file, named, 0o600); err != nil {
		return err
	}
	return quietly(b.command(ctx, "--home", home, "install", source, "--yes"))
}

// listed starts the server and is done when it has told its tools. The time is that of the process up to there.
func (b *bed) listed(home string, tools int) op {
	return func(ctx context.Context) (_ time.Duration, err error) {
		cmd := b.command(ctx, "--home", home, "mcp")
		in, err := cmd.StdinPipe()
		if err != nil {
			return 0, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return 0, err
		}
		start := time.Now()
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, in.Close(), cmd.Wait()) }()
		if _, err := io.WriteString(in, askForTools); err != nil {
			return 0, err
		}
		return toldTools(out, tools, start)
	}
}

// askForTools is what a client says first.
const askForTools = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`

// toldTools reads until the list of tools has come.
func toldTools(out io.Reader, want int, start time.Time) (time.Duration, error) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return 0, fmt.Errorf("the server told no tools: %w", err)
		}
		took := time.Since(start)
		var answer struct {
			ID     int
			Result struct{ Tools []json.RawMessage }
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return 0, err
		}
		if answer.ID != 2 {
			continue
		}
		if n := len(answer.Result.Tools); n != want {
			return 0, fmt.Errorf("the server told %d tools and not %d", n, want)
		}
		return took, nil
	}
}
