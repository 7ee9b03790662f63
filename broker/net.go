package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/loomext/loomext/egress"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/manifest"
)

const (
	// frameHeadroom is what of a frame is left for a response's headers and for what stands around it, in bytes.
	frameHeadroom = 1 << 20
	// maxFramed is the longest body that travels in one frame.
	maxFramed = wire.MaxFrame - frameHeadroom

	// maxRequests is the host's ceiling on the requests of one invocation, whatever a manifest asks for: one for each
	// item of a long list.
	maxRequests = 256

	// maxInFlight is what the responses of one scope may hold while they arrive, in bytes; a request that would pass it
	// waits for another to end.
	maxInFlight = 64 << 20
	// maxLanes is how many requests of one scope are under way at once, however small their responses: as many as a
	// browser has, for several hosts.
	maxLanes = 16
)

// network is what one scope may do with it.
type network struct {
	open     bool // there are terms
	policy   egress.Policy
	requests int64         // an invocation
	lanes    chan struct{} // one place for each request that is under way
	framed   bool          // the frame is what bounds a response
}

// network clamps the terms of a manifest to the ceilings of the host.
func (b *Broker) network(terms manifest.Net) network {
	most := min(terms.MaxResponseBytes, b.ceilings.MaxResponseBytes)
	n := network{
		open:     true,
		framed:   most > maxFramed,
		requests: int64(min(terms.RequestsPerCall, maxRequests)),
	}
	n.policy = egress.Policy{
		Hosts:            slices.Clone(terms.Hosts),
		Methods:          slices.Clone(terms.Methods),
		MaxResponseBytes: min(most, maxFramed),
	}
	for _, s := range terms.Secrets {
		n.policy.Secrets = append(n.policy.Secrets, egress.Credential{Env: s.Env, Host: s.Host, Header: s.Header, Format: s.Format})
	}
	n.lanes = make(chan struct{}, max(1, min(maxLanes, maxInFlight/max(1, n.policy.MaxResponseBytes))))
	return n
}

func (i *Invocation) netRequest(ctx context.Context, a *arguments) (wire.Value, *refusal) {
	request := egress.Request{Method: a.text("method"), URL: a.text("url"), Headers: a.texts("headers"), Body: a.bytes("body")}
	if refused := a.refused(); refused != nil {
		return wire.Value{}, refused
	}
	n := &i.scope.network
	if !n.open {
		return wire.Value{}, &refusal{wire.CodeNetworkOff, "the extension was approved without a [net] table; name hosts and methods there"}
	}
	select {
	case n.lanes <- struct{}{}:
		defer func() { <-n.lanes }()
	case <-ctx.Done():
		return wire.Value{}, over(ctx, "net.request")
	}
	if i.ended.Load() { // while it waited
		return wire.Value{}, answered()
	}
	terms := n.policy
	terms.Spend = func() error { return spend(&i.requests, n.requests) }
	response, err := i.scope.broker.client.Do(ctx, terms, request)
	if err != nil {
		return wire.Value{}, n.refusal(err)
	}
	return n.value(response)
}

// spend counts one request.
func spend(made *atomic.Int64, most int64) error {
	if made.Add(1) > most {
		return fmt.Errorf("this invocation has made its %d requests, redirects included; make fewer, or raise requests_per_call in [net]", most)
	}
	return nil
}

// value is the response as it travels.
func (n *network) value(r egress.Response) (wire.Value, *refusal) {
	headers := make([]wire.Field, 0, len(r.Headers))
	room := frameHeadroom / 2 // and the other half for lengths and what stands around
	for key, v := range r.Headers {
		if room -= len(key) + len(v); room < 0 {
			return wire.Value{}, policy("the response's headers have more than " + strconv.Itoa(frameHeadroom>>11) + " KiB, and what travels back is one frame")
		}
		headers = append(headers, wire.Field{Key: key, Value: wire.String(v)})
	}
	return wire.Map(
		wire.Field{Key: "status", Value: wire.Int(int64(r.Status))},
		wire.Field{Key: "headers", Value: wire.Map(headers...)},
		wire.Field{Key: "body", Value: wire.Bin(r.Body)},
	), nil
}

// codes are the protocol's words for what the network refuses.
var codes = map[egress.Kind]string{
	egress.Invalid:    wire.CodeInvalidArgument,
	egress.NotAllowed: wire.CodeNotAllowed,
	egress.Leaked:     wire.CodeDenied,
	egress.Ceiling:    wire.CodePolicy,
	egress.NoSecret:   wire.CodeUnavailable,
	egress.Failed:     wire.CodeNetFailed,
	egress.Deadline:   wire.CodeDeadline,
	egress.Cancelled:  wire.CodeCancelled,
}

func (n *network) refusal(err error) *refusal {
	e, ok := errors.AsType[*egress.Error](err)
	if !ok {
		return &refusal{wire.CodeNetFailed, "the request failed"} // what is not the client's own text is not repeated
	}
	code, ok := codes[e.Kind]
	if !ok {
		code = wire.CodeNetFailed
	}
	msg := e.Msg
	if e.Kind == egress.Ceiling && n.framed {
		msg += fmt.Sprintf(" (a response travels in one frame of the channel, so its body has at most %d bytes)", maxFramed)
	}
	return &refusal{code, msg}
}
