package tomlfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
)

// plain is a format for tests.
var plain = Format{
	Layer:    "layer",
	Name:     "plain.toml",
	Subject:  "a plain file",
	MaxBytes: 256 << 10,
	Relief:   "write less",
	Tables: []Rule{
		{Name: "server", Keys: []string{"name", "port", "peer"}},
		{Name: "server.peer", Keys: []string{"host"}, Listed: true},
		{Name: "free"},
	},
}

// read decodes the tables of plain and gives all faults as one text.
func read(text string) string {
	root, r, ok := plain.Parse([]byte(text))
	if !ok {
		return r.Faults().Error()
	}
	r.Strays(root)
	if n, ok := root["server"]; ok {
		if s, ok := r.Open("server", n); ok {
			if n, ok := s.Need("name", `"a"`); ok {
				s.Word(n, "name", Variable)
			}
			if n, ok := s.Get("port"); ok {
				s.Number(n, "port", 1, 65535)
			}
			for _, item := range r.Each("server.peer", s.Values) {
				if peer, ok := r.Open("server.peer", item); ok {
					peer.Need("host", `"b"`)
				}
			}
		}
	}
	if n, ok := root["free"]; ok {
		r.Open("free", n)
	}
	return r.Faults().Error()
}

func TestSections(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"nothing wrong":                 {"[server]\nname = \"A\"\nport = 1\n[[server.peer]]\nhost = 1\n[free]\nx = 1\n", ""},
		"a misspelt key":                {"[server]\nnmae = \"A\"\n", `layer: plain.toml:2: [server] nmae: unknown key; did you mean "name"?`},
		"a key of another table":        {"[server]\nname = \"A\"\nhost = 1\n", "layer: plain.toml:3: [server] host: unknown key; it belongs under [[server.peer]]"},
		"a key of no table":             {"[server]\nname = \"A\"\nzzz = 1\n", "layer: plain.toml:3: [server] zzz: unknown key; [server] takes name, port, peer"},
		"a missing key":                 {"[server]\n", `layer: plain.toml:1: [server] name: this key is missing; add name = "a"`},
		"a misspelt table":              {"[sever]\nx = 1\n", "layer: plain.toml:1: [sever]: unknown table; did you mean [server]?"},
		"an unknown table":              {"[zzz]\nx = 1\n", "layer: plain.toml:1: [zzz]: unknown table; a plain file has server, free"},
		"a key without its table":       {"port = 1\n", "layer: plain.toml:1: port: unknown key at the top level; it belongs under [server]"},
		"a key without any table":       {"zzz = 1\n", "layer: plain.toml:1: zzz: unknown key at the top level; every key stands in a table: a plain file has server, free"},
		"a value for a table":           {"server = 1\n", "layer: plain.toml:1: [server]: expected a table, found an integer; write it under its own [server] line"},
		"many for one table":            {"[[server]]\n", "layer: plain.toml:1: [server]: expected a table, found an array; write [server] once"},
		"one for many tables":           {"[server]\nname = \"A\"\n[server.peer]\n", "layer: plain.toml:3: [server.peer]: expected an array of tables, found a table; write [[server.peer]]"},
		"a number out of range":         {"[server]\nname = \"A\"\nport = 65536\n", "layer: plain.toml:3: [server] port: 65536 is out of range; write a number from 1 to 65535"},
		"a word of another kind":        {"[server]\nname = \"a\"\n", `layer: plain.toml:2: [server] name: "a" is not the name of an environment variable; write upper-case letters, digits and underscores, not beginning with a digit`},
		"two faults, by line":           {"[server]\nname = \"A\"\nport = 0\n[zzz]\n", "layer: plain.toml:3: [server] port: 0 is out of range; write a number from 1 to 65535\nlayer: plain.toml:4: [zzz]: unknown table; a plain file has server, free"},
		"a table twice that may be one": {"[server]\n[server]\n", "layer: plain.toml:2: [server]: this table is opened already on line 1; merge the two"},
		"too large":                     {strings.Repeat("#", plain.MaxBytes+1), "layer: plain.toml:1: the file has 262145 bytes, the bound is 262144; write less"},
		"a hidden character":            {"# \u202e\n", "layer: plain.toml:1: this comment holds the invisible character U+202E; remove it: the file must read as what it is"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := read(test.text); got != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}

func TestAFaultOfTheWholeFileHasNoLine(t *testing.T) {
	r := plain.Begin()
	r.Add(0, "", "", "it is a directory", "move it away")
	if got, want := r.Faults().Error(), "layer: plain.toml: it is a directory; move it away"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFaultsAsJSON(t *testing.T) {
	r := plain.Begin()
	r.Add(2, "server", "port", "bad", "better")
	r.Add(1, "", "", "bad", "better")
	got, err := json.Marshal(r.Faults())
	want := `[{"line":1,"msg":"bad","fix":"better"},{"line":2,"table":"server","key":"port","msg":"bad","fix":"better"}]`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestManyFaultsAreCut(t *testing.T) {
	r := plain.Begin()
	for i := range 2 * MaxFaults {
		r.Add(i+1, "", "k"+strconv.Itoa(i), "bad", "better")
	}
	faults := r.Faults()
	last := faults[len(faults)-1].Error()
	if len(faults) != MaxFaults || last != "layer: plain.toml:100: 101 more faults from here on; correct the ones above first" {
		t.Errorf("%d faults, the last is %q", len(faults), last)
	}
	var fault Fault
	if !errors.As(faults, &fault) || fault.Line != 1 {
		t.Errorf("errors.As gives %v", fault)
	}
}

// FuzzParse holds that reading is total, that faults stand in the file and show nothing hidden,
// and that the two readers of a text agree: what outline has no mark for, the TOML package must
// refuse.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"a = \"\"\"\"\"\\\n\"\"\"\"\"", "a = [{b.c = [{}]}]\n[a.d]", "a={x=1}\n[a.y]\nz=1", "[a]\nb.c=1\n[a.b]\nd=1",
		"'' = 1\n\"\" = 2", "a = 1979-05-27 07:32:00 # c", "a=[1,,2]", "a={,}", "\xef\xbb\xbf", "a.b=1\n[a]\nc=1", "[[a]]\n[a.b]\n[[a]]\n[a.b]",
		"[server]\nname = \"A\"\n[[server.peer]]\nhost = \"x\"\n", "[server]\nport = 0\n", "server = 1\n[free]\n\"\\u202e\" = 1\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		root, r, ok := plain.Parse(text)
		if !ok && r.Count() == 0 {
			t.Fatal("refused without a fault")
		}
		r.Strays(root)
		for _, name := range []string{"server", "free"} {
			if n, there := root[name]; there {
				r.Open(name, n)
			}
		}
		lines := 1 + bytes.Count(text, []byte("\n"))
		for _, fault := range r.Faults() {
			if fault.Line < 1 || fault.Line > lines {
				t.Errorf("line %d of %d: %v", fault.Line, lines, fault)
			}
			if name, found := Hidden(fault.Error(), ""); found {
				t.Errorf("%s in %q", name, fault.Error())
			}
			if strings.Contains(fault.Msg, "not the TOML that it seems") {
				t.Errorf("the two readers disagree: %v", fault)
			}
		}
	})
}
