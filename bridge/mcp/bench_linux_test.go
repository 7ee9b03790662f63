package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/livetest"
)

// The revisions that are served: the last with a handshake, and the first without.
const (
	handshake = "2025-11-25"
	stateless = "2026-07-28"
)

// revisions runs a test with a client of each.
func revisions(t *testing.T, test func(t *testing.T, revision string)) {
	for _, revision := range []string{handshake, stateless} {
		t.Run(revision, func(t *testing.T) { test(t, revision) })
	}
}

// side is one bridge on a store, with all that it logs.
type side struct {
	*mcp.Bridge
	host *host.Host
	log  *safeBuffer
}

type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// open is a bridge on the home of desk and twin.
func open(t *testing.T, o mcp.Options) *side {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	home, err := deskHome()
	if err != nil {
		t.Fatal(err)
	}
	return openAt(t, home, o)
}

// openAt is a bridge that is closed with the test, and leaves no satellite then.
func openAt(t *testing.T, home string, o mcp.Options) *side {
	t.Helper()
	usual := config.Default()
	h, err := host.New(host.Options{Home: home, Config: &usual})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	s := &side{host: h, log: &safeBuffer{}}
	o.Logger = slog.New(slog.NewTextHandler(s.log, nil))
	o.Version = "1.2.3"
	if s.Bridge, err = mcp.New(h, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pids := s.pids()
		s.Close()
		for _, pid := range pids {
			if livetest.Running(pid) {
				t.Errorf("satellite %d lives on", pid)
			}
		}
	})
	return s
}

func (s *side) pids() []int {
	var pids []int
	for _, st := range s.Session().Status() {
		if st.PID != 0 {
			pids = append(pids, st.PID)
		}
	}
	return pids
}

// peer is a client of the SDK's at the other end of a connection.
type peer struct {
	*sdk.ClientSession
	t      *testing.T
	served chan error // what Serve gave
	end    context.CancelFunc
}

// connect serves one client. Its end is that of the test, or earlier.
func (s *side) connect(t *testing.T, revision string, o sdk.ClientOptions) *peer {
	t.Helper()
	near, far := sdk.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	p := &peer{t: t, served: make(chan error, 1), end: cancel}
	go func() { p.served <- s.Serve(ctx, near) }()
	var err error
	p.ClientSession, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &o).
		Connect(context.Background(), far, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.ClientSession.Close()
		cancel()
		<-p.served
	})
	return p
}

// plain is a client of a bridge of its own that handles nothing.
func plain(t *testing.T, revision string) *peer {
	t.Helper()
	return open(t, mcp.Options{Only: []string{"desk"}}).connect(t, revision, sdk.ClientOptions{})
}

// args are the arguments of desk's do, key and value by turns.
func args(op string, rest ...any) map[string]any {
	all := map[string]any{"op": op}
	for i := 0; i < len(rest); i += 2 {
		all[rest[i].(string)] = rest[i+1]
	}
	return all
}

func (p *peer) call(tool string, arguments any) *sdk.CallToolResult {
	p.t.Helper()
	result, err := p.CallTool(p.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		p.t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	return result
}

// said is the text of a result that is one.
func (p *peer) said(tool string, arguments any) string {
	p.t.Helper()
	result := p.call(tool, arguments)
	if result.IsError {
		p.t.Fatalf("%s %v: %s", tool, arguments, text(result))
	}
	return text(result)
}

// fails is the text of a result that is an error of a code.
func (p *peer) fails(tool string, arguments any, code string) string {
	p.t.Helper()
	result := p.call(tool, arguments)
	if !result.IsError || result.Meta["loomext/code"] != code || result.Meta["loomext/extension"] == nil {
		p.t.Fatalf("%s %v: %v, %v: %s; want an error of code %s", tool, arguments, result.IsError, result.Meta, text(result), code)
	}
	return text(result)
}

func text(result *sdk.CallToolResult) string {
	var lines []string
	for _, c := range result.Content {
		if block, ok := c.(*sdk.TextContent); ok {
			lines = append(lines, block.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// names are those of the tools that a client finds.
func (p *peer) names() []string {
	p.t.Helper()
	var names []string
	for tool, err := range p.Tools(p.t.Context(), nil) {
		if err != nil {
			p.t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// rpc is an error of JSON-RPC, of a code.
func rpc(t *testing.T, err error, code int64) *jsonrpc.Error {
	t.Helper()
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("%v, want an error of JSON-RPC with code %d", err, code)
	}
	return e
}

// heard collects what comes by notifications.
type heard[T any] struct {
	mu  sync.Mutex
	all []T
}

func (h *heard[T]) add(one T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, one)
}

func (h *heard[T]) list() []T {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// within runs what must not take longer.
func within(t *testing.T, most time.Duration, what string, run func()) {
	t.Helper()
	began := time.Now()
	run()
	if took := time.Since(began); took > most {
		t.Errorf("%s took %s, and may take %s", what, took, most)
	}
}
