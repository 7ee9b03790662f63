package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/loomext/loomext/hookbus"
)

// maxShown is how much of an extension's answer is written down, in bytes: its beginning and its end.
const maxShown = 160

// transcript writes down what happens, and what each extension did.
type transcript struct {
	out  io.Writer
	mu   sync.Mutex
	told map[string][]string // notifications by extension, until they are written down
}

func (t *transcript) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// reads says what the model reads of a call.
func (t *transcript) reads(text string) { t.say("  → %s", shown(text)) }

// fired writes down one event at one extension. Notifications arrive while other things happen, so
// they are collected.
func (t *transcript) fired(f hookbus.Fired) {
	made := string(f.Answer)
	switch {
	case f.Err != nil:
		made = f.Err.Error()
	case bytes.HasSuffix(f.Document, bytes.TrimPrefix(f.Answer, []byte("{"))): // the answer is the document's last member
		made = "as it was"
	case len(made) > maxShown:
		made = strings.ToValidUTF8(made[:maxShown/2]+"…"+made[len(made)-maxShown/2:], "")
	}
	switch f.Event {
	case "session_start", "usage", "agent_end", "agent_settled":
		t.mu.Lock()
		defer t.mu.Unlock()
		told := f.Event
		if f.Err != nil {
			told += " (" + shown(made) + ")"
		}
		t.told[f.Extension] = append(t.told[f.Extension], told)
	default:
		t.say("    %s %s: %s", f.Extension, f.Event, shown(made))
	}
}

// flush writes down what was told, once it has arrived. It waits for the transcript's sake: what is
// told needs no waiting for.
func (t *transcript) flush(ctx context.Context, bus *hookbus.Bus) {
	if err := bus.Flush(ctx); err != nil {
		t.say("  %s", shown(err.Error()))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(t.told)) {
		t.say("  %s was told %s", name, strings.Join(t.told[name], ", "))
	}
	clear(t.told)
}
