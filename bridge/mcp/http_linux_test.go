package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/livetest"
)

const webToken = "a-token-of-the-tests-0123456789"

// WebHome gives the store of this package's tests, which another file has.
var WebHome func() (string, error)

// web is a server over a real socket that ends with the test.
type web struct {
	t      *testing.T
	server *HTTP
	url    string
	end    func() error // ends it, and gives what Serve gave

	transport *http.Transport
}

func newWeb(t *testing.T, token string, change func(*httpBounds)) *web {
	t.Helper()
	home, err := WebHome()
	if err != nil {
		t.Fatal(err)
	}
	usual := config.Default()
	h, err := host.New(host.Options{Home: home, Config: &usual})
	if err != nil {
		t.Fatal(err)
	}
	bounds := usualBounds()
	if change != nil {
		change(&bounds)
	}
	server, err := newHTTP(h, Options{Version: "test"}, token, bounds)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	w := &web{t: t, server: server, url: "http://" + l.Addr().String(), transport: &http.Transport{}}
	w.end = sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() {
		if err := w.end(); err != nil {
			t.Error(err)
		}
		h.Close()
		w.transport.CloseIdleConnections()
		if left := children(); len(left) > 0 {
			t.Errorf("satellites are left: %v", left)
		}
	})
	return w
}

// children are the living processes that this one is the parent of.
func children() []int {
	var found []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		if len(fields) > 1 && fields[0] != "Z" && fields[1] == strconv.Itoa(os.Getpid()) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found = append(found, pid)
		}
	}
	return found
}

// bearer sends the token with every request.
type bearer struct{ under *http.Transport }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+webToken)
	return b.under.RoundTrip(r)
}

// connect is a session of the SDK's client, of a revision.
func (w *web) connect(revision string) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	return client.Connect(w.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: w.url + Endpoint, HTTPClient: &http.Client{Transport: bearer{w.transport}}, MaxRetries: -1,
	}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
}

func (w *web) connected(revision string) *sdk.ClientSession {
	w.t.Helper()
	session, err := w.connect(revision)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	return session
}

func (w *web) client() *http.Client { return &http.Client{Transport: w.transport} }

// open is how many sessions the server has.
func (w *web) open() int { return len(w.server.all()) }

