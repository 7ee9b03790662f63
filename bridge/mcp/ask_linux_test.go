//lint:file-ignore SA1019 the SDK marks what the protocol gives a year's notice of; clients use it until then

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/internal/livetest"
)

// answering is a client that can be asked for everything. What people fill in goes by the
// message that they read, less who asks.
func answering(heardOf *heard[string], fill map[string]map[string]any) sdk.ClientOptions {
	return sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}},
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			heardOf.add(r.Params.Message)
			content, ok := fill[strings.TrimPrefix(r.Params.Message, "desk asks: ")]
			if !ok {
				return &sdk.ElicitResult{Action: "decline"}, nil
			}
			return &sdk.ElicitResult{Action: "accept", Content: content}, nil
		},
		CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			said := r.Params.Messages[0].Content.(*sdk.TextContent).Text
			heardOf.add(said)
			return &sdk.CreateMessageResult{Role: "assistant", Model: "parrot", Content: &sdk.TextContent{Text: fmt.Sprint(said, " ", r.Params.MaxTokens, " ", r.Params.SystemPrompt)}}, nil
		},
	}
}

func TestAToolAsksItsClient(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		var asked heard[string]
		o := answering(&asked, map[string]map[string]any{
			"What is your name?":      {"name": "Ada"},
			"Who?":                    {"name": "Grace"},
			"Name?":                   {"name": "Alan"},
			`Age of {"name":"Alan"}?`: {"age": 41},
		})
		s := open(t, mcp.Options{Only: []string{"desk"}})
		p := s.connect(t, revision, o)
		for _, c := range []struct{ op, text, want string }{
			{"askuser", "What is your name?", `accept {"name":"Ada"}`},
			{"askuser", "And your secret?", "decline "},
			{"askmodel", "Polly?", "Polly? 10 The extension desk asks.\nbe brief, says parrot"},
			{"askroots", "", "[]"},
			{"askall", "", `{"name":"Grace"}Hello 10 The extension desk asks.0`},
			{"asktwice", "", `{"name":"Alan"}{"age":41}`},
		} {
			if got := p.said("do", args(c.op, "text", c.text)); got != c.want {
				t.Errorf("%s: %q, want %q", c.op, got, c.want)
			}
		}
		if got := p.fails("do", args("asknested"), "refused"); !strings.Contains(got, "fields of its own") {
			t.Errorf("%q", got)
		}
		if pids := s.pids(); len(pids) != 1 || s.Session().Status()[0].Restarts != 0 {
			t.Errorf("%+v", s.Session().Status()[0])
		}
		// Every round of the stateless revision is a run, and no answer is asked for twice.
		if got, want := asked.list(), []string{"desk asks: What is your name?", "desk asks: And your secret?", "Polly?", "desk asks: Who?", "Hello", "desk asks: Name?", `desk asks: Age of {"name":"Alan"}?`}; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%q were asked, want %q", got, want)
		}
	})
}

func TestAClientThatCannotBeAsked(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		p := open(t, mcp.Options{Only: []string{"desk"}}).connect(t, revision, sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
		if got := p.said("do", args("askwithout")); got != "without: true" {
			t.Errorf("%q", got)
		}
		for op, capability := range map[string]string{"askuser": "elicitation", "askmodel": "sampling", "askroots": "roots"} {
			if revision == handshake {
				if got := p.fails("do", args(op, "text", "anything"), "refused"); !strings.Contains(got, capability) {
					t.Errorf("%q", got)
				}
				continue
			}
			_, err := p.CallTool(t.Context(), &sdk.CallToolParams{Name: "do", Arguments: args(op, "text", "anything")})
			e := rpc(t, err, -32021)
			var data struct {
				Required map[string]map[string]any `json:"requiredCapabilities"`
			}
			if err := json.Unmarshal(e.Data, &data); err != nil || len(data.Required) != 1 || data.Required[capability] == nil {
				t.Errorf("%s: %s, %v", op, e.Data, err)
			}
		}
	})
}

