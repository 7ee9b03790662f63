package mcp

import (
	"context"
	"log/slog"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/host"
)

// Options are how a bridge serves.
type Options struct {
	// Only and Except choose what is served: names of extensions, or of one tool as
	// <extension>__<tool>. An empty Only is all.
	Only, Except []string
	// Version is that of loomext, which clients are told.
	Version string
	// Logger is told what happens here. Nil logs nothing.
	Logger *slog.Logger
	// Warm starts the satellites ahead of need.
	Warm bool
}

// Bridge is one session of a host, as a server of the protocol.
type Bridge struct {
	server *sdk.Server
}

// New opens a session of the host and a server for it.
func New(h *host.Host, o Options) (*Bridge, error) {
	return &Bridge{server: sdk.NewServer(&sdk.Implementation{Name: "loomext", Version: o.Version}, nil)}, nil
}

// Server is the server, for a handler of HTTP.
func (b *Bridge) Server() *sdk.Server { return b.server }

// Serve serves one connection until its end or that of ctx. [Bridge.Close] is the
// caller's.
func (b *Bridge) Serve(ctx context.Context, t sdk.Transport) error {
	return b.server.Run(ctx, t)
}

// Close leaves no satellite and no goroutine of the bridge.
func (b *Bridge) Close() {}
