package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// initialize begins a session.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// written is what a connection wrote.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestALineThatIsNoMessageEndsNothing(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","method":"ping"}`
	for _, tt := range []struct{ name, line, code string }{
		{"no JSON", "hello", "-32700"},
		{"half of a message", `{"jsonrpc":"2.0","id":1`, "-32700"},
		{"no UTF-8", "\xff\xfe", "-32700"},
		{"JSON", `{"a":1}`, "-32600"},
		{"a batch", "[" + ping + "]", "-32600"},
		{"too long", `"` + strings.Repeat("x", maxLine) + `"`, "-32600"},
		{"nothing", "  \t\r", ""},
		{"two on one line", ping + ping, "-32700"},
		{"an id of null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "-32600"},
		{"an id that is a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "-32600"},
		{"an id that no double has", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, "-32600"},
		{"an id beyond all", `{"jsonrpc":"2.0","id":1e300,"method":"ping"}`, "-32600"},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "-32600"},
		{"an error for a line of ours", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, ""},
	} {
		out := &written{}
		c, err := (&Lines{In: strings.NewReader(tt.line + "\n" + ping), Out: out}).Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		message, err := c.Read(t.Context())
		if request, ok := message.(*jsonrpc.Request); err != nil || !ok || request.Method != "ping" {
			t.Errorf("%s: the message after it: %v, %v", tt.name, message, err)
		}
		if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("%s: the end: %v", tt.name, err)
		}
		got := out.String()
		if tt.code == "" && got != "" || tt.code != "" && (!json.Valid([]byte(got)) || !strings.Contains(got, tt.code)) {
			t.Errorf("%s: answered %q", tt.name, got)
		}
		_ = c.Close()
	}
}

func TestWhatWasAskedForIsAnsweredThoughTheClientHasClosedItsSide(t *testing.T) {
	c, err := (&Lines{In: strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"ping"}`), Out: io.Discard}).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	message, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const answerTakes = 100 * time.Millisecond
	began := time.Now()
	time.AfterFunc(answerTakes, func() {
		_ = c.Write(t.Context(), &jsonrpc.Response{ID: message.(*jsonrpc.Request).ID, Result: json.RawMessage("{}")})
	})
	if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
	if took := time.Since(began); took < answerTakes || took >= parting {
		t.Errorf("it ended after %s", took)
	}
}

func TestTheEndOfAConnectionWaitsForNoClient(t *testing.T) {
	in, client := io.Pipe()
	defer client.Close()
	c, err := (&Lines{In: in, Out: io.Discard}).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { _ = c.Close() })
	if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(initialize))
	f.Add([]byte("[]\n\n{}\r\n\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out := &written{}
		c, err := (&Lines{In: bytes.NewReader(text), Out: out}).Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for {
			message, err := c.Read(t.Context())
			if err != nil {
				break
			}
			if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
				_ = c.Write(t.Context(), &jsonrpc.Response{ID: request.ID, Result: json.RawMessage("{}")})
			}
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("answered %q", line)
			}
		}
	})
}