// rounds is a client of the stateless revision that answers by hand.
func rounds(t *testing.T, s *side) *peer {
	return s.connect(t, stateless, sdk.ClientOptions{
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		Capabilities: &sdk.ClientCapabilities{
			RootsV2: &sdk.RootCapabilities{}, Sampling: &sdk.SamplingCapabilities{}, Elicitation: &sdk.ElicitationCapabilities{},
		},
	})
}

func named(name any) *sdk.ElicitResult {
	return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": name}}
}

func TestAStateBelongsToItsRequestAndIsNotToBeChanged(t *testing.T) {
	s := open(t, mcp.Options{Only: []string{"desk"}})
	p := rounds(t, s)
	first := p.call("do", args("asktwice"))
	if !first.NeedsInput() || first.RequestState == "" || len(first.InputRequests) != 1 {
		t.Fatalf("%s", encoded(t, first))
	}
	again := func(tool string, arguments any, state string, responses sdk.InputResponseMap) (*sdk.CallToolResult, error) {
		return p.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments, RequestState: state, InputResponses: responses})
	}
	answer := sdk.InputResponseMap{"first": named("Ada")}
	for what, try := range map[string]func() (*sdk.CallToolResult, error){
		"added to": func() (*sdk.CallToolResult, error) {
			return again("do", args("asktwice"), first.RequestState+"-TAMPERED", answer)
		},
		"changed": func() (*sdk.CallToolResult, error) {
			return again("do", args("asktwice"), "A"+first.RequestState[1:], answer)
		},
		"made up":            func() (*sdk.CallToolResult, error) { return again("do", args("asktwice"), "state", answer) },
		"of other arguments": func() (*sdk.CallToolResult, error) { return again("do", args("askuser"), first.RequestState, answer) },
		"of another tool": func() (*sdk.CallToolResult, error) {
			return again("brief", args("asktwice"), first.RequestState, answer)
		},
		"an answer of another shape": func() (*sdk.CallToolResult, error) {
			return again("do", args("asktwice"), first.RequestState, sdk.InputResponseMap{"first": named(1)})
		},
		"an answer of another kind": func() (*sdk.CallToolResult, error) {
			return again("do", args("asktwice"), first.RequestState, sdk.InputResponseMap{"first": &sdk.ListRootsResult{Roots: []*sdk.Root{}}})
		},
		"an action that is none": func() (*sdk.CallToolResult, error) {
			return again("do", args("asktwice"), first.RequestState, sdk.InputResponseMap{"first": &sdk.ElicitResult{Action: "maybe"}})
		},
	} {
		if strings.HasPrefix(first.RequestState, "A") && what == "changed" {
			continue
		}
		_, err := try()
		if e := rpc(t, err, -32602); e.Message == "" {
			t.Errorf("%s: %v", what, e)
		}
	}
	// The same arguments, written otherwise.
	second, err := again("do", json.RawMessage(`{ "op" : "askt\u0077ice" }`), first.RequestState, sdk.InputResponseMap{"first": named("Ada"), "more": named("ignored")})
	if err != nil || !second.NeedsInput() || second.InputRequests["second"] == nil || len(second.InputRequests) != 1 || second.RequestState == first.RequestState {
		t.Fatalf("%s, %v", encoded(t, second), err)
	}
	if got := encoded(t, second.InputRequests); !strings.Contains(got, `desk asks: Age of {\"name\":\"Ada\"}?`) {
		t.Errorf("%s", got)
	}
	// An answer that does not come is asked for again.
	same, err := again("do", args("asktwice"), second.RequestState, nil)
	if err != nil || !same.NeedsInput() || same.InputRequests["second"] == nil {
		t.Fatalf("%s, %v", encoded(t, same), err)
	}
	last, err := again("do", args("asktwice"), same.RequestState, sdk.InputResponseMap{"second": &sdk.ElicitResult{Action: "accept", Content: map[string]any{"age": 36}}})
	if err != nil || last.IsError || text(last) != `{"name":"Ada"}{"age":36}` {
		t.Errorf("%s, %v", encoded(t, last), err)
	}
	if st := s.Session().Status()[0]; st.Restarts != 0 || st.Strikes != 0 {
		t.Errorf("%+v", st)
	}
}

