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
	open  map[string]bool // ids of calls
	uses  int             // requests and streams that are open
	since time.Time       // when the last of them ended
	timer *time.Timer
}

// serveFirst serves the request that begins a session.
func (s *HTTP) serveFirst(w http.ResponseWriter, r *http.Request) {
	if !s.reserve() {
		comeAgain(w, fmt.Sprintf("%d sessions are open and in use, and more are not taken; end one", s.bounds.sessions))
		return
	}
	bridge, err := s.newBridge()
	if err != nil {
		s.mu.Lock()
		s.opening--
		s.mu.Unlock()
		s.logger.Error("a session could not be opened", "error", err)
		http.Error(w, "Internal Server Error: the session could not be opened; the log of the server has more", http.StatusInternalServerError)
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
			if one.uses == 0 && (oldest == nil || one.since.Before(oldest.since)) {
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
	one.session, one.uses = session, 1
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
	if one.uses--; one.uses == 0 && !one.ended {
		one.since = time.Now()
		one.timer.Reset(s.bounds.idle)
	}
}

// serveSession serves a request of a session. Of one that is not there the handler
// says so.
func (s *HTTP) serveSession(w http.ResponseWriter, r *http.Request, id, call string) {
	s.mu.Lock()
	one := s.sessions[id]
	again := one != nil && call != "" && one.open[call]
	if one != nil && !again {
		one.uses++
		one.timer.Stop()
		one.begin(call)
	}
	s.mu.Unlock()
	if again {
		refuse(w, sameID)
		return
	}
	if one == nil {
		http.Error(w, "Not Found: there is no such session; it has ended, and initialize begins another", http.StatusNotFound)
		return
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(one.open, call)
		s.idle(one)
	}()
	if r.Method == http.MethodDelete && s.takes(r) {
		one.stop() // the end of a session waits for its calls, and this ends them
	}
	s.stateful.ServeHTTP(w, r)
}

// begin notes a call. Of the server's lock.
func (one *httpSession) begin(call string) {
	if call == "" {
		return
	}
	if one.open == nil {
		one.open = map[string]bool{}
	}
	one.open[call] = true
}

// takes reports whether the SDK takes a request with these headers, whatever it is to do: the
// end of a session that it refuses is none. It judges that before it judges the method, so it
// is asked with one that it has nothing for.
func (s *HTTP) takes(r *http.Request) bool {
	asked := r.Clone(r.Context())
	asked.Method, asked.Body = http.MethodOptions, http.NoBody
	answer := statusAlone{header: http.Header{}}
	s.stateful.ServeHTTP(&answer, asked)
	return answer.status == http.StatusMethodNotAllowed
}

// statusAlone is an answer of which nothing but the status is kept.
type statusAlone struct {
	header http.Header
	status int
}

func (a *statusAlone) Header() http.Header         { return a.header }
func (a *statusAlone) Write(p []byte) (int, error) { return len(p), nil }
func (a *statusAlone) WriteHeader(status int)      { a.status = status }

// expire ends a session that nobody used for long.
func (s *HTTP) expire(one *httpSession) {
	s.mu.Lock()
	used := one.uses > 0
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
