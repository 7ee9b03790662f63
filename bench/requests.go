package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/loomext/loomext/broker"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/manifest"
)

const (
	roleRequest = "request"

	requestLimit = 1.25

	requestBatch, requestRounds = 4, 800

	capRequest = "net.request"
	capNet     = "net"
)

// requestFound is what a request takes in three ways, each against the same by net/http.
type requestFound struct {
	Served sample // by the broker
	Called sample // by a tool, its capability call included
	Echoed sample // by net/http, after an echo of the bytes of such a call over a net.UnixConn
}

// request is a request that the broker serves against the same by net/http. Beside it stands what it takes as a tool sees it, with
// a process more between, and what the bytes to and from such a process cost alone.
func request(ctx context.Context, b *bed) (row, error) {
	var f requestFound
	if err := inChild(ctx, oneCore, roleRequest, &f, b.path("home"), b.netecho); err != nil {
		return row{}, err
	}
	note := fmt.Sprintf("%s; as a tool calls it %.2f: %s; by net/http after an echo over net.UnixConn %.2f",
		behind(f.Served), f.Called.ratio(), behind(f.Called), f.Echoed.ratio())
	return ratioRow(f.Served, most(requestLimit), note), nil
}

func takeRequest(ctx context.Context, args []string) (f requestFound, err error) {
	if len(args) != 2 {
		return f, errors.New("want a home and an echo")
	}
	o, err := startOrigin(ctx)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	plain := o.client()
	defer plain.CloseIdleConnections()
	get := func() error { return o.get(ctx, plain) }
	against := func(ours op) (sample, error) {
		return compare(ctx, requestRounds, batches(requestBatch, get), ours)
	}

	served, err := broker.New(broker.Options{Config: o.config()})
	if err != nil {
		return f, err
	}
	defer served.Close()
	scope := served.Open(originTerms(), "bench")
	if f.Served, err = against(batches(requestBatch, func() error { return serve(ctx, scope) })); err != nil {
		return f, err
	}

	h, err := openHosted(ctx, args[0], o.config(), callerExtension)
	if err != nil {
		return f, err
	}
	defer h.close()
	if f.Called, err = against(perEffect(requestBatch, h.caller(ctx, fetchTool))); err != nil {
		return f, err
	}

	echo, err := echoOfRequest(ctx, args[1])
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, echo.close()) }()
	f.Echoed, err = against(batches(requestBatch, func() error { return errors.Join(echo.trip(), get()) }))
	return f, err
}

// originTerms are those of the caller extension's manifest.
func originTerms() broker.Terms {
	return broker.Terms{
		Extension: callerExtension, Requested: []string{capNet}, Granted: []string{capNet},
		Net: &manifest.Net{
			Hosts: []string{originHost}, Methods: []string{http.MethodGet},
			MaxResponseBytes: manifest.DefaultMaxResponseBytes, RequestsPerCall: manifest.DefaultRequestsPerCall,
		},
	}
}

// serve is one invocation that makes one request.
func serve(ctx context.Context, scope *broker.Scope) error {
	invocation := scope.Begin(nil, nil)
	defer invocation.End()
	result := invocation.Serve(ctx, capRequest, requestArgs())
	if !result.OK {
		return result.Fault
	}
	body, _ := result.Value.Get("body")
	if text, _ := body.AsBin(); len(text) != originSize {
		return fmt.Errorf("%d bytes", len(text))
	}
	return nil
}

func requestArgs() wire.Value {
	return wire.Map(
		wire.Field{Key: "method", Value: wire.String(http.MethodGet)},
		wire.Field{Key: "url", Value: wire.String(originURL)},
		wire.Field{Key: "headers", Value: wire.Map()},
		wire.Field{Key: "body", Value: wire.Bin(nil)},
	)
}

// echoOfRequest has frames of the lengths of the fetch tool's cap_call and its cap_result, but for some bytes of headers.
func echoOfRequest(ctx context.Context, program string) (*echo, error) {
	call, err := wire.AppendCapCall(nil, 1, wire.CapCall{
		Token: make([]byte, wire.TokenLen), Cap: capRequest, Args: requestArgs(), DeadlineMS: callerTime.Milliseconds(),
	})
	if err != nil {
		return nil, err
	}
	answer, err := wire.AppendResult(nil, wire.KindCapResult, 1, wire.Result{OK: true, Value: wire.Map(
		wire.Field{Key: "status", Value: wire.Int(http.StatusOK)},
		wire.Field{Key: "headers", Value: wire.Map(wire.Field{Key: "Content-Type", Value: wire.String(originType)})},
		wire.Field{Key: "body", Value: wire.Bin(make([]byte, originSize))},
	)})
	if err != nil {
		return nil, err
	}
	return newEcho(ctx, program, call, len(answer))
}
