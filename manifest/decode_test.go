package manifest

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

const complete = `
[extension]
name = "web_search"
version = "0.1.0"
description = "Search the web."
license = "MIT"
requests = ["proc", "net"]

[config]
results = 10

[[tool]]
name = "web_search"
description = "Search the web.\nReturns titles."
prompt_snippet = "web_search: search the web"
parameters = "schema/any.json"
entry = "tool"
timeout_ms = 20000

[[tool]]
name = "archive"
description = "Look a page up."
prompt_snippet = "archive: look a page up"
parameters = "schema/any.json"
entry = "tool"

[[hook]]
event = "tool_call"
entry = "gate"

[[hook]]
event = "agent_end"
entry = "gate"

[net]
hosts = ["b.example", "a.example"]
methods = ["POST", "GET"]

[[net.secret]]
env = "API_KEY"
host = "b.example"
header = "X-Key"

[proc]
commands = [["go", "vet"], ["/usr/bin/git", "status"]]

[limits]
memory_mb = 64
`

func decode(t *testing.T, text string) Manifest {
	t.Helper()
	m, err := Decode([]byte(text), base)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDecode(t *testing.T) {
	m := decode(t, complete)
	schema := []byte(base["schema/any.json"])
	check := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	check("name", m.Name(), "web_search")
	check("version", m.Version(), "0.1.0")
	check("description", m.Description(), "Search the web.")
	check("license", m.License(), "MIT")
	check("tier", m.Tier(), "jailed")
	check("requests", m.Requests(), []string{"net", "proc"})
	check("tools", m.Tools(), []Tool{
		{"archive", "Look a page up.", "archive: look a page up", "schema/any.json", "tool", DefaultTimeoutMS, schema},
		{"web_search", "Search the web.\nReturns titles.", "web_search: search the web", "schema/any.json", "tool", 20000, schema},
	})
	check("hooks", m.Hooks(), []Hook{{"agent_end", "gate"}, {"tool_call", "gate"}})
	net, ok := m.Net()
	check("net", net, Net{
		Hosts: []string{"a.example", "b.example"}, Methods: []string{"GET", "POST"},
		MaxResponseBytes: DefaultMaxResponseBytes, RequestsPerCall: DefaultRequestsPerCall,
		Secrets: []Secret{{"API_KEY", "b.example", "X-Key", "{}"}},
	})
	check("net is there", ok, true)
	proc, ok := m.Proc()
	check("proc", proc, Proc{Commands: [][]string{{"/usr/bin/git", "status"}, {"go", "vet"}}})
	check("proc is there", ok, true)
	check("limits", m.Limits(), Limits{MemoryMB: 64})
	check("config", string(m.Config().JSON()), `{"results":10}`)
	if s, ok := m.Schema("archive"); !ok || len(s.Check([]byte(`[]`))) != 1 {
		t.Error("a tool has no schema that checks")
	}
	if _, ok := m.Schema("nothing"); ok {
		t.Error("a tool that is not there has a schema")
	}
	if !strings.HasPrefix(m.Revision(), "sha256:") || len(m.Revision()) != 71 {
		t.Errorf("revision %q", m.Revision())
	}
}

// TestAccessorsReturnCopies changes everything that accessors return, and finds
// the manifest as it was.
func TestAccessorsReturnCopies(t *testing.T) {
	m := decode(t, complete)
	before := decode(t, complete)
	m.Requests()[0] = "x"
	m.Canonical()[0] = 'x'
	m.Config().JSON()[0] = 'x'
	tools := m.Tools()
	tools[0].Name, tools[1].Schema[0] = "x", 'x'
	m.Hooks()[0].Event = "x"
	net, _ := m.Net()
	net.Hosts[0], net.Methods[0], net.Secrets[0].Env = "x", "x", "x"
	proc, _ := m.Proc()
	proc.Commands[0][0] = "x"
	proc.Commands[1] = nil
	m.schemas, before.schemas = nil, nil
	if !reflect.DeepEqual(m, before) {
		t.Errorf("got %+v\nwant %+v", m, before)
	}
}

func TestZeroManifest(t *testing.T) {
	var m Manifest
	if m.Name() != "" || len(m.Requests()) > 0 || len(m.Tools()) > 0 || len(m.Hooks()) > 0 || m.Revision() != "" {
		t.Error("the zero manifest says something")
	}
	if _, ok := m.Net(); ok {
		t.Error("the zero manifest has a net table")
	}
	if _, ok := m.Proc(); ok {
		t.Error("the zero manifest has a proc table")
	}
	if !bytes.Equal(m.Config().JSON(), []byte("{}")) {
		t.Error("the zero configuration is not an empty object")
	}
}

func TestNoTree(t *testing.T) {
	_, err := Decode([]byte(complete), nil)
	if err == nil || !strings.Contains(err.Error(), "no Go package") {
		t.Errorf("got %v", err)
	}
}

func TestBounds(t *testing.T) {
	repeat := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i))
		}
		return b.String()
	}
	id := func(i int) string { return strconv.Itoa(i) }
	tests := map[string]struct {
		text, says string
	}{
		"tools": {repeat(maxTools+1, func(i int) string {
			return "[[tool]]\nname = \"t" + id(i) + "\"\ndescription = \"d\"\nprompt_snippet = \"p\"\nparameters = \"schema/any.json\"\nentry = \"tool\"\n"
		}), "more than 64 tools"},
		"hosts": {"[net]\nmethods = [\"GET\"]\nhosts = [" + repeat(maxHosts+1, func(i int) string { return "\"h" + id(i) + ".example\"," }) + "]\n",
			"65 items, the bound is 64"},
		"secrets": {"[net]\nmethods = [\"GET\"]\nhosts = [\"a.example\"]\n" + repeat(maxSecrets+1, func(i int) string {
			return "[[net.secret]]\nenv = \"A\"\nhost = \"a.example\"\nheader = \"X" + id(i) + "\"\n"
		}), "more than 16 secrets"},
		"commands": {"[proc]\ncommands = [" + repeat(maxCommands+1, func(i int) string { return "[\"c" + id(i) + "\"]," }) + "]\n",
			"65 items, the bound is 64"},
		"variables": {"[proc]\ncommands = [[\"a\"]]\nenv = [" + repeat(maxCommandEnv+1, func(i int) string { return "\"V" + id(i) + "\"," }) + "]\n",
			"17 items, the bound is 16"},
		"words":         {"[proc]\ncommands = [[" + strings.Repeat("\"a\",", maxCommandWords+1) + "]]\n", "33 items, the bound is 32"},
		"configuration": {"[config]\na = \"" + strings.Repeat("x", maxConfigString+1) + "\"\n", "8193 bytes, the bound is 8192"},
		"whole configuration": {"[config]\n" + repeat(5, func(i int) string { return "a" + id(i) + " = \"" + strings.Repeat("x", maxConfigString) + "\"\n" }),
			"the bound is 32768"},
		"the text for a model": {"[[tool]]\ndescription = \"" + strings.Repeat("x", maxToolText+1) + "\"\n", "4097 bytes, the bound is 4096"},
	}
	head := "[extension]\nname = \"x\"\ndescription = \"d\"\nrequests = [\"net\", \"proc\"]\n"
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(head+test.text), base)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want it to say %q", err, test.says)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode([]byte(complete), base); err != nil {
			b.Fatal(err)
		}
	}
}
