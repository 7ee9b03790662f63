package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/livetest"
)

// answers is what Close and Serve may take with a call open: an extension has half a
// second to heed its end, and the machine may be busy.
const answers = 10 * time.Second

func TestTheDeathOfAClientLeavesNoSatellite(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		s := open(t, mcp.Options{Only: []string{"desk"}})
		near, far := net.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.Serve(context.Background(), &sdk.IOTransport{Reader: near, Writer: near}) }()
		began := make(chan struct{}, 1)
		client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
			ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { began <- struct{}{} },
		})
		session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: far, Writer: far}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
		if err != nil {
			t.Fatal(err)
		}
		params := &sdk.CallToolParams{Name: "do", Arguments: args("spin")}
		params.SetProgressToken("token")
		called := make(chan error, 1)
		go func() {
			_, err := session.CallTool(context.Background(), params)
			called <- err
		}()
		<-began
		pids := s.pids()
		if len(pids) != 1 || !livetest.Running(pids[0]) {
			t.Fatalf("%v", pids)
		}
		_ = far.Close() // no farewell
		within(t, answers, "the end of Serve", func() { <-served })
		within(t, answers, "Close", s.Close)
		if livetest.Running(pids[0]) {
			t.Errorf("satellite %d lives on", pids[0])
		}
		if err := <-called; err == nil {
			t.Error("the call was answered")
		}
		_ = session.Close()
		s.Close() // again
	})
}

func TestTheEndOfServeEndsItsCallsAndNoOthers(t *testing.T) {
	s := open(t, mcp.Options{Except: []string{"desk__loose"}})
	begun := make(chan struct{}, 2)
	o := sdk.ClientOptions{ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { begun <- struct{}{} }}
	one, other := s.connect(t, stateless, o), s.connect(t, stateless, o)
	hold := func(p *peer, tool string) chan error {
		params := &sdk.CallToolParams{Name: tool, Arguments: args("hold")}
		params.SetProgressToken("token")
		answered := make(chan error, 1)
		go func() {
			_, err := p.CallTool(context.Background(), params)
			answered <- err
		}()
		<-begun
		return answered
	}
	ended, open := hold(one, "desk__do"), hold(other, "twin__do")
	one.end()
	within(t, answers, "the end of Serve", func() {
		if err := <-one.served; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		one.served <- nil // for the cleanup
	})
	<-ended
	if got := other.said("desk__do", args("echo", "text", "free")); got != "free" {
		t.Errorf("%q", got)
	}
	select {
	case err := <-open:
		t.Errorf("the call of another client has ended: %v", err)
	default:
	}
	if st := s.Session().Status()[1]; st.Name != "twin" || st.State != host.StateAnswering {
		t.Errorf("the call of another client is over: %+v", st)
	}
	s.Close()
	<-open
	_, err := other.CallTool(t.Context(), &sdk.CallToolParams{Name: "desk__do", Arguments: args("echo")})
	if err != nil {
		t.Errorf("a client of a closed bridge is not answered: %v", err)
	}
}

func TestAClientThatReadsNothingDoesNotKeepServeFromEnding(t *testing.T) {
	s := open(t, mcp.Options{Only: []string{"desk"}})
	in, commands := io.Pipe()
	out := stuck{began: make(chan struct{}), end: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, &sdk.IOTransport{Reader: in, Writer: out}) }()
	if _, err := io.WriteString(commands, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	<-out.began
	cancel()
	within(t, answers, "the end of Serve", func() { <-served })
	_ = commands.Close()
	close(out.end)
}

// stuck takes nothing in until its end.
type stuck struct{ began, end chan struct{} }

func (s stuck) Write([]byte) (int, error) {
	close(s.began)
	<-s.end
	return 0, io.ErrClosedPipe
}

func (stuck) Close() error { return nil }

func TestWhateverAClientSendsIsAnswered(t *testing.T) {
	s := open(t, mcp.Options{Only: []string{"desk"}})
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), &mcp.Lines{In: near, Out: near}) }()
	lines := bufio.NewReader(far)
	say := func(line string) string {
		t.Helper()
		if _, err := io.WriteString(far, line+"\n"); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for {
			answer, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			var m struct{ ID json.RawMessage }
			if json.Unmarshal([]byte(answer), &m) == nil && m.ID != nil {
				return answer
			}
		}
	}
	// A revision that is none, and one that has no handshake: the answer is one that has.
	if got := say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"9999-99-99","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`); !strings.Contains(got, `"protocolVersion":"`+handshake+`"`) {
		t.Fatalf("%s", got)
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, request := range []string{
		`"method":"tools/call"`,
		`"method":"tools/call","params":null`,
		`"method":"tools/call","params":[]`,
		`"method":"tools/call","params":{}`,
		`"method":"tools/call","params":{"name":"do","arguments":"text"}`,
		`"method":"tools/call","params":{"name":"do","arguments":null,"_meta":{"progressToken":{"a":1}}}`,
		`"method":"tools/call","params":{"name":"do","arguments":{"op":"report","n":2},"_meta":{"progressToken":[1.5]}}`,
		`"method":"tools/call","params":{"name":"do","arguments":{"op":"echo","op":"refuse"},` + meta + `}`,
		`"method":"tools/call","params":{"name":"do","arguments":{"op":"askuser","text":"Who?"},"inputResponses":{"name":12345},` + meta + `}`,
		`"method":"tools/call","params":{"name":"do","arguments":{"op":"askuser","text":"Who?"},"inputResponses":null,"requestState":"",` + meta + `}`,
		`"method":"tools/call","params":{"name":"do","requestState":"AAAA",` + meta + `}`,
		`"method":"prompts/get","params":{"name":"write","arguments":{"to":1}}`,
		`"method":"prompts/get","params":{"name":"write"}`,
		`"method":"resources/read","params":{"uri":"desk://page/%zz/back"}`,
		`"method":"resources/read","params":{"uri":"desk://page/%ff/back"}`,
		`"method":"resources/read","params":{"uri":"` + strings.Repeat("a", 100_000) + `"}`,
		`"method":"completion/complete","params":{}`,
		`"method":"completion/complete","params":{"ref":null,"argument":null}`,
		`"method":"completion/complete","params":{"ref":{"type":"ref/none"},"argument":{"name":"a"}}`,
		`"method":"resources/subscribe","params":{}`,
		`"method":"resources/unsubscribe","params":{"uri":"never"}`,
		`"method":"logging/setLevel","params":{"level":"bogus"}`,
		`"method":"tools/list","params":{"cursor":"not a cursor"}`,
		`"method":"initialize","params":{"protocolVersion":"2025-11-25"}`,
		`"method":"server/discover","params":{` + meta + `}`,
		`"method":"nothing"`,
	} {
		if got := say(`{"jsonrpc":"2.0","id":7,` + request + `}`); !strings.Contains(got, `"id":7`) {
			t.Errorf("%s is answered with %s", request, got)
		}
	}
	if got := say(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"do","arguments":{"op":"echo","text":"still here"}}}`); !strings.Contains(got, "still here") {
		t.Errorf("%s", got)
	}
	if strings.Contains(s.log.String(), "fault of loomext") {
		t.Errorf("%s", s.log)
	}
	_ = far.Close()
	<-served
}
