//lint:file-ignore SA1019 the SDK marks what the protocol gives a year's notice of; clients use it until then

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/host"
)

// asker is how the client of one call is asked what its tool asks.
type asker interface {
	// ask is a [host.Asker].
	ask(ctx context.Context, requests []host.AskRequest) ([]json.RawMessage, error)
	// end is called once the tool has answered: when it returns nothing is asked any more.
	end()
	// toAsk is what the client is to be asked before the call can have an answer, with the
	// state that it is to send along; nothing where the call is over, with that error. An
	// error is the answer in its place.
	toAsk(failure error) (asks sdk.InputRequestMap, state string, err error)
}

// newAsker is the asker for the revision that the request is of. stop ends the call.
func newAsker(ctx context.Context, c call, stop context.CancelFunc) (asker, error) {
	if c.client.stateless {
		return newRounds(c, stop)
	}
	ctx, end := context.WithCancel(ctx)
	return &direct{ctx: ctx, over: end, client: c.client, extension: c.extension}, nil
}

// direct asks a client by requests of its own, while the call waits. They go one after
// the other: to a person they are dialogs.
type direct struct {
	ctx       context.Context // of the request, which says which stream ours belong to; it ends with the tool's answer
	over      context.CancelFunc
	client    client
	extension string
	turn      sync.Mutex
}

func (*direct) toAsk(error) (sdk.InputRequestMap, string, error) { return nil, "", nil }

// end waits for a question that is just being put: to a client it would come after the answer.
func (d *direct) end() {
	d.over()
	d.turn.Lock()
	defer d.turn.Unlock()
}

func (d *direct) ask(ctx context.Context, requests []host.AskRequest) ([]json.RawMessage, error) {
	questions, err := questionsOf(d.extension, requests, d.client.can())
	if err != nil {
		return nil, err
	}
	asking, end := context.WithCancel(d.ctx)
	defer end()
	defer context.AfterFunc(ctx, end)()
	answers := make([]json.RawMessage, len(questions))
	for i, q := range questions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if answers[i], err = d.put(asking, q); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

func (d *direct) put(ctx context.Context, q question) (json.RawMessage, error) {
	d.turn.Lock()
	defer d.turn.Unlock()
	if err := ctx.Err(); err != nil { // while it waited for its turn
		return nil, err
	}
	var response any
	var err error
	switch put := q.put.(type) {
	case *sdk.ElicitParams:
		response, err = d.client.session.Elicit(ctx, put)
	case *sdk.CreateMessageWithToolsParams:
		response, err = d.client.session.CreateMessageWithTools(ctx, put)
	case *sdk.ListRootsParams:
		response, err = d.client.session.ListRoots(ctx, put)
	}
	if refusal := (*jsonrpc.Error)(nil); errors.As(err, &refusal) {
		return nil, fmt.Errorf("the client refused: %s", bounded(refusal.Message, maxWords))
	}
	if err != nil {
		return nil, fmt.Errorf("the client did not answer: %w", err)
	}
	return q.answer(response)
}

// missing is the error of questions that a client declared no ability for.
type missing struct{ capability string }

func (m missing) Error() string { return unable(m.capability).Error() }

// questionsOf translates what a tool of an extension asks at once, if the client can be asked
// all of it.
func questionsOf(extension string, requests []host.AskRequest, can *sdk.ClientCapabilities) ([]question, error) {
	questions := make([]question, len(requests))
	for i, r := range requests {
		var err error
		if questions[i], err = newQuestion(extension, r); err != nil {
			return nil, err
		}
		if capability := needs(r.Kind); !declares(can, capability) {
			return nil, missing{capability}
		}
	}
	return questions, nil
}

// errAsked is what a tool hears whose question is put to the client: it is run again
// when there is an answer.
var errAsked = errors.New("the client is asked; the tool is run again with the answer")
