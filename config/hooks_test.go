package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestHooksAndExtensions(t *testing.T) {
	c, err := Decode([]byte(`
[hooks]
order = ["redact", "gate"]
deadline_ms = { tool_call = 5000, usage = 1 }

[extension.gate]
gate = "open"

[extension.redact]
gate = "closed"

[extension.none]
`), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	hooks := Hooks{
		Order:    []string{"redact", "gate"},
		Deadline: map[string]time.Duration{"tool_call": 5 * time.Second, "usage": time.Millisecond},
	}
	extensions := map[string]Extension{"gate": {"open"}, "redact": {"closed"}, "none": {}}
	if !reflect.DeepEqual(c.Hooks, hooks) || !maps.Equal(c.Extensions, extensions) {
		t.Errorf("%+v, %+v", c.Hooks, c.Extensions)
	}
	for _, text := range []string{"[hooks]\n[extension]\n", "[hooks]\norder = []\ndeadline_ms = {}\n"} {
		if c, err := Decode([]byte(text), t.TempDir()); err != nil || !reflect.DeepEqual(c, Default()) {
			t.Errorf("%q: got %+v, %v", text, c, err)
		}
	}
}

func TestFaultsOfHooksAndExtensions(t *testing.T) {
	many := make([]string, maxExtensions+1)
	tables := ""
	for i := range many {
		many[i] = fmt.Sprintf("%q", fmt.Sprint("x", i))
		tables += fmt.Sprintf("[extension.x%d]\n", i)
	}
	for text, want := range map[string]string{
		"[hooks]\norders = []\n":                               `config.toml:2: [hooks] orders: unknown key; did you mean "order"?`,
		"[hooks]\ntool_call = 5\n":                             "config.toml:2: [hooks] tool_call: unknown key; it belongs under [hooks.deadline_ms]",
		"[hooks]\norder = \"a\"\n":                             "config.toml:2: [hooks] order: expected an array of names of extensions, found a string; put the value in brackets",
		"[hooks]\norder = [\"A\"]\n":                           `config.toml:2: [hooks] order: "A" is not the name of an extension; write lower-case letters, digits and single underscores, beginning with a letter`,
		"[hooks]\norder = [\"a\", \"a\"]\n":                    `config.toml:2: [hooks] order: "a" is named twice; name it once`,
		"[hooks]\norder = [" + strings.Join(many, ",") + "]\n": "config.toml:2: [hooks] order: the array has 257 items, the bound is 256; name fewer",
		"[hooks]\ndeadline_ms = 5\n":                           "config.toml:2: [hooks.deadline_ms]: expected a table, found an integer; write it under its own [hooks.deadline_ms] line",
		"[hooks]\ndeadline_ms = { toolcall = 5 }\n":            `config.toml:2: [hooks.deadline_ms] toolcall: unknown key; did you mean "tool_call"?`,
		"[hooks.deadline_ms]\ntool_call = 0\n":                 "config.toml:2: [hooks.deadline_ms] tool_call: 0 is out of range; write a number from 1 to 20000",
		"[hooks.deadline_ms]\ntool_call = 20001\n":             "config.toml:2: [hooks.deadline_ms] tool_call: 20001 is out of range; write a number from 1 to 20000",
		"[hooks.deadline_ms]\ntool_call = \"5s\"\n":            "config.toml:2: [hooks.deadline_ms] tool_call: expected an integer, found a string; write a whole number without quotes",
		"[extension]\ngate = \"open\"\n":                       "config.toml:2: [extension.gate]: expected a table, found a string; write it under its own [extension.gate] line",
		"[extension.a]\ngate = \"ajar\"\n":                     `config.toml:2: [extension.a] gate: "ajar" is no setting of a gate; use one of closed, open`,
		"[extension.a]\ngate = \"opened\"\n":                   `config.toml:2: [extension.a] gate: "opened" is no setting of a gate; did you mean "open"?`,
		"[extension.a]\ngate = true\n":                         "config.toml:2: [extension.a] gate: expected a string, found a boolean; put the value in quotes",
		"[extension.a]\ngates = \"open\"\n":                    `config.toml:2: [extension.a] gates: unknown key; did you mean "gate"?`,
		"[extension.\"a b\"]\n":                                "config.toml:1: [extension] a b: this is not the name of an extension; write lower-case letters, digits and single underscores, beginning with a letter",
		"[extension.a__b]\n":                                   "config.toml:1: [extension] a__b: this is not the name of an extension; write lower-case letters, digits and single underscores, beginning with a letter",
		"[extension]\n" + tables:                               "config.toml:1: [extension]: there are 257 extensions, the bound is 256; remove those that are not installed",
	} {
		_, err := Decode([]byte(text), "/etc/loom")
		var fault *Error
		if !errors.As(err, &fault) || len(fault.Faults) != 1 || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%.80q: %v\nwant …%s", text, err, want)
		}
	}
}

// FuzzHooks holds what is decoded within its bounds.
func FuzzHooks(f *testing.F) {
	f.Add([]byte("[hooks]\norder = [\"a\"]\ndeadline_ms = { tool_call = 1, usage = 20000 }\n[extension.a]\ngate = \"open\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Decode(text, "/etc/loom")
		if err != nil {
			return
		}
		for event, d := range c.Hooks.Deadline {
			if !slices.Contains(events, event) || d <= 0 || d > MaxHookDeadline {
				t.Errorf("%s: %s", event, d)
			}
		}
		for name, x := range c.Extensions {
			if !isExtension(name) || x.Gate != "" && !slices.Contains(gates, x.Gate) {
				t.Errorf("%q: %+v", name, x)
			}
		}
	})
}
