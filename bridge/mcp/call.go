//lint:file-ignore SA1019 the SDK marks what the protocol gives a year's notice of; clients use it until then

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

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
	generation      string // of the extension: what was installed, and approved
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
	if c.client.stateless {
		c.generation = b.generation(c.extension)
	}
	asker, err := newAsker(ctx, c, stop)
	if err != nil {
		return answer{}, err
	}
	told := feed{ctx: ctx, client: c.client, extension: c.extension}
	var emitted emissions
	outcome, err := b.session.Call(running, host.Call{
		Extension: c.extension, Tool: c.tool, Args: c.args, Ask: asker.ask, Output: told.line,
		Report: func(r host.Report) {
			if r.ID == "" {
				told.report(r.Data)
			} else {
				emitted.add(r)
			}
		},
	})
	asker.end()
	told.end()
	if gone := context.Cause(ctx); gone != nil { // nobody is to be asked any more
		return answer{}, cancelled(c, err, gone)
	}
	asks, state, failed := asker.toAsk(err)
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

// failureOf is a call's error as the host's.
func failureOf(err error) (*host.Error, bool) {
	var e *host.Error
	return e, errors.As(err, &e)
}

// generation names what an extension is now: another after each install of other code, and after
// each other approval.
func (b *Bridge) generation(extension string) string {
	for _, r := range b.session.Records() {
		if r.Name == extension {
			return r.ArtifactDigest + " " + r.ApprovalKey
		}
	}
	return ""
}