func TestAnswersMayComeBeforeTheyAreAskedFor(t *testing.T) {
	p := rounds(t, open(t, mcp.Options{Only: []string{"desk"}}))
	got, err := p.CallTool(t.Context(), &sdk.CallToolParams{Name: "do", Arguments: args("askuser", "text", "Who?"), InputResponses: sdk.InputResponseMap{"name": named("Ada"), "more": named("x")}})
	if err != nil || text(got) != `accept {"name":"Ada"}` {
		t.Errorf("%s, %v", encoded(t, got), err)
	}
	got, err = p.CallTool(t.Context(), &sdk.CallToolParams{Name: "do", Arguments: args("askuser", "text", "Who?"), InputResponses: sdk.InputResponseMap{"wrong": named("Ada")}})
	if err != nil || !got.NeedsInput() {
		t.Errorf("%s, %v", encoded(t, got), err)
	}
}

func TestAToolThatAsksSomethingElseEachTimeComesToAnEnd(t *testing.T) {
	p := rounds(t, open(t, mcp.Options{Only: []string{"desk"}}))
	params := &sdk.CallToolParams{Name: "do", Arguments: args("askanew")}
	for n := 0; ; n++ {
		got, err := p.CallTool(t.Context(), params)
		if err != nil || n > 10 {
			t.Fatalf("round %d: %s, %v", n, encoded(t, got), err)
		}
		if got.IsError {
			if n < 8 || !strings.Contains(text(got), "something else each time") {
				t.Errorf("after %d rounds: %s", n, text(got))
			}
			return
		}
		params.RequestState, params.InputResponses = got.RequestState, sdk.InputResponseMap{"name": named("Ada")}
	}
}

func TestAPersonWhoDoesNotAnswerHoldsNobodyUp(t *testing.T) {
	s := open(t, mcp.Options{Except: []string{"desk__loose"}})
	asked := make(chan struct{})
	p := s.connect(t, handshake, sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.CallTool(ctx, &sdk.CallToolParams{Name: "desk__do", Arguments: args("askuser", "text", "Who?")})
		ended <- err
	}()
	<-asked
	if got := p.said("twin__do", args("echo", "text", "meanwhile")); got != "meanwhile" {
		t.Errorf("%q", got)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	livetest.Eventually(t, "desk is free", func() bool {
		return slices.ContainsFunc(s.pids(), livetest.Running) && s.Session().Status()[0].State == "idle"
	})
}

func TestAQuestionThatIsCancelledIsTakenBackFromItsClient(t *testing.T) {
	s := open(t, mcp.Options{Only: []string{"desk"}})
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), &mcp.Lines{In: near, Out: near}) }()
	read := json.NewDecoder(far)
	send := func(message string) {
		t.Helper()
		if _, err := io.WriteString(far, message+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	type message struct {
		ID     json.RawMessage
		Method string
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
			Message   string
		}
	}
	receive := func(want func(message) bool) message {
		t.Helper()
		for {
			var m message
			if err := read.Decode(&m); err != nil {
				t.Fatal(err)
			}
			if want(m) {
				return m
			}
		}
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	receive(func(m message) bool { return string(m.ID) == "1" })
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"do","arguments":{"op":"askuser","text":"Who?"}}}`)
	asked := receive(func(m message) bool { return m.Method == "elicitation/create" })
	if asked.Params.Message != "desk asks: Who?" {
		t.Errorf("%q", asked.Params.Message)
	}
	send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	cancelled := receive(func(m message) bool { return m.Method == "notifications/cancelled" })
	if string(cancelled.Params.RequestID) != string(asked.ID) {
		t.Errorf("request %s is cancelled, and %s was asked", cancelled.Params.RequestID, asked.ID)
	}
	send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"do","arguments":{"op":"echo","text":"free"}}}`)
	receive(func(m message) bool { return string(m.ID) == "3" })
	_ = far.Close()
	<-served
}
