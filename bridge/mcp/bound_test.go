package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/host"
)

// What is measured is what the SDK writes, to the byte but for the frame of a block.
func TestTheSizeOfAResultIsThatOfItsJSON(t *testing.T) {
	for _, text := range []string{"", "plain", "<a href=\"x\">&</a>", "\x00\x1f\b\f\n\r\t\\", "é\u2028\u2029\U0001f600", "\xff\xfe", strings.Repeat("<\x01\"", 1000)} {
		encoded, err := (&sdk.TextContent{Text: text}).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		const frame = len(`{"type":"text","text":}`)
		if got, want := textSize([]byte(text)), len(encoded)-frame; got != want || frame+1 > blockBytes {
			t.Errorf("%q has %d bytes, want %d", text, got, want)
		}
		document, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(json.RawMessage(document))
		if err != nil || documentSize(document) < len(again) {
			t.Errorf("%q as a document has %d bytes, want %d: %v", text, documentSize(document), len(again), err)
		}
	}
}

func TestNoResultIsLargerThanClientsRead(t *testing.T) {
	block := func(kind, text string) host.Outcome {
		return host.Outcome{Content: []host.Block{{Type: kind, Body: []byte(text)}}}
	}
	large := emission{id: "x", name: "n", contentType: "text/html", data: []byte(strings.Repeat("<", maxInline)), inline: true, size: maxInline}
	for _, tt := range []struct {
		name    string
		answer  answer
		isError bool
		links   int
	}{
		{"ten megabytes of text", answer{outcome: block(host.BlockText, strings.Repeat("0", 10_000_000))}, false, 0},
		{"text that is six times as long", answer{outcome: block(host.BlockText, strings.Repeat("<", 3<<20))}, true, 0},
		{"many blocks of nothing", answer{outcome: host.Outcome{Content: make([]host.Block, 500_000)}}, true, 0},
		{"a document of markup", answer{outcome: block(host.BlockJSON, `{"a":"`+strings.Repeat("<", 3<<19)+`"}`)}, false, 0},
		{"artifacts of markup", answer{outcome: block(host.BlockText, "text"), emitted: []emission{large, large, large, large}}, false, 3},
		{"both", answer{outcome: block(host.BlockText, strings.Repeat("<", 3<<20)), emitted: []emission{large}}, true, 0},
	} {
		result := resultOf(call{extension: "e", client: client{stateless: true}}, tt.answer)
		encoded, err := json.Marshal(result)
		if err != nil || len(encoded) > maxResult+partBytes {
			t.Errorf("%s: %d bytes are sent, %v", tt.name, len(encoded), err)
		}
		links := 0
		for _, c := range result.Content {
			if _, ok := c.(*sdk.ResourceLink); ok {
				links++
			}
		}
		if result.IsError != tt.isError || links != tt.links {
			t.Errorf("%s: an error is %t, with %d links", tt.name, result.IsError, links)
		}
		if text, ok := result.Content[0].(*sdk.TextContent); tt.isError && (!ok || !strings.Contains(text.Text, "iB")) {
			t.Errorf("%s: it says %v", tt.name, result.Content[0])
		}
	}
}

func TestWhatNestsDeepIsTextAlone(t *testing.T) {
	nested := func(n int) host.Outcome {
		text := strings.Repeat(`{"a":`, n) + `"[[[[\"[["` + strings.Repeat("}", n)
		return host.Outcome{Content: []host.Block{{Type: host.BlockJSON, Body: []byte(text)}}}
	}
	for n, want := range map[int]bool{1: true, maxDepth: true, maxDepth + 1: false, 20_000: false} {
		if got := structured(nested(n), false) != nil; got != want {
			t.Errorf("%d deep: structured is %t", n, got)
		}
	}
}

func TestWhatIsToldOfAFailureIsBounded(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	for _, e := range []*host.Error{
		{Kind: host.Refused, Msg: long}, {Kind: host.Crashed, Code: "crashed", Msg: long, Output: long}, {Kind: host.Deadline, Msg: long}, {Kind: host.Protocol, Msg: long},
	} {
		got := failed(e).Content[0].(*sdk.TextContent).Text
		if len(got) > maxTold+100 || !strings.Contains(got, "more)") || strings.Contains(got, "\ufffd") {
			t.Errorf("%s: %d bytes: %.100q", e.Kind, len(got), got)
		}
		if err := refused(e); len(err.Error()) > maxTold+200 {
			t.Errorf("%s: an error of %d bytes", e.Kind, len(err.Error()))
		}
	}
}
