package manifest

import (
	"slices"
	"strings"
)

// The closed lists. Order is the order in which messages name them.
var (
	capabilities = []string{"net", "fs_read", "fs_write", "kv", "proc", "clock", "rand"}

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

// choose tells the reader of a message which word to write: the nearest of the
// known ones, or all of them where none is near.
func choose(got string, known []string) string {
	if near, ok := nearest(got, known); ok {
		return "did you mean " + quote(near) + "?"
	}
	if len(known) == 0 {
		return "remove it"
	}
	return "use one of " + strings.Join(known, ", ")
}

// nearest finds the known word that a misspelt one was probably meant to be.
// Case, hyphens and a plural s are the commonest slips, then one or two letters
// wrong, then a word cut short or given another ending.
func nearest(got string, known []string) (string, bool) {
	if len(got) > 2*MaxName {
		return "", false
	}
	folded := fold(got)
	best, bestDistance := "", 3
	for _, k := range known {
		d := distance(folded, fold(k))
		if d < bestDistance && d <= allowed(len(k)) {
			best, bestDistance = k, d
		}
	}
	if best != "" {
		return best, true
	}
	for _, k := range known {
		common := commonPrefix(folded, fold(k))
		if common >= 3 && common == len(folded) || common >= 4 && 3*common >= 2*len(folded) {
			return k, true
		}
	}
	return "", false
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// allowed is how many letters may differ in a word of n bytes before another
// word is more likely meant.
func allowed(n int) int {
	switch {
	case n <= 2:
		return 0
	case n <= 5:
		return 1
	default:
		return 2
	}
}

func fold(s string) string {
	return strings.ReplaceAll(strings.ToLower(s), "-", "_")
}

// distance counts the insertions, deletions, substitutions and swaps of
// neighbors between two words.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, above := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(y)]
}
