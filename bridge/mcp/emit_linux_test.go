//lint:file-ignore SA1019 the SDK marks what the protocol gives a year's notice of; clients use it until then

package mcp_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/broker/artifact"
	"github.com/loomext/loomext/internal/livetest"
)

func TestArtifactsFollowTheAnswerAndCanBeRead(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		var l listener
		s := open(t, mcp.Options{Only: []string{"desk"}})
		p := s.connect(t, revision, l.options())
		for _, c := range []struct {
			contentType string
			size        int
			want        string
		}{
			{"image/png", 3, `{"type":"image","mimeType":"image/png","data":"eHh4"}`},
			{"audio/wav", 3, `{"type":"audio","mimeType":"audio/wav","data":"eHh4"}`},
			{"text/csv; charset=utf-8", 3, `"text":"xxx"`},
			{"application/geo+json", 3, `"text":"xxx"`},
			{"application/zip", 3, `"blob":"eHh4"`},
			{"text/plain", 0, `"blob":""`},
			{"image/png", mcp.MaxInline + 1, `"type":"resource_link"`},
		} {
			result := p.call("do", args("emit", "key", "a name", "text", c.contentType, "n", c.size))
			if len(result.Content) != 2 || text(result) != "emitted" {
				t.Fatalf("%s", encoded(t, result))
			}
			if got := encoded(t, result.Content[1]); !strings.Contains(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		}
		livetest.Eventually(t, "the list is said to be another", func() bool { return len(l.resources.list()) > 0 })
		read := 0
		for r, err := range p.Resources(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(r.URI, "loomext://artifacts/") {
				continue
			}
			contents, err := p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: r.URI})
			if err != nil {
				t.Fatal(err)
			}
			one := contents.Contents[0]
			if int64(len(one.Text)+len(one.Blob)) != r.Size || r.Name != "a name" || one.MIMEType != r.MIMEType || one.URI != r.URI {
				t.Errorf("%s: %d and %d bytes", encoded(t, r), len(one.Text), len(one.Blob))
			}
			read++
		}
		if read != 7 {
			t.Errorf("%d artifacts are listed", read)
		}
	})
}

func TestArtifactsOfOtherSessionsCannotBeRead(t *testing.T) {
	s := open(t, mcp.Options{Only: []string{"desk"}})
	p := s.connect(t, stateless, sdk.ClientOptions{})
	other, err := s.host.Artifacts().Put(artifact.Meta{Extension: "desk", Session: "another", Name: "secret", ContentType: "text/plain"}, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{"loomext://artifacts/" + other.ID, "loomext://artifacts/../" + other.ID, "loomext://artifacts/", "file:///etc/passwd", "desk://page/../front", "desk://page/1", ""} {
		_, err := p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		rpc(t, err, -32602)
	}
}

func TestAPromptIsWhatItsToolAnswers(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		p := plain(t, revision)
		list, err := p.ListPrompts(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := encoded(t, list.Prompts); got != `[{"arguments":[{"name":"to","description":"Who gets it.","required":true},{"name":"tone"},{"name":"pages"}],"description":"Writes a letter.","name":"write"}]` {
			t.Errorf("%s", got)
		}
		got, err := p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "write", Arguments: map[string]string{"to": "5", "tone": "frank", "pages": "2"}})
		if err != nil {
			t.Fatal(err)
		}
		if want := `[{"content":{"type":"text","text":"{\"pages\":2,\"to\":\"5\",\"tone\":\"frank\"}"},"role":"user"}]`; encoded(t, got.Messages) != want || got.Description != "Writes a letter." {
			t.Errorf("%s, want %s", encoded(t, got.Messages), want)
		}
		_, err = p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "write", Arguments: map[string]string{"tone": "rude", "pages": "many"}})
		e := rpc(t, err, -32602)
		for _, piece := range []string{"/tone", "/pages", `"loomext/code":"bad_arguments"`} {
			if !strings.Contains(e.Message+string(e.Data), piece) {
				t.Errorf("%s %s has no %s", e.Message, e.Data, piece)
			}
		}
		_, err = p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "letter"})
		rpc(t, err, -32602)
	})
}

