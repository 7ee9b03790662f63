package compact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/ext/hook"

	"example.com/gate/compact"
	"example.com/gate/gate"
	"example.com/gate/memory"
	"example.com/gate/result"
)

// One session: a command is blocked, a secret taken out, and the compaction is told of both.
func TestASession(t *testing.T) {
	memory.Reset()
	host := captest.New(t)
	host.Config(map[string]any{"shell_tools": []string{"bash"}, "command_keys": []string{"command"}, "allow_rules": []string{}, "redact": true})
	note, err := compact.OnBeforeCompact(host.Context(), hook.Compaction{})
	if err != nil || strings.Contains(note, "so far") || strings.Contains(note, "redacted") {
		t.Errorf("%q, %v", note, err)
	}
	for range 2 {
		if v, err := gate.OnToolCall(host.Context(), hook.Call{Tool: "bash", Arguments: json.RawMessage(`{"command": "git push -f"}`)}); err != nil || v == hook.Allow {
			t.Fatal(v, err)
		}
	}
	message, err := result.OnToolResult(host.Context(), json.RawMessage(`{"content": "PASSWORD=hunter22", "n": 1.0}`))
	if err != nil || string(message) != `{"content": "PASSWORD=[redacted: password]", "n": 1.0}` {
		t.Errorf("%s, %v", message, err)
	}
	note, err = compact.OnBeforeCompact(host.Context(), hook.Compaction{})
	if err != nil || !strings.Contains(note, "Blocked so far: force-push (2).") || !strings.Contains(note, "tool results: password (1).") || strings.Contains(note, "hunter22") {
		t.Errorf("%q, %v", note, err)
	}
}

func TestRedactionCanBeTurnedOff(t *testing.T) {
	host := captest.New(t)
	host.Config(map[string]any{"redact": false})
	const message = `{"content": "PASSWORD=hunter22"}`
	if got, err := result.OnToolResult(host.Context(), json.RawMessage(message)); err != nil || string(got) != message {
		t.Errorf("%s, %v", got, err)
	}
}
