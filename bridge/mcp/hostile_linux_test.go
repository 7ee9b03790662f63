package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/internal/livetest"
)

func TestADeepAnswerEndsNoClient(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		p := plain(t, revision)
		for _, depth := range []int{1500, 9000} {
			document := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
			result := p.call("do", args("json", "text", document))
			if result.StructuredContent != nil || result.IsError || text(result) != document {
				t.Errorf("%d deep: %.200s", depth, encoded(t, result))
			}
		}
		if got := p.said("do", args("echo", "text", "still")); got != "still" {
			t.Errorf("%q", got)
		}
	})
}

func TestWhatIsTooLargeToBeSentSaysHowLargeItIs(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		p := plain(t, revision)
		markup := strings.Repeat("<", 3<<20)
		if got := p.fails("do", args("echo", "text", markup), "too_large"); !strings.Contains(got, "3.0 MiB") || !strings.Contains(got, "18.0 MiB") {
			t.Errorf("%.300q", got)
		}
		if got := p.fails("do", args("refuse", "text", markup), "refused"); len(got) > 100<<10 || !strings.HasPrefix(got, "<<<") {
			t.Errorf("a refusal has %d bytes", len(got))
		}
		result := p.call("do", args("emit", "key", "big.bin", "text", "application/octet-stream", "n", 10<<20))
		var uri string
		for _, c := range result.Content {
			if link, ok := c.(*sdk.ResourceLink); ok {
				uri = link.URI
			}
		}
		if uri == "" {
			t.Fatalf("%.300s", encoded(t, result))
		}
		_, err := p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if e := rpc(t, err, jsonrpc.CodeInternalError); !strings.Contains(e.Message, "10.0 MiB") || !strings.Contains(e.Message, "loomext artifacts "+uri[strings.LastIndex(uri, "/")+1:]) {
			t.Errorf("%q", e.Message)
		}
	})
}

// raw is a client that speaks lines.
type raw struct {
	t *testing.T
	net.Conn
	lines  *bufio.Reader
	served chan error
}

func rawly(t *testing.T, s *side) *raw {
	t.Helper()
	near, far := net.Pipe()
	r := &raw{t: t, Conn: far, lines: bufio.NewReader(far), served: make(chan error, 1)}
	go func() { r.served <- s.Serve(context.Background(), &mcp.Lines{In: near, Out: near}) }()
	t.Cleanup(func() { _ = far.Close() })
	return r
}

func (r *raw) say(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.Conn, line+"\n"); err != nil {
		r.t.Fatalf("%s: %v", line, err)
	}
}

type message struct {
	ID     json.RawMessage
	Method string
	Error  *struct {
		Code    int
		Message string
	}
	Result json.RawMessage
}

func (r *raw) hear() message {
	r.t.Helper()
	_ = r.SetReadDeadline(time.Now().Add(answers))
	line, err := r.lines.ReadString('\n')
	var m message
	if err == nil {
		err = json.Unmarshal([]byte(line), &m)
	}
	if err != nil {
		r.t.Fatalf("%q: %v", line, err)
	}
	return m
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`

func TestEveryErrorHasACode(t *testing.T) {
	r := rawly(t, open(t, mcp.Options{}))
	for _, tt := range []struct {
		line  string
		code  int
		words string
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, -32600, "send initialize first"},
		{hello, 0, ""},
		{strings.Replace(hello, `"id":0`, `"id":2`, 1), -32600, "initialize was answered"},
		{`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"nonsense"}}`, -32602, "emergency"},
		{`{"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"warning"}}`, 0, ""},
		{`{"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"other://thing"}}`, -32602, "not found"},
		{`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"do"}}`, -32602, "call desk__do or twin__do"},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nothing"}}`, -32602, `unknown tool "nothing"`},
	} {
		r.say(tt.line)
		m := r.hear()
		if tt.code == 0 && m.Error != nil || tt.code != 0 && (m.Error == nil || m.Error.Code != tt.code || !strings.Contains(m.Error.Message, tt.words)) {
			t.Errorf("%s: %+v", tt.line, m.Error)
		}
	}
}

func TestSubscriptionsOfOneClientAreBounded(t *testing.T) {
	p := plain(t, handshake)
	var err error
	n := 0
	for ; err == nil && n < 5000; n++ {
		err = p.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "desk://page/" + strings.Repeat("1", n+1) + "/front"})
	}
	if n > 1000 {
		t.Errorf("one client has %d", n)
	}
	rpc(t, err, -32000)
	if err := p.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "desk://page/1/front"}); err != nil {
		t.Fatal(err)
	}
	if err := p.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "desk://today"}); err != nil {
		t.Errorf("after one is given up: %v", err)
	}
}

