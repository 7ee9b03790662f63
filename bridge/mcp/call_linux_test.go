package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/internal/livetest"
)

func TestAToolIsListedAsInstalledBeforeAnythingRuns(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		s := open(t, mcp.Options{Only: []string{"desk"}})
		p := s.connect(t, revision, sdk.ClientOptions{})
		if got, want := p.names(), []string{"brief", "do", "loose"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v: what is a prompt or a resource is no tool", got, want)
		}
		for tool, err := range p.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			schema, _ := tool.InputSchema.(map[string]any)
			if tool.Name == "do" && (tool.Description != "Does one thing." || schema["additionalProperties"] != false || len(schema["properties"].(map[string]any)) != 4) {
				t.Errorf("%s", encoded(t, tool))
			}
			if tool.Name == "loose" && encoded(t, schema) != `{"description":"Anything.","type":"object"}` {
				t.Errorf("%s", encoded(t, schema))
			}
		}
		if pids := s.pids(); len(pids) > 0 {
			t.Errorf("listing has started %v", pids)
		}
		init := p.InitializeResult()
		if !strings.Contains(init.Instructions, "desk") || !strings.Contains(init.Instructions, "do: does one thing") {
			t.Errorf("%q", init.Instructions)
		}
		if init.Capabilities.Tools == nil || !init.Capabilities.Tools.ListChanged || init.Capabilities.Prompts == nil || init.Capabilities.Resources == nil || !init.Capabilities.Resources.Subscribe {
			t.Errorf("%s", encoded(t, init.Capabilities))
		}
	})
}

func TestAToolAnswers(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		p := plain(t, revision)
		if got := p.said("do", args("echo", "text", "<hello> \u2028 \"&\"")); got != "<hello> \u2028 \"&\"" {
			t.Errorf("%q", got)
		}
		if got := p.said("loose", nil); got != "{}" {
			t.Errorf("no arguments arrive as %q", got)
		}
		if got := p.said("loose", json.RawMessage(`{"b": 1.50, "a": [ ]}`)); got != `{"b":1.50,"a":[]}` && got != `{"b": 1.50, "a": [ ]}` {
			t.Errorf("%q", got)
		}
		_, err := p.CallTool(t.Context(), &sdk.CallToolParams{Name: "nothing"})
		rpc(t, err, -32602)
		_, err = p.CallTool(t.Context(), &sdk.CallToolParams{Name: "letter"})
		rpc(t, err, -32602) // a prompt
	})
}

func TestOneDocumentIsStructuredContent(t *testing.T) {
	for _, c := range []struct {
		revision, op, document string
		structured             bool
	}{
		{handshake, "json", `{"a":[1,null]}`, true},
		{handshake, "json", `[1,2]`, false}, // not before the stateless revision
		{handshake, "json", `null`, false},
		{handshake, "both", `{"a":1}`, false},
		{stateless, "json", `{"a":1}`, true},
		{stateless, "json", `[1,2]`, true},
		{stateless, "json", `"text"`, true},
		{stateless, "both", `{"a":1}`, false},
	} {
		t.Run(c.revision+" "+c.document, func(t *testing.T) {
			result := plain(t, c.revision).call("do", args(c.op, "text", c.document))
			if !strings.HasSuffix(text(result), c.document) {
				t.Errorf("the text is %q", text(result))
			}
			if got := encoded(t, result.StructuredContent); c.structured && got != c.document || !c.structured && result.StructuredContent != nil {
				t.Errorf("structured content is %s", got)
			}
		})
	}
}

