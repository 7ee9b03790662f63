package mcp

import (
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func TestATokenIsAskedFor(t *testing.T) {
	w := newWeb(t, webToken, nil)
	for _, tt := range []struct {
		header, challenge string
		status            int
	}{
		{"Bearer " + webToken, "", http.StatusOK},
		{"bearer " + webToken, "", http.StatusOK},
		{"", `Bearer realm="loomext"`, http.StatusUnauthorized},
		{"Bearer", `Bearer realm="loomext", error="invalid_token"`, http.StatusUnauthorized},
		{"Bearer " + webToken + "x", `Bearer realm="loomext", error="invalid_token"`, http.StatusUnauthorized},
		{"Bearer " + webToken[1:], `Bearer realm="loomext", error="invalid_token"`, http.StatusUnauthorized},
		{"Basic " + webToken, `Bearer realm="loomext", error="invalid_token"`, http.StatusUnauthorized},
		{webToken, `Bearer realm="loomext", error="invalid_token"`, http.StatusUnauthorized},
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			if method != "POST" && tt.status == http.StatusOK {
				continue
			}
			status, text, headers := w.send(method, Endpoint, initialize, map[string]string{"Authorization": tt.header})
			if status != tt.status || headers.Get("WWW-Authenticate") != tt.challenge {
				t.Errorf("%s %q: %d %s, %q", method, tt.header, status, text, headers.Get("WWW-Authenticate"))
			}
			if status == http.StatusUnauthorized && strings.Contains(text, webToken[2:]) {
				t.Errorf("%q: the answer holds the token: %s", tt.header, text)
			}
		}
	}
	if n := w.sessions(); n != 2 {
		t.Errorf("%d sessions are open; the refused began some", n)
	}
	free := newWeb(t, "", nil)
	if status, text, _ := free.send("POST", Endpoint, initialize, map[string]string{"Authorization": ""}); status != http.StatusOK {
		t.Errorf("without a token: %d %s", status, text)
	}
}

func TestWhatATokenMayBe(t *testing.T) {
	for token, want := range map[string]string{
		strings.Repeat("x", MinToken):   "",
		strings.Repeat("x", MinToken-1): "has to have 20",
		strings.Repeat("x", 600):        "may have 512",
		"a token with spaces in it":     "holds a space",
		"a-tokén-with-an-accent":        "holds a space",
		"a-token-with-a-newline\n":      "holds a space",
	} {
		err := CheckToken(token)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", token, err)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("%q: the error says the token: %v", token, err)
		}
	}
}

func TestPagesAndOtherNamesAreRefused(t *testing.T) {
	w := newWeb(t, webToken, nil)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		header, value string
		ok            bool
	}{
		{"Origin", "http://localhost:" + port, true},
		{"Origin", "http://127.0.0.1:" + port, true},
		{"Origin", "http://[::1]:" + port, true},
		{"Origin", "http://evil.example.com", false},
		{"Origin", "http://evil.example.com:" + port, false},
		{"Origin", "http://localhost", false}, // of another server of this machine
		{"Origin", "http://localhost:1", false},
		{"Origin", "https://localhost:" + port, false},
		{"Origin", "http://localhost.evil.example.com:" + port, false},
		{"Origin", "http://127.0.0.1.evil.example.com:" + port, false},
		{"Origin", "null", false},
		{"Origin", "http://localhost:%zz", false},
		{"Host", "localhost:" + port, true},
		{"Host", "LOCALHOST", true},
		{"Host", "[::1]:" + port, true},
		{"Host", "127.0.0.2", true},
		{"Host", "evil.example.com", false},
		{"Host", "evil.example.com:" + port, false},
		{"Host", "127.0.0.1.evil.example.com:" + port, false},
		{"Host", "192.0.2.1:" + port, false},
	} {
		for _, revision := range []string{"", "2026-07-28"} {
			body, headers := initialize, map[string]string{}
			if revision != "" {
				body, headers = modern(1, "server/discover", "", revision)
			}
			headers[tt.header] = tt.value
			status, text, _ := w.send("POST", Endpoint, body, headers)
			if tt.ok && status != http.StatusOK && tt.value != "LOCALHOST" || !tt.ok && status != http.StatusForbidden {
				t.Errorf("%s %s %s: %d %s", tt.header, tt.value, revision, status, text)
			}
		}
	}
}

func TestPathsBesideTheEndpointAreNotThere(t *testing.T) {
	w := newWeb(t, webToken, nil)
	for _, path := range []string{"/", "/mcp/", "/sse", "/.well-known/oauth-protected-resource", "/mcp%2f"} {
		for _, method := range []string{"GET", "POST"} {
			status, text, _ := w.send(method, path, initialize, map[string]string{"Authorization": ""})
			if status != http.StatusNotFound || !strings.Contains(text, Endpoint) {
				t.Errorf("%s %s: %d %s", method, path, status, text)
			}
		}
	}
}

