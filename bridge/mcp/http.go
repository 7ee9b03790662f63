package mcp

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/host"
)

// Endpoint is the path that the protocol is served at.
const Endpoint = "/mcp"

// MinToken is the fewest characters a token may have: those of 16 random bytes in
// base 64, less what a person may leave out at the end.
const MinToken = 20

// maxToken keeps a token in a header that every client and proxy passes on.
const maxToken = 512

// CheckToken says what is wrong with a token, without saying any of it.
func CheckToken(token string) error {
	switch {
	case len(token) < MinToken:
		return fmt.Errorf("the token has %d characters, and has to have %d; make one with: openssl rand -hex 16", len(token), MinToken)
	case len(token) > maxToken:
		return fmt.Errorf("the token has %d characters, and may have %d", len(token), maxToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("the token holds a space, a control character or one that is not ASCII, which no header can carry; use letters and digits")
	}
	return nil
}

// httpBounds are what one server of HTTP takes on. They are fields for the tests
// alone.
type httpBounds struct {
	sessions    int           // sessions that are open at once
	idle        time.Duration // how long one is kept that nobody uses
	spare       time.Duration // how long one was not used that gives way to a new one
	requests    int           // requests that are open at once
	connections int           // connections that are
	body        int64         // bytes of a request
	reading     time.Duration // for the body of a request to arrive
	writing     time.Duration // for a part of an answer to be taken
	ending      time.Duration // what open calls have, once the server is to end
	replay      int           // bytes of events that are kept for clients that come back
}

func usualBounds() httpBounds {
	return httpBounds{
		sessions:    64,               // each may have a satellite for every extension
		idle:        30 * time.Minute, // a person's pause; a client that comes later begins anew
		spare:       10 * time.Second, // longer than any client is between two requests of one task
		requests:    256,              // of a few clients with every call and stream they may have
		connections: connections(descriptors()),
		body:        5 << 20, // the largest arguments there are, and what is around them
		reading:     30 * time.Second,
		writing:     time.Minute,
		ending:      1500 * time.Millisecond, // with the end of the satellites well within what a signal leaves
		replay:      32 << 20,
	}
}

// HTTP serves the protocol over Streamable HTTP, at [Endpoint] and nowhere else:
// clients of the revisions up to 2025-11-25 get a session each, which is a [Bridge]
// of its own; those of the stateless revision share one.
type HTTP struct {
	newBridge func() (*Bridge, error)
	logger    *slog.Logger
	guarded   bool
	digest    [sha256.Size]byte // of the token
	bounds    httpBounds

	shared    *Bridge
	stop      func() // closes it, once
	stateless http.Handler
	stateful  http.Handler
	requests  chan struct{} // one for each that is open

	mu       sync.Mutex
	closing  bool
	quiet    chan struct{} // closed with the last call of a server that is to end
	calls    int           // requests that are open and have an end of their own
	opening  int           // sessions that begin
	sessions map[string]*httpSession
	handling sync.WaitGroup // requests
	watching sync.WaitGroup // what waits for the ends of sessions
}

// NewHTTP makes a server of what o says, which is to be served. A client has to send
// the token; an empty one asks for none, and is for loopback alone.
func NewHTTP(h *host.Host, o Options, token string) (*HTTP, error) {
	return newHTTP(h, o, token, usualBounds())
}

func newHTTP(h *host.Host, o Options, token string, bounds httpBounds) (*HTTP, error) {
	o.warned = new(warned)
	s := &HTTP{
		newBridge: func() (*Bridge, error) { return New(h, o) },
		logger:    o.Logger, bounds: bounds,
		guarded: token != "", digest: sha256.Sum256([]byte(token)),
		requests: make(chan struct{}, bounds.requests),
		quiet:    make(chan struct{}),
		sessions: map[string]*httpSession{},
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.shared, err = s.newBridge(); err != nil {
		return nil, err
	}
	s.stop = sync.OnceFunc(s.shared.Close)
	events := sdk.NewMemoryEventStore(nil)
	events.SetMaxBytes(bounds.replay)
	s.stateless = sdk.NewStreamableHTTPHandler(
		func(*http.Request) *sdk.Server { return s.shared.Server() },
		&sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: bounds.body})
	s.stateful = sdk.NewStreamableHTTPHandler(
		func(r *http.Request) *sdk.Server {
			server, _ := r.Context().Value(beginning{}).(*sdk.Server)
			return server
		},
		&sdk.StreamableHTTPOptions{EventStore: events, MaxRequestBodyBytes: bounds.body})
	return s, nil
}

// ServeHTTP answers one request. What a request must show comes first, cheapest
// first: nothing of a request is read that has no right to be here.
func (s *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	timed := newTimedWriter(w, s.bounds.writing)
	defer timed.renew() // for what the server still has in its buffer
	w = timed
	switch {
	case !ownHost(r):
		turnAway(w, fmt.Sprintf("Forbidden: the request is for %q, and this is a server of this machine alone", r.Host), http.StatusForbidden)
		return
	case !ownOrigin(r):
		turnAway(w, "Forbidden: a page of another origin may not call this server", http.StatusForbidden)
		return
	case r.URL.Path != Endpoint:
		turnAway(w, "Not Found: the Model Context Protocol is served at "+Endpoint, http.StatusNotFound)
		return
	case !s.authorized(r):
		s.unauthorized(w, r)
		return
	}
	select {
	case s.requests <- struct{}{}:
		defer func() { <-s.requests }()
	default:
		comeAgain(w, fmt.Sprintf("%d requests are open, and more are not taken; end some", s.bounds.requests))
		return
	}
	leave, ok := s.enter(r)
	if !ok {
		comeAgain(w, "the server is ending")
		return
	}
	defer leave()
	s.route(w, r)
}

// authorized reports whether the request has the token. The digests are compared,
// so that the time it takes says nothing of the token, its length included.
func (s *HTTP) authorized(r *http.Request) bool {
	if !s.guarded {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
	return subtle.ConstantTimeCompare(given[:], s.digest[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

func (s *HTTP) unauthorized(w http.ResponseWriter, r *http.Request) {
	challenge, text := `Bearer realm="loomext"`, "Unauthorized: send the server's token as: Authorization: Bearer …"
	if r.Header.Get("Authorization") != "" {
		challenge += `, error="invalid_token"`
		text = "Unauthorized: that is not the token of this server; it may have been started anew"
	}
	w.Header().Set("WWW-Authenticate", challenge)
	turnAway(w, text, http.StatusUnauthorized)
}

// turnAway refuses a request of somebody who has not shown the token. His connection ends with it:
// there are not many.
func turnAway(w http.ResponseWriter, text string, status int) {
	w.Header().Set("Connection", "close")
	http.Error(w, text, status)
}

// comeAgain tells a client to come again.
func comeAgain(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "5") // seconds: about what it takes for a call to end
	http.Error(w, "Service Unavailable: "+why, http.StatusServiceUnavailable)
}

// enter counts a request in, unless the server is to end. A stream that has no end
// of its own does not keep the server from ending.
func (s *HTTP) enter(r *http.Request) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, false
	}
	s.handling.Add(1)
	if r.Method != http.MethodPost || r.Header.Get("Mcp-Method") == "subscriptions/listen" {
		return s.handling.Done, true
	}
	s.calls++
	return func() {
		defer s.handling.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.calls--; s.closing && s.calls == 0 {
			close(s.quiet)
		}
	}, true
}