// send sends one request with the headers that the protocol wants and those given; an empty one is
// left out.
func (w *web) send(method, path, body string, headers map[string]string) (status int, text string, got http.Header) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+webToken)
	for name, value := range headers {
		switch {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	response, err := w.client().Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, string(answer), response.Header
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// begin begins a session and gives its name.
func (w *web) begin() string {
	w.t.Helper()
	status, text, headers := w.send("POST", Endpoint, initialize, nil)
	if status != http.StatusOK || headers.Get(sessionHeader) == "" {
		w.t.Fatalf("initialize: %d %s", status, text)
	}
	return headers.Get(sessionHeader)
}

// modern is a request of the stateless revision, and its headers.
func modern(id int, method, params, revision string) (body string, headers map[string]string) {
	meta := fmt.Sprintf(`"_meta":{%q:%q,"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`, versionKey, revision)
	if params != "" {
		meta += "," + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, meta),
		map[string]string{versionHeader: revision, "Mcp-Method": method}
}

func TestBothRevisionsAreServedAtOneEndpoint(t *testing.T) {
	w := newWeb(t, webToken, nil)
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		session := w.connected(revision)
		if got := session.InitializeResult().ProtocolVersion; got != revision {
			t.Errorf("asked for %s, got %s", revision, got)
		}
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 6 {
			t.Fatalf("%s: %v %v", revision, tools, err)
		}
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "desk__do", Arguments: map[string]any{"op": "echo", "text": "hello, Ada"}})
		if err != nil || len(result.Content) != 1 {
			t.Fatalf("%s: %v %v", revision, result, err)
		}
		if text, ok := result.Content[0].(*sdk.TextContent); !ok || text.Text != "hello, Ada" {
			t.Errorf("%s: %#v", revision, result.Content[0])
		}
	}
	if n := w.open(); n != 2 {
		t.Errorf("%d sessions are open, want one for each client of a revision that has them", n)
	}
	client := w.connected("2025-11-25")
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	livetest.Eventually(t, "the end of the session that its client ended", func() bool { return w.open() == 2 })
}

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
	if n := w.open(); n != 2 {
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

// webError is the error of an answer.
func webError(t *testing.T, text string) (code, id int, data map[string]any) {
	t.Helper()
	var answer struct {
		ID    int `json:"id"`
		Error struct {
			Code int            `json:"code"`
			Data map[string]any `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Errorf("%q: %v", text, err)
	}
	return answer.Error.Code, answer.ID, answer.Error.Data
}

func TestTheStatelessSideAnswersInItsOwnErrors(t *testing.T) {
	w := newWeb(t, webToken, nil)
	const revision = "2026-07-28"

	body, headers := modern(1, "server/discover", "", revision)
	if status, text, _ := w.send("POST", Endpoint, body, headers); status != http.StatusOK || !strings.Contains(text, `"supportedVersions"`) ||
		!strings.Contains(text, `"2025-11-25"`) || !strings.Contains(text, revision) {
		t.Errorf("server/discover: %d %s", status, text)
	}

	body, headers = modern(301, "server/discover", "", "v999.0.0")
	status, text, _ := w.send("POST", Endpoint, body, headers)
	code, id, data := webError(t, text)
	supported, _ := data["supported"].([]any)
	if status != http.StatusBadRequest || code != -32022 || id != 301 || len(supported) == 0 || data["requested"] != "v999.0.0" {
		t.Errorf("a version that nobody knows: %d %s", status, text)
	}

	for _, tt := range []struct {
		name   string
		change func(headers map[string]string, body *string)
		status int
		code   int
	}{
		{"another version in the header", func(h map[string]string, body *string) { *body = strings.Replace(*body, revision, "v999.0.0", 1) }, 400, -32020},
		{"no version in the header", func(h map[string]string, body *string) { h[versionHeader] = "" }, 400, -32020},
		{"a version of before in the header", func(h map[string]string, body *string) { h[versionHeader] = "2025-11-25" }, 400, -32020},
		{"no version in the body", func(h map[string]string, body *string) { *body = strings.Replace(*body, versionKey, "x", 1) }, 400, -32602},
		{"another method in the header", func(h map[string]string, body *string) { h["Mcp-Method"] = "tools/call" }, 400, -32020},
	} {
		body, headers := modern(302, "server/discover", "", revision)
		tt.change(headers, &body)
		status, text, _ := w.send("POST", Endpoint, body, headers)
		if code, id, _ := webError(t, text); status != tt.status || code != tt.code || id != 302 {
			t.Errorf("%s: %d %s", tt.name, status, text)
		}
	}

	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "unknown/method"} {
		body, headers := modern(500, method, "", revision)
		status, text, _ := w.send("POST", Endpoint, body, headers)
		if code, id, _ := webError(t, text); status != http.StatusNotFound || code != -32601 || id != 500 {
			t.Errorf("%s: %d %s", method, status, text)
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		if status, text, _ := w.send(method, Endpoint, "", map[string]string{versionHeader: revision}); status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d %s", method, status, text)
		}
	}
	if n := w.open(); n != 0 {
		t.Errorf("%d sessions were begun", n)
	}
}

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
	livetest.Eventually(t, "no session of a request that begins none", func() bool { return w.open() == 0 })

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
	livetest.Eventually(t, "the end", func() bool { return w.open() == 0 })
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
	livetest.Eventually(t, "the end of the session without a use", func() bool { return w.open() == 1 })
	if err := listening.Ping(t.Context(), nil); err != nil {
		t.Errorf("the session in use: %v", err)
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
	answered := make(chan string, 1)
	go func() {
		// It begins a satellite first, which takes longer than the signal does to arrive.
		result, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: "desk__do", Arguments: map[string]any{"op": "echo", "text": "hello, Ada"}})
		if err != nil {
			answered <- err.Error()
			return
		}
		text, _ := json.Marshal(result)
		answered <- string(text)
	}()
	livetest.Eventually(t, "the call", func() bool {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		return w.server.calls > 0
	})
	if err := w.end(); err != nil {
		t.Error(err)
	}
	if got := <-answered; !strings.Contains(got, "hello, Ada") {
		t.Errorf("got %s", got)
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