func TestRequestsAreBounded(t *testing.T) {
	w := newWeb(t, webToken, func(b *httpBounds) { b.requests, b.body, b.reading = 1, 1000, 200*time.Millisecond })
	if status, text, _ := w.send("POST", Endpoint, strings.Repeat(" ", 1001), nil); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body: %d %s", status, text)
	}

	slow, send := io.Pipe()
	defer send.Close()
	r, _ := http.NewRequestWithContext(t.Context(), "POST", w.url+Endpoint, slow)
	r.Header.Set("Authorization", "Bearer "+webToken)
	response, err := w.client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a body that does not come: %d", response.StatusCode)
	}

	id := w.begin()
	r, _ = http.NewRequestWithContext(t.Context(), "GET", w.url+Endpoint, nil)
	r.Header = http.Header{"Authorization": {"Bearer " + webToken}, "Accept": {"text/event-stream"}, sessionHeader: {id}}
	stream, err := w.client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if status, text, _ := w.send("POST", Endpoint, initialize, nil); status != http.StatusServiceUnavailable || !strings.Contains(text, "1 requests are open") {
		t.Errorf("beside a stream: %d %s", status, text)
	}
}

func TestAConnectionOutlivesTheTimeOfAnAnswer(t *testing.T) {
	w := newWeb(t, webToken, func(b *httpBounds) { b.reading, b.writing = 50*time.Millisecond, 50*time.Millisecond })
	of := map[string]string{sessionHeader: w.begin()}
	for range 3 {
		time.Sleep(100 * time.Millisecond) // longer than both
		if status, text, _ := w.send("POST", Endpoint, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, of); status != http.StatusAccepted {
			t.Errorf("%d %s", status, text)
		}
		if status, text, _ := w.send("GET", "/", "", nil); status != http.StatusNotFound {
			t.Errorf("%d %s", status, text)
		}
	}
}

func TestOnlyARequestThatSaysItsRevisionIsServedWithoutASession(t *testing.T) {
	w := newWeb(t, webToken, nil)
	for _, version := range []string{"null", "1", `""`, "{}"} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` + versionKey + `":` + version + `}}}`
		for _, header := range []string{"", statelessSince} {
			headers := map[string]string{}
			if header != "" {
				headers[versionHeader], headers["Mcp-Method"] = header, "tools/list"
			}
			if status, text, _ := w.send("POST", Endpoint, body, headers); status != http.StatusBadRequest || strings.Contains(text, `"tools"`) {
				t.Errorf("%s with the header %q: %d %.200s", version, header, status, text)
			}
		}
	}
}

func TestAnIDThatDoesNotComeBackAsItWasIsRefused(t *testing.T) {
	w := newWeb(t, webToken, nil)
	of := map[string]string{sessionHeader: w.begin()}
	for id, want := range map[string]int{"1.5": http.StatusBadRequest, "9007199254740993": http.StatusBadRequest, "null": http.StatusBadRequest, "1e300": http.StatusBadRequest, "9007199254740992": http.StatusOK, `"a"`: http.StatusOK} {
		status, text, _ := w.send("POST", Endpoint, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`, of)
		if status != want || want != http.StatusOK && !strings.Contains(text, "-32600") {
			t.Errorf("%s: %d %s", id, status, text)
		}
	}
}

func TestASessionThatCannotBeOpenedTellsNoPlaceOfThisMachine(t *testing.T) {
	w := newWeb(t, webToken, nil)
	const place = "/home/ada/.loom"
	w.server.newBridge = func() (*Bridge, error) { return nil, &os.PathError{Op: "open", Path: place, Err: os.ErrPermission} }
	if status, text, _ := w.send("POST", Endpoint, initialize, nil); status != http.StatusInternalServerError || strings.Contains(text, place) || !strings.Contains(text, "log") {
		t.Errorf("%d %s", status, text)
	}
}

func TestWhoHasNotShownTheTokenKeepsNoConnection(t *testing.T) {
	w := newWeb(t, webToken, func(b *httpBounds) { b.connections = 1 })
	var held []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		held = append(held, c)
		if _, err := io.WriteString(c, "POST "+Endpoint+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range held { // each has its turn when the one before has ended
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if text, err := io.ReadAll(c); err != nil || !strings.Contains(string(text), "401") {
			t.Errorf("%q, %v", text, err)
		}
	}
}