func TestFailuresSayWhatHappened(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		p := plain(t, revision)
		if got := p.fails("do", args("refuse", "text", "no such city"), "refused"); got != "no such city" {
			t.Errorf("a refusal reads %q", got)
		}
		for _, c := range []struct {
			tool, op, code string
			pieces         []string
		}{
			{"do", "panic", "crashed", []string{"desk panicked: on purpose\n", "tool/tool.go", "It is still running"}},
			{"do", "json", "unencodable", []string{"made an answer that cannot be sent", "It is still running"}},
			{"do", "die", "crashed", []string{"desk crashed", "panic: on purpose\n", "The next call starts it again", "loomext logs desk"}},
			{"brief", "spin", "deadline", []string{"desk did not answer in time"}},
		} {
			born := p.said("do", args("pid"))
			got := p.fails(c.tool, args(c.op, "text", "on purpose"), c.code)
			if lives := strings.Contains(got, "still running"); c.op != "spin" && lives != (p.said("do", args("pid")) == born) {
				t.Errorf("%s is said to leave the satellite running: %t, and is otherwise", c.op, lives)
			}
			for _, piece := range c.pieces {
				if !strings.Contains(got, piece) {
					t.Errorf("%s reads %q, without %q", c.op, got, piece)
				}
			}
			if strings.Contains(got, "goroutine") {
				t.Errorf("%s shows a stack: %q", c.op, got)
			}
			if got := p.said("do", args("echo", "text", "still")); got != "still" {
				t.Errorf("after %s: %q", c.op, got)
			}
		}
	})
}

func TestArgumentsAreAtFaultByPointer(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		s := open(t, mcp.Options{Only: []string{"desk"}})
		p := s.connect(t, revision, sdk.ClientOptions{})
		result := p.call("do", json.RawMessage(`{"op": 1, "n": "two", "more": 3}`))
		if !result.IsError || result.Meta["loomext/code"] != "bad_arguments" {
			t.Fatalf("%s", encoded(t, result))
		}
		faults, _ := result.Meta["loomext/faults"].([]any)
		var pointers []string
		for _, f := range faults {
			pointers = append(pointers, f.(map[string]any)["pointer"].(string))
		}
		if want := []string{"/more", "/n", "/op"}; !slices.Equal(pointers, want) {
			t.Errorf("%v, want %v in %s", pointers, want, encoded(t, result.Meta))
		}
		if got := text(result); !strings.Contains(got, "\n/n: ") || !strings.Contains(got, "\n/op: ") {
			t.Errorf("%q", got)
		}
		if result := p.call("do", []int{1}); !result.IsError {
			t.Errorf("%s", encoded(t, result))
		}
		if pids := s.pids(); len(pids) > 0 {
			t.Errorf("arguments that do not fit have started %v", pids)
		}
	})
}

func TestAnExtensionThatDiesTooOftenIsGoneAndTheOthersAreNot(t *testing.T) {
	s := open(t, mcp.Options{Except: []string{"desk__loose", "twin__loose"}})
	p := s.connect(t, handshake, sdk.ClientOptions{})
	for range 4 {
		p.fails("desk__do", args("die"), "crashed")
	}
	got := p.fails("desk__do", args("echo"), "gone")
	if !strings.Contains(got, "ended too often") || strings.Contains(got, "/") {
		t.Errorf("%q", got)
	}
	if got := p.said("twin__do", args("echo", "text", "still")); got != "still" {
		t.Errorf("%q", got)
	}
	s.Apply() // as any change of the store would
	if got := p.names(); !slices.Contains(got, "desk__do") {
		t.Errorf("%v: what is out is told of no more", got)
	}
}

func TestASatelliteThatIsKilledIsStartedAgain(t *testing.T) {
	s := open(t, mcp.Options{Only: []string{"desk"}})
	began := make(chan struct{}, 1)
	p := s.connect(t, handshake, sdk.ClientOptions{ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) {
		began <- struct{}{}
	}})
	kill := func() {
		for _, pid := range s.pids() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	p.said("do", args("echo"))
	kill() // while nobody calls it
	livetest.Eventually(t, "the death is noted", func() bool { return len(s.pids()) == 0 })
	if got := p.said("do", args("echo", "text", "again")); got != "again" {
		t.Errorf("%q", got)
	}
	go func() {
		<-began
		kill()
	}()
	params := &sdk.CallToolParams{Name: "do", Arguments: args("hold")}
	params.SetProgressToken("token")
	result, err := p.CallTool(t.Context(), params)
	if err != nil || !result.IsError || result.Meta["loomext/code"] != "crashed" {
		t.Errorf("%s, %v", encoded(t, result), err)
	}
	if got := p.said("do", args("echo", "text", "still")); got != "still" {
		t.Errorf("%q", got)
	}
}

