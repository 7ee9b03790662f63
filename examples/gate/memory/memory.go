// Package memory keeps what the hooks of a session did, for the note before a compaction. A
// session has one satellite, so it is a variable; a satellite that was started anew begins anew.
package memory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

var (
	lock     sync.Mutex
	blocked  = map[string]int{} // by rule
	redacted = map[string]int{} // by kind
)

// Blocked notes a command that was blocked.
func Blocked(rule string) {
	lock.Lock()
	defer lock.Unlock()
	blocked[rule]++
}

// Redacted notes values that were taken out.
func Redacted(kinds []string) {
	lock.Lock()
	defer lock.Unlock()
	for _, kind := range kinds {
		redacted[kind]++
	}
}

// Note is what whoever writes the summary should know.
func Note() string {
	lock.Lock()
	defer lock.Unlock()
	lines := []string{"Shell commands in this session are gated: keep in the summary that a command which destroys or leaks is blocked with a reason, and that repeating it in another spelling is no way around."}
	if len(blocked) > 0 {
		lines = append(lines, "Blocked so far: "+counted(blocked)+". Keep what was to be achieved and what was done instead.")
	}
	if len(redacted) > 0 {
		lines = append(lines, "Secrets were taken out of tool results: "+counted(redacted)+". Values shown as [redacted: …] are not known; the summary must not make any up.")
	}
	return strings.Join(lines, "\n")
}

// Reset forgets everything, for tests.
func Reset() {
	lock.Lock()
	defer lock.Unlock()
	clear(blocked)
	clear(redacted)
}

func counted(n map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", name, n[name]))
	}
	return strings.Join(parts, ", ")
}
