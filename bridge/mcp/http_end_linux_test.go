package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/internal/livetest"
)

// spin calls a tool that does not come back for long, and gives what became of the call.
func spin(t *testing.T, session *sdk.ClientSession) (ended chan string) {
	t.Helper()
	ended = make(chan string, 1)
	go func() {
		result, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: "desk__do", Arguments: map[string]any{"op": "spin"}})
		if err != nil {
			ended <- err.Error()
			return
		}
		text, _ := json.Marshal(result)
		ended <- string(text)
	}()
	return ended
}

func TestTheEndOfASessionEndsItsCalls(t *testing.T) {
	w := newWeb(t, webToken, nil)
	session := w.connected("2025-11-25")
	ended := spin(t, session)
	livetest.Eventually(t, "a satellite", func() bool { return len(children()) > 0 })
	began := time.Now()
	if status, text, _ := w.send("DELETE", Endpoint, "", map[string]string{sessionHeader: session.ID()}); status != http.StatusNoContent {
		t.Errorf("DELETE: %d %s", status, text)
	}
	<-ended
	livetest.Eventually(t, "the end of the satellite", func() bool { return len(children()) == 0 })
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestAClientThatGoesAwayEndsItsCallOfTheStatelessSide(t *testing.T) {
	w := newWeb(t, webToken, nil)
	body, headers := modern(1, "tools/call", `"name":"desk__do","arguments":{"op":"spin"}`, "2026-07-28")
	headers["Mcp-Name"] = "desk__do"
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "POST", w.url+Endpoint, strings.NewReader(body))
	r.Header = http.Header{"Authorization": {"Bearer " + webToken}, "Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if response, err := w.client().Do(r); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	}()
	livetest.Eventually(t, "a satellite", func() bool { return len(children()) > 0 })
	cancel()
	<-done
	session := w.connected("2026-07-28")
	began := time.Now()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "desk__do", Arguments: map[string]any{"op": "echo", "text": "hello, Ada"}})
	if err != nil || result.IsError {
		t.Fatalf("%v %v", result, err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the call after it waited for %s", took)
	}
}

func TestAServerEndsWithCallsOpen(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			w := newWeb(t, webToken, func(b *httpBounds) { b.ending = 100 * time.Millisecond })
			session := w.connected(revision)
			ended := spin(t, session)
			livetest.Eventually(t, "a satellite", func() bool { return len(children()) > 0 })
			began := time.Now()
			if err := w.end(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
			if left := children(); len(left) > 0 {
				t.Errorf("satellites are left: %v", left)
			}
			<-ended
			if _, err := w.connect(revision); err == nil {
				t.Error("a client still connects")
			}
		})
	}
}

func TestACallThatEndsInTimeIsAnsweredThoughTheServerEnds(t *testing.T) {
	w := newWeb(t, webToken, func(b *httpBounds) { b.ending = 30 * time.Second })
	session := w.connected("2025-11-25")
	calls := func() int {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		return w.server.calls
	}
	if err := session.Ping(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	livetest.Eventually(t, "the end of what began the session", func() bool { return calls() == 0 })
	answered := make(chan string, 1)
	go func() {
		// It starts a satellite first, and is open when the server is to end.
		result, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: "desk__do", Arguments: map[string]any{"op": "echo", "text": "hello, Ada"}})
		if err != nil {
			answered <- err.Error()
			return
		}
		text, _ := json.Marshal(result)
		answered <- string(text)
	}()
	livetest.Eventually(t, "the call", func() bool { return calls() > 0 })
	if err := w.end(); err != nil {
		t.Error(err)
	}
	if got := <-answered; !strings.Contains(got, "hello, Ada") {
		t.Errorf("got %s", got)
	}
}
