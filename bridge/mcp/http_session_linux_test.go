package mcp

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
)

func TestASessionHasABeginningAndAnEnd(t *testing.T) {
	w := newWeb(t, webToken, nil)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	if status, text, _ := w.send("POST", Endpoint, list, nil); status != http.StatusBadRequest || !strings.Contains(text, "initialize") {
		t.Errorf("before initialize: %d %s", status, text)
	}
	for _, body := range []string{"", "no JSON", "[" + initialize + "]", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":7}`} {
		if status, text, _ := w.send("POST", Endpoint, body, nil); status != http.StatusBadRequest && status != http.StatusOK {
			t.Errorf("%q: %d %s", body, status, text)
		}
	}
	livetest.Eventually(t, "no session of a request that begins none", func() bool { return w.sessions() == 0 })

	id := w.begin()
	of := map[string]string{sessionHeader: id, versionHeader: "2025-11-25"}
	if status, text, _ := w.send("POST", Endpoint, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, of); status != http.StatusAccepted {
		t.Errorf("initialized: %d %s", status, text)
	}
	if status, text, _ := w.send("POST", Endpoint, list, of); status != http.StatusOK || !strings.Contains(text, `"desk__do"`) {
		t.Errorf("tools/list: %d %s", status, text)
	}
	if status, text, _ := w.send("DELETE", Endpoint, "", of); status != http.StatusNoContent {
		t.Errorf("DELETE: %d %s", status, text)
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if status, text, _ := w.send(method, Endpoint, list, of); status != http.StatusNotFound {
			t.Errorf("%s after the end: %d %s", method, status, text)
		}
	}
	livetest.Eventually(t, "the end", func() bool { return w.sessions() == 0 })
}

func TestSessionsAreBounded(t *testing.T) {
	w := newWeb(t, webToken, func(b *httpBounds) { b.sessions, b.spare = 2, time.Hour })
	w.begin()
	w.begin()
	status, text, headers := w.send("POST", Endpoint, initialize, nil)
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "2 sessions are open") || headers.Get("Retry-After") == "" {
		t.Errorf("a third: %d %s", status, text)
	}
	body, modernHeaders := modern(1, "tools/list", "", "2026-07-28")
	if status, text, _ := w.send("POST", Endpoint, body, modernHeaders); status != http.StatusOK {
		t.Errorf("a client without a session: %d %s", status, text)
	}
}

func TestTheSessionThatNobodyUsesGivesWay(t *testing.T) {
	w := newWeb(t, webToken, func(b *httpBounds) { b.sessions, b.spare = 2, 0 })
	first, second := w.begin(), w.begin()
	ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	if status, text, _ := w.send("POST", Endpoint, ping, map[string]string{sessionHeader: first}); status != http.StatusOK {
		t.Errorf("ping: %d %s", status, text)
	}
	third := w.begin()
	for id, want := range map[string]int{first: http.StatusOK, second: http.StatusNotFound, third: http.StatusOK} {
		if status, text, _ := w.send("POST", Endpoint, ping, map[string]string{sessionHeader: id}); status != want {
			t.Errorf("want %d: %d %s", want, status, text)
		}
	}
}

func TestASessionEndsThatNobodyUses(t *testing.T) {
	w := newWeb(t, webToken, func(b *httpBounds) { b.idle = 100 * time.Millisecond })
	listening := w.connected("2025-11-25") // has a stream open, which is a use
	w.begin()
	livetest.Eventually(t, "the end of the session without a use", func() bool { return w.sessions() == 1 })
	if err := listening.Ping(t.Context(), nil); err != nil {
		t.Errorf("the session in use: %v", err)
	}
}

func TestARefusedEndOfASessionEndsNothing(t *testing.T) {
	w := newWeb(t, webToken, nil)
	id := w.begin()
	if status, text, _ := w.send("DELETE", Endpoint, "", map[string]string{sessionHeader: id, versionHeader: "2023-01-01"}); status != http.StatusBadRequest {
		t.Fatalf("DELETE with a revision that is none: %d %s", status, text)
	}
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"desk__do","arguments":{"op":"echo","text":"still here"}}}`
	of := map[string]string{sessionHeader: id, versionHeader: "2025-11-25"}
	if status, text, _ := w.send("POST", Endpoint, call, of); status != http.StatusOK || !strings.Contains(text, "still here") || strings.Contains(text, `"isError":true`) {
		t.Errorf("a call after it: %d %s", status, text)
	}
	if status, text, _ := w.send("DELETE", Endpoint, "", of); status != http.StatusNoContent {
		t.Errorf("DELETE: %d %s", status, text)
	}
	livetest.Eventually(t, "the end", func() bool { return w.sessions() == 0 })
}

func TestWhatIsLeftOutIsToldOnceAndNotByEverySession(t *testing.T) {
	var log written
	w := newWeb(t, webToken, nil, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for range 3 {
		w.begin()
	}
	if n := strings.Count(log.String(), "uri=desk://today"); n != 2 { // of each of the two extensions
		t.Errorf("told %d times, by %d sessions and the shared one:\n%s", n, w.sessions(), &log)
	}
}