func TestAResourceIsWhatItsToolAnswers(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		p := plain(t, revision)
		for uri, want := range map[string]string{
			"desk://today":           `[{"uri":"desk://today","mimeType":"application/json","text":"{}"}]`,
			"desk://photo":           `[{"uri":"desk://photo","mimeType":"image/png","blob":"YSBwaWN0dXJl"}]`,
			"desk://page/12/back":    `[{"uri":"desk://page/12/back","mimeType":"application/json","text":"{\"number\":12,\"side\":\"back\"}"}]`,
			"desk://page/%31/b%61ck": `[{"uri":"desk://page/%31/b%61ck","mimeType":"application/json","text":"{\"number\":1,\"side\":\"back\"}"}]`,
		} {
			got, err := p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil {
				t.Errorf("%s: %v", uri, err)
			} else if encoded(t, got.Contents) != want {
				t.Errorf("%s, want %s", encoded(t, got.Contents), want)
			}
		}
		_, err := p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "desk://page/one/back"})
		if e := rpc(t, err, -32602); !strings.Contains(e.Message, "/number") {
			t.Errorf("%v", e)
		}
		templates, err := p.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "desk://page/{number}/{side}" {
			t.Errorf("%s, %v", encoded(t, templates), err)
		}
		resources, err := p.ListResources(t.Context(), nil)
		if err != nil || len(resources.Resources) != 2 || resources.Resources[1].Description != "What is on the desk today." {
			t.Errorf("%s, %v", encoded(t, resources), err)
		}
	})
}

func TestCompletionIsOfTheValuesThatASchemaNames(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		p := plain(t, revision)
		prompt, page := &sdk.CompleteReference{Type: "ref/prompt", Name: "write"}, &sdk.CompleteReference{Type: "ref/resource", URI: "desk://page/{number}/{side}"}
		for _, c := range []struct {
			ref         *sdk.CompleteReference
			name, value string
			want        []string
		}{
			{prompt, "tone", "fr", []string{"friendly", "frank"}},
			{prompt, "tone", "", []string{"formal", "friendly", "frank"}},
			{prompt, "tone", "x", []string{}},
			{prompt, "to", "x", []string{}},
			{page, "side", "b", []string{"back"}},
		} {
			got, err := p.Complete(t.Context(), &sdk.CompleteParams{Ref: c.ref, Argument: sdk.CompleteParamsArgument{Name: c.name, Value: c.value}})
			if err != nil {
				t.Fatal(err)
			}
			if d := got.Completion; !slices.Equal(d.Values, c.want) || d.Total != len(c.want) || d.HasMore {
				t.Errorf("%s %q: %+v", c.name, c.value, d)
			}
		}
		for _, params := range []*sdk.CompleteParams{
			{Ref: prompt, Argument: sdk.CompleteParamsArgument{Name: "absent"}},
			{Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "absent"}, Argument: sdk.CompleteParamsArgument{Name: "a"}},
			{Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "desk://today"}, Argument: sdk.CompleteParamsArgument{Name: "a"}},
		} {
			_, err := p.Complete(t.Context(), params)
			rpc(t, err, -32602)
		}
	})
}

