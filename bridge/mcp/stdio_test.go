package mcp_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/bridge/mcp"
)

// A client that listens for changes has that call open for as long as it is there. It
// closes its side to end, and would be made to wait for as long as calls are.
func TestAClientThatListensIsNotWaitedFor(t *testing.T) {
	lines := &mcp.Lines{
		In:  strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}` + "\n"),
		Out: io.Discard,
	}
	connection, err := lines.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed := time.Now()
	if _, err := connection.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("the connection ended with %v", err)
	}
	if waited := time.Since(closed); waited > 2*time.Second {
		t.Errorf("the client was waited for, %s", waited)
	}
}
