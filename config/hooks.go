package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/loomext/loomext/internal/tomlfile"
)

// events are those that a hook may answer, as manifests name them.
var events = []string{
	"session_start", "before_agent_start", "context", "tool_call", "tool_result",
	"agent_end", "agent_settled", "before_compact", "usage",
}

// gates are the settings of a gate.
var gates = []string{"closed", "open"}

var extensionWord = tomlfile.Word{
	What: "the name of an extension", Rule: "lower-case letters, digits and single underscores, beginning with a letter",
	Bound: maxExtension, Is: isExtension,
}

// isExtension is what a manifest takes for a name.
func isExtension(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && !strings.Contains(s, "__") &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func (d *decoder) hooks(n tomlfile.Node) {
	s, ok := d.faults.Open("hooks", n)
	if !ok {
		return
	}
	if n, ok := s.Get("order"); ok {
		items, _ := s.Array(n, "order", maxExtensions, "names of extensions")
		for _, item := range items {
			if name, ok := s.Word(item, "order", extensionWord); ok && s.Distinct(item, "order", name, d.c.Hooks.Order) {
				d.c.Hooks.Order = append(d.c.Hooks.Order, name)
			}
		}
	}
	if n, ok := s.Get("deadline_ms"); ok {
		d.deadlines(n)
	}
}

// deadlines reads the table of times by event.
func (d *decoder) deadlines(n tomlfile.Node) {
	s, ok := d.faults.Open("hooks.deadline_ms", n)
	if !ok {
		return
	}
	for _, event := range events {
		n, ok := s.Get(event)
		if !ok {
			continue
		}
		if ms, ok := s.Number(n, event, 1, MaxHookDeadline.Milliseconds()); ok {
			if d.c.Hooks.Deadline == nil {
				d.c.Hooks.Deadline = map[string]time.Duration{}
			}
			d.c.Hooks.Deadline[event] = time.Duration(ms) * time.Millisecond
		}
	}
}

// extensions reads the tables of single extensions.
func (d *decoder) extensions(n tomlfile.Node) {
	s, ok := d.faults.Open("extension", n)
	if !ok {
		return
	}
	if len(s.Values) > maxExtensions {
		s.Fault(n, "", fmt.Sprintf("there are %d extensions, the bound is %d", len(s.Values), maxExtensions), "remove those that are not installed")
		return
	}
	for _, name := range s.Values.ByLine() {
		n := s.Values[name]
		if !isExtension(name) || len(name) > maxExtension {
			s.Fault(n, tomlfile.Printable(name), "this is not "+extensionWord.What, "write "+extensionWord.Rule)
			continue
		}
		own, ok := d.faults.OpenAs(tomlfile.Rule{Name: "extension." + name, Keys: []string{"gate"}}, n)
		if !ok {
			continue
		}
		var x Extension
		if n, ok := own.Get("gate"); ok {
			if gate, ok := own.Text(n, "gate", maxExtension, ""); ok {
				if gate != gates[0] && gate != gates[1] {
					own.Fault(n, "gate", tomlfile.Quote(gate)+" is no setting of a gate", tomlfile.Choose(gate, gates))
				}
				x.Gate = gate
			}
		}
		if d.c.Extensions == nil {
			d.c.Extensions = map[string]Extension{}
		}
		d.c.Extensions[name] = x
	}
}
