package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/manifest"
)

// maxCompletions is how many values the protocol lets one answer have.
const maxCompletions = 100

// complete offers the values that a schema names for an argument.
func (b *Bridge) complete(_ context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	arguments, err := b.argumentsOf(req.Params.Ref)
	if err != nil {
		return nil, err
	}
	result := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	for _, a := range arguments {
		if a.Name != req.Params.Argument.Name {
			continue
		}
		for _, value := range a.Enum {
			if !strings.HasPrefix(value, req.Params.Argument.Value) {
				continue
			}
			result.Completion.Total++
			if len(result.Completion.Values) < maxCompletions {
				result.Completion.Values = append(result.Completion.Values, value)
			}
		}
		result.Completion.HasMore = result.Completion.Total > len(result.Completion.Values)
		return result, nil
	}
	return nil, rpcError(jsonrpc.CodeInvalidParams, fmt.Sprintf("there is no argument %q", req.Params.Argument.Name), nil)
}

// argumentsOf are those of a prompt or of a resource's template.
func (b *Bridge) argumentsOf(ref *sdk.CompleteReference) ([]manifest.Argument, error) {
	b.catalog.mu.Lock()
	defer b.catalog.mu.Unlock()
	list, name := b.catalog.prompts, ref.Name
	if ref.Type == "ref/resource" {
		list, name = b.catalog.patterns, ref.URI
	}
	if f, ok := list[name]; ok {
		return f.arguments, nil
	}
	return nil, rpcError(jsonrpc.CodeInvalidParams, fmt.Sprintf("there is no %s %q", strings.TrimPrefix(ref.Type, "ref/"), name), nil)
}

// maxWatched is how many URIs may be subscribed to at once: every resource of a large
// store, many times.
const maxWatched = 4096

// watched are the URIs that clients have subscribed to. The SDK tells them; what
// belongs to a template only they name.
type watched struct {
	mu   sync.Mutex
	uris map[string]int
}

func (b *Bridge) subscribe(_ context.Context, req *sdk.SubscribeRequest) error {
	w := &b.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.uris == nil {
		w.uris = map[string]int{}
	}
	if len(w.uris) >= maxWatched && w.uris[req.Params.URI] == 0 {
		return errors.New("too many resources are subscribed to; unsubscribe from some")
	}
	w.uris[req.Params.URI]++
	return nil
}

func (b *Bridge) unsubscribe(_ context.Context, req *sdk.UnsubscribeRequest) error {
	w := &b.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.uris[req.Params.URI]--; w.uris[req.Params.URI] <= 0 {
		delete(w.uris, req.Params.URI)
	}
	return nil
}

// updated tells clients that the resources of an extension may read otherwise.
func (b *Bridge) updated(extension string) {
	b.watched.mu.Lock()
	var uris []string
	for uri := range b.watched.uris {
		uris = append(uris, uri)
	}
	b.watched.mu.Unlock()
	for _, uri := range uris {
		if b.catalog.answers(extension, uri) {
			_ = b.server.ResourceUpdated(b.ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // it has no error
		}
	}
}

// answers reports whether a URI is a resource of the extension.
func (c *catalog) answers(extension, uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.resources[uri]; ok {
		return f.extension == extension
	}
	for template, f := range c.patterns {
		if _, ok := manifest.TemplateValues(template, uri); ok && f.extension == extension {
			return true
		}
	}
	return false
}
