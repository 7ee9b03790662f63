package manifest

import "slices"

// The closed lists. Order is the order in which messages name them.
var (
	capabilities = []string{"net", "fs_read", "fs_write", "kv", "proc", "clock", "rand", "ask"}

	// durableCapabilities are served by the durable plane, which is not here.
	durableCapabilities = []string{"state", "timers", "attention", "send", "session", "compaction"}

	// durableTables are read by the durable plane, which is not here.
	durableTables = []string{"collection", "state", "document", "command", "projection", "compaction"}

	methods = []string{"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"}

	events = []struct{ name, function string }{
		{"session_start", "OnSessionStart"},
		{"before_agent_start", "OnBeforeAgentStart"},
		{"context", "OnContext"},
		{"tool_call", "OnToolCall"},
		{"tool_result", "OnToolResult"},
		{"agent_end", "OnAgentEnd"},
		{"agent_settled", "OnAgentSettled"},
		{"before_compact", "OnBeforeCompact"},
		{"usage", "OnUsage"},
	}
)

// Capabilities lists the capabilities an extension may request.
func Capabilities() []string { return slices.Clone(capabilities) }

// Events lists the events a hook may answer.
func Events() []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.name
	}
	return names
}

// HookFunc is the name of the function that a hook's entry package exports for
// an event: "tool_call" gives "OnToolCall". It is false for an unknown event.
func HookFunc(event string) (string, bool) {
	for _, e := range events {
		if e.name == event {
			return e.function, true
		}
	}
	return "", false
}
