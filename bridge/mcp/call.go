//lint:file-ignore SA1019 the SDK marks what the protocol gives a year's notice of; clients use it until then

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/host"
)

// client is who sent a request, and what it said of itself with it.
type client struct {
	session   *sdk.ServerSession
	stateless bool                           // the request is of the stateless revision
	can       func() *sdk.ClientCapabilities // what it declared: to be read costs something
	progress  any                            // the token that it wants progress under, or nil
	lines     bool                           // a stateless request that wants printed lines
}

// clientOf reads a request of any method that a tool answers.
func clientOf[P sdk.RequestParams](r *sdk.ServerRequest[P]) client {
	meta := r.Params.GetMeta()
	version, _ := meta[sdk.MetaKeyProtocolVersion].(string)
	level, _ := meta[sdk.MetaKeyLogLevel].(string)
	c := client{session: r.Session, stateless: version >= statelessSince, progress: r.Params.GetProgressToken()}
	c.lines = c.stateless && level != ""
	c.can = func() *sdk.ClientCapabilities {
		if can := r.ClientCapabilities(); can != nil {
			return can
		}
		return &sdk.ClientCapabilities{}
	}
	return c
}

// call is one request that a tool answers.
type call struct {
	client          client
	method          string
	extension, tool string
	args            json.RawMessage
	// What a client of the stateless revision sends with a request that it repeats.
	responses sdk.InputResponseMap
	state     string
}

// answer is what came of a call: an outcome and what was emitted, or what the client is
// to be asked first.
type answer struct {
	outcome host.Outcome
	emitted []emission
	asks    sdk.InputRequestMap
	state   string
}

// call calls the tool. The error is an [*host.Error], or one of JSON-RPC that is the
// answer to the request.
func (b *Bridge) call(ctx context.Context, c call) (answer, error) {
	if args := bytes.TrimSpace(c.args); len(args) == 0 || string(args) == "null" {
		c.args = json.RawMessage("{}")
	}
	ctx, end := b.lasting(ctx)
	defer end()
	running, stop := context.WithCancel(ctx)
	defer stop()
	asker, err := newAsker(ctx, c, stop)
	if err != nil {
		return answer{}, err
	}
	leave := b.open.enter(c.extension, openCall{ctx: ctx, client: c.client})
	reported := partials{ctx: ctx, client: c.client, extension: c.extension}
	var emitted emissions
	outcome, err := b.session.Call(running, host.Call{
		Extension: c.extension, Tool: c.tool, Args: c.args, Ask: asker.ask,
		Report: func(r host.Report) {
			if r.ID == "" {
				reported.add(r.Data)
			} else {
				emitted.add(r)
			}
		},
	})
	if c.client.lines {
		linger(ctx)
	}
	leave()
	reported.end()
	if gone := context.Cause(ctx); gone != nil { // nobody is to be asked any more
		return answer{}, cancelled(c, err, gone)
	}
	asks, state, failed := asker.open(err)
	if failed != nil || asks != nil {
		return answer{asks: asks, state: state}, failed
	}
	if err != nil {
		return answer{}, err
	}
	return answer{outcome: outcome, emitted: emitted.all}, nil
}

// cancelled is the failure of a call that nobody waits for.
func cancelled(c call, err, cause error) error {
	if err != nil {
		return err
	}
	return &host.Error{Kind: host.Cancelled, Extension: c.extension, Target: c.tool, Code: "cancelled", Msg: "the call was cancelled", Err: cause}
}

const (
	// lateLines is how long a stateless request that wants printed lines waits for the last of
	// them: they come by another pipe than the answer, and there is no later way to the
	// client.
	lateLines = 15 * time.Millisecond
	// partialQueue is how many partials may wait for a client that is slow to take them
	// in. What comes on top of that is left out: none is awaited.
	partialQueue = 64
)

func linger(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(lateLines):
	}
}

// partials sends what a tool reports while it works to its client: as progress where the
// client gave a token for it, and else as lines of its log, of a client that wants one.
type partials struct {
	ctx       context.Context
	client    client
	extension string
	count     float64
	queue     chan partial  // nil before the first
	sent      chan struct{} // closed when nothing is left to send
}

type partial struct {
	count float64
	text  string
}

// add sends one partial soon, or leaves it out. It does not block.
func (p *partials) add(text []byte) {
	if p.client.progress == nil && p.client.stateless && !p.client.lines {
		return
	}
	if p.queue == nil {
		p.queue, p.sent = make(chan partial, partialQueue), make(chan struct{})
		go p.send()
	}
	p.count++
	select {
	case p.queue <- partial{p.count, string(text)}:
	default:
	}
}

func (p *partials) send() {
	defer close(p.sent)
	for one := range p.queue {
		// A client that is gone is noticed elsewhere.
		if p.client.progress != nil {
			_ = p.client.session.NotifyProgress(p.ctx, &sdk.ProgressNotificationParams{ProgressToken: p.client.progress, Progress: one.count, Message: one.text})
		} else {
			_ = p.client.session.Log(p.ctx, &sdk.LoggingMessageParams{Level: "info", Logger: p.extension, Data: one.text})
		}
	}
}

// end waits until what was added is sent: the answer comes after it.
func (p *partials) end() {
	if p.queue != nil {
		close(p.queue)
		<-p.sent
	}
}

// openCall is a call that waits for its answer.
type openCall struct {
	ctx    context.Context
	client client
}

// openCalls are the calls that wait, by extension, in the order in which they came.
// That is the order in which they have their turn, so the first is the one that
// what the extension prints belongs to.
type openCalls struct {
	mu sync.Mutex
	by map[string][]*openCall
}

func (o *openCalls) enter(extension string, c openCall) (leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == nil {
		o.by = map[string][]*openCall{}
	}
	one := &c
	o.by[extension] = append(o.by[extension], one)
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.by[extension] = slices.DeleteFunc(o.by[extension], func(other *openCall) bool { return other == one })
	}
}

// first is the call that the extension answers, or nil.
func (o *openCalls) first(extension string) *openCall {
	o.mu.Lock()
	defer o.mu.Unlock()
	if waiting := o.by[extension]; len(waiting) > 0 {
		return waiting[0]
	}
	return nil
}

// failureOf is a call's error as the host's.
func failureOf(err error) (*host.Error, bool) {
	var e *host.Error
	return e, errors.As(err, &e)
}
