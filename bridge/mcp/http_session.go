package mcp

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// beginning is the key of the server that a session begins on, in the context of
// its first request.
type beginning struct{}

// httpSession is a client's session: a bridge of its own, from its first request to
// its end by the client, by a long pause, or with the server.
type httpSession struct {
	session *sdk.ServerSession
	stop    func() // closes the bridge, once, and with it every open call

	// Of the server's lock:
	ended bool
	open  int       // requests and streams
	since time.Time // when the last of them ended
	timer *time.Timer
}

// serveFirst serves the request that begins a session.
func (s *HTTP) serveFirst(w http.ResponseWriter, r *http.Request) {
	if !s.reserve() {
		comeAgain(w, fmt.Sprintf("%d sessions are open and in use, and more are not taken; end one", s.bounds.sessions))
		return
	}
	bridge, err := s.open()
	if err != nil {
		s.mu.Lock()
		s.opening--
		s.mu.Unlock()
		s.logger.Error("a session could not be opened", "error", err)
		http.Error(w, "Internal Server Error: the session could not be opened: "+err.Error(), http.StatusInternalServerError)
		return
	}
	one := &httpSession{stop: sync.OnceFunc(bridge.Close)}
	var once sync.Once
	bridge.Server().AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			// Before the answer, so that no request of the session comes before it.
			if session, ok := req.GetSession().(*sdk.ServerSession); ok && method == "initialize" {
				once.Do(func() { s.begun(one, session) })
			}
			return next(ctx, method, req)
		}
	})
	s.stateful.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), beginning{}, bridge.Server())))
	if s.release(one) {
		one.stop() // the request was none that begins a session
	}
}

// reserve makes room for a session. Where there is none, the session that was not
// used for longest gives way: its client begins anew when it comes back, as the
// protocol has it.
func (s *HTTP) reserve() bool {
	s.mu.Lock()
	var oldest *httpSession
	if len(s.sessions)+s.opening >= s.bounds.sessions {
		for _, one := range s.sessions {
			if one.open == 0 && (oldest == nil || one.since.Before(oldest.since)) {
				oldest = one
			}
		}
		if oldest == nil || time.Since(oldest.since) < s.bounds.spare {
			s.mu.Unlock()
			return false
		}
		delete(s.sessions, oldest.session.ID())
	}
	s.opening++
	s.mu.Unlock()
	if oldest != nil {
		s.end(oldest)
	}
	return true
}

// begun makes a session known, and watches for its end.
func (s *HTTP) begun(one *httpSession, session *sdk.ServerSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening--
	one.session, one.open = session, 1
	one.timer = time.AfterFunc(s.bounds.idle, func() { s.expire(one) })
	one.timer.Stop()
	s.sessions[session.ID()] = one
	s.watching.Go(func() {
		_ = session.Wait() // its end is told by nothing else
		s.mu.Lock()
		one.ended = true
		one.timer.Stop()
		if s.sessions[session.ID()] == one {
			delete(s.sessions, session.ID())
		}
		s.mu.Unlock()
		one.stop()
	})
}

// release is the end of the first request of a session, and reports whether no
// session came of it.
func (s *HTTP) release(one *httpSession) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.session == nil {
		s.opening--
		return true
	}
	s.idle(one)
	return false
}

// idle is the end of a request of a session. Of the server's lock.
func (s *HTTP) idle(one *httpSession) {
	if one.open--; one.open == 0 && !one.ended {
		one.since = time.Now()
		one.timer.Reset(s.bounds.idle)
	}
}

// serveSession serves a request of a session. Of one that is not there the handler
// says so.
func (s *HTTP) serveSession(w http.ResponseWriter, r *http.Request, id string) {
	s.mu.Lock()
	one := s.sessions[id]
	if one != nil {
		one.open++
		one.timer.Stop()
	}
	s.mu.Unlock()
	if one == nil {
		http.Error(w, "Not Found: there is no such session; it has ended, and initialize begins another", http.StatusNotFound)
		return
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.idle(one)
	}()
	if r.Method == http.MethodDelete {
		one.stop() // the end of a session waits for its calls, and this ends them
	}
	s.stateful.ServeHTTP(w, r)
}

// expire ends a session that nobody used for long.
func (s *HTTP) expire(one *httpSession) {
	s.mu.Lock()
	used := one.open > 0
	if !used {
		delete(s.sessions, one.session.ID())
	}
	s.mu.Unlock()
	if !used {
		s.end(one)
	}
}

// end ends a session: its calls, and then itself.
func (s *HTTP) end(one *httpSession) {
	one.stop()
	_ = one.session.Close()
}
