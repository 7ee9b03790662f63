package mcp

import (
	"context"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxWatched is how many subscriptions there may be at once: every resource of a large
	// store, many times.
	maxWatched = 4096
	// maxWatchedEach is how many of them one session may have, or one stream of the stateless
	// revision: what one client looks at.
	maxWatchedEach = 512
	// codeTooMany is the error of a subscription beyond that: one of those that JSON-RPC leaves to
	// servers.
	codeTooMany = -32000
)

// watched are the URIs that clients have subscribed to. The SDK tells them; what
// belongs to a template only they name.
type watched struct {
	mu    sync.Mutex
	by    map[*sdk.ServerSession]map[string]bool
	count int
}

func (b *Bridge) subscribe(_ context.Context, req *sdk.SubscribeRequest) error {
	uri := req.Params.URI
	if !b.offers(uri) {
		return sdk.ResourceNotFoundError(uri)
	}
	w := &b.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	own := w.by[req.Session]
	switch {
	case own[uri]:
		return nil
	case len(own) >= maxWatchedEach:
		return rpcError(codeTooMany, fmt.Sprintf("%d resources are subscribed to, and one client may have no more; unsubscribe from some", len(own)), nil)
	case w.count >= maxWatched:
		return rpcError(codeTooMany, fmt.Sprintf("%d resources are subscribed to by all clients, and more are not taken; come again", w.count), nil)
	}
	if own == nil {
		own = map[string]bool{}
		if w.by == nil {
			w.by = map[*sdk.ServerSession]map[string]bool{}
		}
		w.by[req.Session] = own
	}
	own[uri] = true
	w.count++
	return nil
}

func (b *Bridge) unsubscribe(_ context.Context, req *sdk.UnsubscribeRequest) error {
	w := &b.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	own := w.by[req.Session]
	if !own[req.Params.URI] {
		return nil
	}
	w.count--
	if delete(own, req.Params.URI); len(own) == 0 {
		delete(w.by, req.Session)
	}
	return nil
}

// forget drops the subscriptions of a session that has ended.
func (b *Bridge) forget(session *sdk.ServerSession) {
	b.watched.mu.Lock()
	defer b.watched.mu.Unlock()
	b.watched.count -= len(b.watched.by[session])
	delete(b.watched.by, session)
}

// updated tells clients that the resources of an extension may read otherwise.
func (b *Bridge) updated(extension string) {
	b.watched.mu.Lock()
	uris := map[string]bool{}
	for _, own := range b.watched.by {
		for uri := range own {
			uris[uri] = true
		}
	}
	b.watched.mu.Unlock()
	for uri := range uris {
		if b.catalog.extensionOf(uri) == extension {
			_ = b.server.ResourceUpdated(b.ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // it has no error
		}
	}
}

// offers reports whether there is a resource of that URI.
func (b *Bridge) offers(uri string) bool {
	if strings.HasPrefix(uri, artifactURI("")) {
		return b.artifacts.has(uri)
	}
	return b.catalog.extensionOf(uri) != ""
}

// extensionOf is the extension that answers for a URI, or empty.
func (c *catalog) extensionOf(uri string) string {
	c.mu.Lock()
	fixed, patterns := c.resources, c.patterns
	c.mu.Unlock() // neither changes; there are others
	if f, ok := fixed[uri]; ok {
		return f.extension
	}
	for _, f := range patterns {
		if _, ok := f.uri.Values(uri); ok {
			return f.extension
		}
	}
	return ""
}