func TestACancelledRequestEndsTheCall(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		s := open(t, mcp.Options{Only: []string{"desk"}})
		began := make(chan struct{}, 1)
		p := s.connect(t, revision, sdk.ClientOptions{ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) {
			began <- struct{}{}
		}})
		born := p.said("do", args("pid"))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-began
			cancel()
		}()
		params := &sdk.CallToolParams{Name: "do", Arguments: args("hold")}
		params.SetProgressToken("token")
		if _, err := p.CallTool(ctx, params); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		within(t, 10*time.Second, "the next call", func() {
			if got := p.said("do", args("pid")); got != born {
				t.Error("a cancellation that was heeded has cost the satellite")
			}
		})
	})
}

func TestPartialsAreProgress(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		var notes heard[sdk.ProgressNotificationParams]
		p := open(t, mcp.Options{Only: []string{"desk"}}).connect(t, revision, sdk.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { notes.add(*r.Params) },
		})
		p.call("do", args("report", "text", "nobody asked", "n", 3))
		params := &sdk.CallToolParams{Name: "do", Arguments: args("report", "text", "part ", "n", 5)}
		params.SetProgressToken("token")
		if _, err := p.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		livetest.Eventually(t, "all are there", func() bool { return len(notes.list()) >= 5 })
		all := notes.list()
		if len(all) != 5 {
			t.Fatalf("%+v", all)
		}
		for i, note := range all {
			if note.ProgressToken != "token" || note.Progress != float64(i+1) || note.Message != fmt.Sprint("part ", i) {
				t.Errorf("%+v", note)
			}
		}
	})
}

func TestAClientThatTakesNoProgressInHoldsNoExtensionUp(t *testing.T) {
	s := open(t, mcp.Options{Only: []string{"desk"}})
	stuck := make(chan struct{})
	p := s.connect(t, handshake, sdk.ClientOptions{ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { <-stuck }})
	params := &sdk.CallToolParams{Name: "do", Arguments: args("report", "text", "part ", "n", 5000)}
	params.SetProgressToken(1)
	answered := make(chan error, 1)
	go func() {
		_, err := p.CallTool(context.Background(), params)
		answered <- err
	}()
	livetest.Eventually(t, "the tool has ended", func() bool {
		st := s.Session().Status()[0]
		return st.PID != 0 && st.State == "idle"
	})
	close(stuck)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestABigResult(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		const size = 10 << 20
		if got := plain(t, revision).said("do", args("big", "n", size)); len(got) < size-10 || !strings.HasPrefix(got, "0123456789") {
			t.Errorf("%d bytes", len(got))
		}
	})
}

func TestManyCallsOfManyExtensionsAllAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	const extensions, calls = 8, 32
	home := scratch + "/many"
	for i := range extensions {
		if err := installDesk(home, fmt.Sprint("desk", i)); err != nil {
			t.Fatal(err)
		}
	}
	p := openAt(t, home, mcp.Options{}).connect(t, stateless, sdk.ClientOptions{})
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			word := fmt.Sprint("word ", i)
			result, err := p.CallTool(context.Background(), &sdk.CallToolParams{Name: fmt.Sprintf("desk%d__do", i%extensions), Arguments: args("echo", "text", word)})
			if err != nil || text(result) != word {
				t.Errorf("call %d: %v, %s", i, err, encoded(t, result))
			}
		})
	}
	all.Wait()
}