func TestNothingIsAskedAfterTheAnswer(t *testing.T) {
	for range 5 {
		r := rawly(t, open(t, mcp.Options{Only: []string{"desk"}}))
		r.say(hello)
		r.hear()
		r.say(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"do","arguments":{"op":"askmany"}}}`)
		for m := r.hear(); string(m.ID) != `"call"`; m = r.hear() {
			continue
		}
		r.say(`{"jsonrpc":"2.0","id":"more","method":"tools/call","params":{"name":"do","arguments":{"op":"echo"}}}`)
		for m := r.hear(); string(m.ID) != `"more"`; m = r.hear() {
			if m.Method == "elicitation/create" {
				t.Fatal("a question came after the answer")
			}
		}
	}
}

func TestARefusalOfAQuestionIsNoSilence(t *testing.T) {
	r := rawly(t, open(t, mcp.Options{Only: []string{"desk"}}))
	r.say(hello)
	r.hear()
	r.say(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"do","arguments":{"op":"askuser","text":"Who?"}}}`)
	m := r.hear()
	r.say(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32000,"message":"nobody is here"}}`)
	if m = r.hear(); !strings.Contains(string(m.Result), "the client refused: nobody is here") {
		t.Errorf("%s", m.Result)
	}
}

func TestAClientThatReadsNothingAndClosesItsSideLeavesNoSatellite(t *testing.T) {
	s := open(t, mcp.Options{Only: []string{"desk"}})
	in, client := io.Pipe()
	out := stuck{began: make(chan struct{}, 1), end: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), &mcp.Lines{In: in, Out: first{out}}) }()
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"do","arguments":{"op":"echo","text":"x"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	if _, err := io.WriteString(client, call+"\n"); err != nil {
		t.Fatal(err)
	}
	livetest.Eventually(t, "the satellite runs", func() bool { return len(s.pids()) == 1 })
	pids := s.pids()
	_ = client.Close()
	began := time.Now()
	within(t, answers, "the end of Serve", func() {
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	s.Close()
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it took %s", took)
	}
	if livetest.Running(pids[0]) {
		t.Errorf("satellite %d lives on", pids[0])
	}
	close(out.end)
}

// first is a client that reads nothing, however often it is written to.
type first struct{ stuck }

func (f first) Write([]byte) (int, error) {
	<-f.end
	return 0, io.ErrClosedPipe
}

func TestAnAnswerIsNotForWhatWasInstalledMeanwhile(t *testing.T) {
	home := copied(t)
	s := openAt(t, home, mcp.Options{})
	p := s.connect(t, stateless, sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) { return named("x"), nil },
		MultiRoundTrip:     &sdk.MultiRoundTripOptions{Disabled: true},
	})
	asks := p.call("do", args("askuser", "text", "Who?"))
	if asks.RequestState == "" {
		t.Fatalf("%s", encoded(t, asks))
	}
	again := &sdk.CallToolParams{
		Name: "do", Arguments: args("askuser", "text", "Who?"), RequestState: asks.RequestState,
		InputResponses: sdk.InputResponseMap{"name": named("x")},
	}
	if result, err := p.CallTool(t.Context(), again); err != nil || !strings.HasPrefix(text(result), "accept") {
		t.Errorf("%v, %v", result, err)
	}
	for _, bad := range []string{asks.RequestState + "\n", asks.RequestState[:20] + "\r\n" + asks.RequestState[20:]} {
		with := *again
		with.RequestState = bad
		_, err := p.CallTool(t.Context(), &with)
		rpc(t, err, jsonrpc.CodeInvalidParams)
	}
	source := filepath.Join(t.TempDir(), "desk")
	if err := os.CopyFS(source, os.DirFS("testdata/desk")); err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(source, "extension.toml"), `description = "Does one thing."`, `description = "Does one thing, and is another."`)
	if err := installFrom(home, source, filepath.Join(scratch, "cache")); err != nil {
		t.Fatal(err)
	}
	livetest.Eventually(t, "it is another", func() bool {
		tools, err := p.ListTools(t.Context(), nil)
		return err == nil && strings.Contains(encoded(t, tools), "and is another")
	})
	_, err := p.CallTool(t.Context(), again)
	rpc(t, err, jsonrpc.CodeInvalidParams)
}
