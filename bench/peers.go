package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/loomext/loomext/config"
)

const (
	rolePeer = "peer"

	// The peers as the program of bench/peers knows them.
	peerGoPlugin = "go-plugin"
	peerMCP      = "mcp"

	goPluginLimit = 3.0
	mcpLimit      = 5.0

	// A batch of a peer is about as long as one of ours where it can be, and a few calls where one alone is longer.
	goPluginBatch, goPluginRounds = 10, 800
	mcpBatch, mcpRounds           = 4, 300
)

func goPluginCall(ctx context.Context, b *bed) (row, error) {
	return peerCall(ctx, b, peerGoPlugin, goPluginBatch, goPluginRounds, least(goPluginLimit))
}

func mcpCall(ctx context.Context, b *bed) (row, error) {
	return peerCall(ctx, b, peerMCP, mcpBatch, mcpRounds, least(mcpLimit))
}

// peerCall is a call through somebody else's way to run a plugin against one through a session.
func peerCall(ctx context.Context, b *bed, name string, batch, rounds int, limit bound) (row, error) {
	program, err := b.buildPeers(ctx)
	if errors.Is(err, errNoModules) {
		return unmetRow(limit, "needs the modules of bench/peers; run go mod download there"), nil
	}
	if err != nil {
		return row{}, err
	}
	args := []string{b.path("home"), program, name, strconv.Itoa(batch), strconv.Itoa(rounds)}
	alone, s, err := onBoth(ctx, rolePeer, args)
	if err != nil {
		return row{}, err
	}
	note := fmt.Sprintf("%s; %.2f where all share one core: %s", behind(s), alone.ratio(), behind(alone))
	return ratioRow(s, limit, note), nil
}

// onBoth takes a sample on one core and one on two.
func onBoth(ctx context.Context, role string, args []string) (one, two sample, err error) {
	if err = inChild(ctx, twoCores, role, &two, args...); err != nil {
		return one, two, err
	}
	err = inChild(ctx, oneCore, role, &one, args...)
	return one, two, err
}

// errNoModules says that what the peers are made of is neither here nor to be had.
var errNoModules = errors.New("no modules")

// buildPeers builds the program of the module bench/peers, with the user's own go settings.
func (b *bed) buildPeers(ctx context.Context) (string, error) {
	dir, to := filepath.Join(b.module, "bench/peers"), b.path("peers")
	list := exec.CommandContext(ctx, b.toolchain.Go, "list", "-deps", ".")
	list.Dir = dir
	if err := quietly(list); err != nil {
		say(err.Error())
		return "", errNoModules
	}
	build := exec.CommandContext(ctx, b.toolchain.Go, "build", "-trimpath", "-ldflags=-s -w", "-o", to, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	return to, quietly(build)
}

// takePeer is the pinned child's part. The peer is the slower one, so the session is the floor.
func takePeer(ctx context.Context, args []string) (_ sample, err error) {
	if len(args) != 5 {
		return sample{}, errors.New("want a home, the program of the peers, a peer, and how many calls in how many rounds")
	}
	batch, err := strconv.Atoi(args[3])
	if err != nil {
		return sample{}, err
	}
	rounds, err := strconv.Atoi(args[4])
	if err != nil {
		return sample{}, err
	}
	text := jsonText(smallArgs)
	p, err := startPeer(ctx, args[1], args[2], batch, text)
	if err != nil {
		return sample{}, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	h, err := openHosted(ctx, args[0], config.Default(), echoExtension)
	if err != nil {
		return sample{}, err
	}
	defer h.close()
	return compare(ctx, rounds, batches(smallBatch, h.echo(ctx, text)), p.batch)
}

// peer is the program of the peers with one of them open. It does a batch when it is told to.
type peer struct {
	child *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
}

func startPeer(ctx context.Context, program, name string, batch int, text []byte) (*peer, error) {
	p := &peer{child: exec.CommandContext(ctx, program, name, strconv.Itoa(leadIn), strconv.Itoa(batch), string(text))}
	p.child.Stderr = os.Stderr
	out, err := p.child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if p.in, err = p.child.StdinPipe(); err != nil {
		return nil, err
	}
	return p, p.child.Start()
}

// batch is an op.
func (p *peer) batch(context.Context) (time.Duration, error) {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return 0, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the peer said %.100q", line)
	}
	return time.Duration(n), nil
}

func (p *peer) close() error { return errors.Join(p.in.Close(), p.child.Wait()) }