func TestReportsGoToTheLogOfAClientThatWantsOne(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		var lines heard[string]
		p := open(t, mcp.Options{Only: []string{"desk"}}).connect(t, revision, sdk.ClientOptions{
			LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
				lines.add(fmt.Sprint(r.Params.Level, " ", r.Params.Logger, " ", r.Params.Data))
			},
		})
		p.call("do", args("report", "text", "too early ", "n", 3))
		params := &sdk.CallToolParams{Name: "do", Arguments: args("report", "text", "line ", "n", 3)}
		if revision == stateless {
			params.Meta = sdk.Meta{sdk.MetaKeyLogLevel: "info"}
		} else if err := p.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "debug"}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		livetest.Eventually(t, "they are there", func() bool { return len(lines.list()) >= 3 })
		if got, want := lines.list(), []string{"info desk line 0", "info desk line 1", "info desk line 2"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestWhatAnExtensionPrintsGoesToTheLogAlone(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		var lines heard[string]
		p := open(t, mcp.Options{Only: []string{"desk"}}).connect(t, revision, sdk.ClientOptions{
			LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) { lines.add(fmt.Sprint(r.Params.Data)) },
		})
		params := &sdk.CallToolParams{Name: "do", Arguments: args("die", "text", "on purpose")}
		if revision == stateless {
			params.Meta = sdk.Meta{sdk.MetaKeyLogLevel: "info"}
		} else if err := p.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "info"}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		livetest.Eventually(t, "it is there", func() bool {
			return slices.ContainsFunc(lines.list(), func(line string) bool { return strings.HasPrefix(line, "panic: on purpose") })
		})
	})
}

func TestAFloodHoldsNothingUp(t *testing.T) {
	var lines heard[string]
	p := open(t, mcp.Options{Only: []string{"desk"}}).connect(t, handshake, sdk.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) { lines.add(fmt.Sprint(r.Params.Data)) },
	})
	if err := p.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "debug"}); err != nil {
		t.Fatal(err)
	}
	const flood = 20_000 // lines
	p.call("do", args("report", "text", "report ", "n", flood))
	p.fails("do", args("flood", "text", "x", "n", flood), "crashed")
	if got := p.said("do", args("echo", "text", "after the flood")); got != "after the flood" {
		t.Errorf("%q", got)
	}
	reports, printed := 0, 0
	for _, line := range lines.list() {
		switch {
		case strings.HasPrefix(line, "report "):
			reports++
		case strings.Contains(line, "xxxx"):
			printed++
		}
	}
	if reports == 0 || printed == 0 || printed > mcp.MaxLines {
		t.Errorf("of %d reports and %d lines %d and %d were sent on", flood, flood, reports, printed)
	}
	if all := lines.list(); !slices.ContainsFunc(all, func(line string) bool {
		var lost int
		_, err := fmt.Sscanf(line, "loomext left out %d more lines", &lost)
		return err == nil && lost >= flood-mcp.MaxLines
	}) {
		t.Errorf("nothing is said of the lines that were left out, last %q", all[len(all)-1])
	}
}

func TestWhatAnExtensionPrintsInOneClientsCallReachesNoOther(t *testing.T) {
	revisions(t, func(t *testing.T, revision string) {
		s := open(t, mcp.Options{Only: []string{"desk"}})
		var own, others heard[string]
		connect := func(lines *heard[string]) *peer {
			p := s.connect(t, revision, sdk.ClientOptions{
				LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) { lines.add(fmt.Sprint(r.Params.Data)) },
			})
			if revision == handshake {
				if err := p.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "debug"}); err != nil {
					t.Fatal(err)
				}
			}
			return p
		}
		one, other := connect(&own), connect(&others)
		call := func(p *peer, arguments map[string]any) (*sdk.CallToolResult, error) {
			params := &sdk.CallToolParams{Name: "do", Arguments: arguments}
			if revision == stateless {
				params.Meta = sdk.Meta{sdk.MetaKeyLogLevel: "debug"}
			}
			return p.CallTool(t.Context(), params)
		}
		if _, err := call(one, args("echo")); err != nil { // the satellite is there
			t.Fatal(err)
		}
		var waiting sync.WaitGroup
		for range 8 { // before, in the queue behind, and after
			waiting.Go(func() {
				for range 4 {
					if _, err := call(other, args("echo")); err != nil {
						t.Error(err)
					}
				}
			})
		}
		if result, err := call(one, args("flood", "text", "x", "n", 500)); err != nil || !result.IsError {
			t.Errorf("%s, %v", encoded(t, result), err)
		}
		waiting.Wait()
		if len(own.list()) < 10 {
			t.Errorf("%q", own.list())
		}
		if got := others.list(); len(got) > 0 {
			t.Errorf("another client was sent %d lines, like %q", len(got), got[0])
		}
	})
}
