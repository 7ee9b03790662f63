package mcp

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// maxHeader is what the headers of a request may have, in bytes.
	maxHeader = 64 << 10
	// headerTime is what they have to arrive in.
	headerTime = 10 * time.Second
	// keepTime is how long a connection is kept between two requests.
	keepTime = 2 * time.Minute
	// cutTime is what is left for answers to go out after all calls have ended.
	cutTime = 500 * time.Millisecond
)

// Serve serves until ctx ends. Then calls that are open have a moment to end by
// themselves, what remains is cut off, and nothing of the server is left: no
// session, no satellite, no goroutine. The end of ctx is no error.
func (s *HTTP) Serve(ctx context.Context, l net.Listener) error {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	server := &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       keepTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug), // of clients' mistakes
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(limited(l, s.bounds.connections)) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	s.drain()
	s.endCalls()
	s.await(cutTime) // for their answers to go out
	cut()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutTime)
	defer cancel()
	if shut := server.Shutdown(closing); shut != nil {
		_ = server.Close()
	}
	s.endSessions()
	s.handling.Wait()
	s.endSessions() // of one that began meanwhile
	s.watching.Wait()
	if err == nil {
		err = <-served
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// drain takes no further request, and gives those that are open a moment.
func (s *HTTP) drain() {
	s.mu.Lock()
	s.closing = true
	if s.calls == 0 {
		close(s.quiet)
	}
	s.mu.Unlock()
	s.await(s.bounds.ending)
}

// await waits until no call is open, and no longer than that.
func (s *HTTP) await(most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-s.quiet:
	case <-timer.C:
	}
}

// endCalls closes every bridge, and so ends every call and satellite.
func (s *HTTP) endCalls() {
	var ending sync.WaitGroup
	for _, one := range s.all() {
		ending.Go(one.stop)
	}
	ending.Go(s.stop)
	ending.Wait()
}

func (s *HTTP) endSessions() {
	var ending sync.WaitGroup
	for _, one := range s.all() {
		ending.Go(func() { s.end(one) })
	}
	ending.Wait()
}

// all are the sessions that are open.
func (s *HTTP) all() []*httpSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.sessions))
}
