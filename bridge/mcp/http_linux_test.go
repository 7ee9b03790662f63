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

func newWeb(t *testing.T, token string, change func(*httpBounds), options ...func(*Options)) *web {
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
	o := Options{Version: "test"}
	for _, set := range options {
		set(&o)
	}
	server, err := newHTTP(h, o, token, bounds)
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

// sessions is how many the server has.
func (w *web) sessions() int { return len(w.server.all()) }

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
	if n := w.sessions(); n != 2 {
		t.Errorf("%d sessions are open, want one for each client of a revision that has them", n)
	}
	client := w.connected("2025-11-25")
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	livetest.Eventually(t, "the end of the session that its client ended", func() bool { return w.sessions() == 2 })
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
	if n := w.sessions(); n != 0 {
		t.Errorf("%d sessions were begun", n)
	}
}
