package mcp

import (
	"fmt"
	"strings"

	"github.com/loomext/loomext/host"
)

// unencodable is the code of an answer that its own extension could not send.
const unencodable = "unencodable"

// crash is what a model is told of a crash: what happened, what the satellite said, and what
// happens with the next call.
func crash(e *host.Error) string {
	what, next := "panicked", "It is still running and takes the next call; what it held in memory may be half changed."
	switch {
	case e.Died():
		what, next = "crashed", "The next call starts it again. "+fmt.Sprintf("`loomext logs %s` shows its last words.", e.Extension)
	case e.Code == unencodable:
		what, next = "made an answer that cannot be sent", "It is still running and takes the next call."
	}
	text := fmt.Sprintf("The tool failed: %s %s: %s\n", e.Extension, what, bounded(strings.TrimPrefix(e.Msg, "panic: "), maxWords))
	if words := words(e.Output); words != "" {
		text += words + "\n"
	}
	return text + next
}

// words are what a satellite wrote that is for people: up to the stack.
func words(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "goroutine ") || strings.HasPrefix(line, "runtime stack:") {
			break
		}
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return bounded(strings.Join(lines, "\n"), maxWords)
}
