package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// document is a manifest as a test holds it: tables of keys whose values are
// TOML text, in no particular order.
type document struct {
	single map[string]map[string]string   // extension, net, proc, limits, config
	many   map[string][]map[string]string // tool, hook, net.secret, mcp.prompt, mcp.resource
}

func drawDocument(t *rapid.T) document {
	text := rapid.StringMatching(`[a-zé日][a-zA-Z =\[\]#{}'é日.]{0,12}`)
	d := document{single: map[string]map[string]string{}, many: map[string][]map[string]string{}}
	extension := map[string]string{"name": `"ext"`, "description": strconv.Quote(text.Draw(t, "description"))}
	d.single["extension"] = extension
	if rapid.Bool().Draw(t, "version") {
		extension["version"] = `"1.2.3"`
	}
	var requests []string
	tools := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 4, rapid.ID).Draw(t, "tools")
	for _, name := range tools {
		tool := map[string]string{
			"name": strconv.Quote(name), "description": strconv.Quote(text.Draw(t, "tool description")),
			"prompt_snippet": strconv.Quote(text.Draw(t, "snippet")), "parameters": `"schema/any.json"`, "entry": `"tool"`,
		}
		if rapid.Bool().Draw(t, "timeout") {
			tool["timeout_ms"] = strconv.Itoa(rapid.IntRange(minTimeoutMS, maxTimeoutMS).Draw(t, "timeout_ms"))
		}
		d.many["tool"] = append(d.many["tool"], tool)
	}
	for _, event := range rapid.SliceOfDistinct(rapid.SampledFrom(Events()), rapid.ID).Draw(t, "hooks") {
		d.many["hook"] = append(d.many["hook"], map[string]string{"event": strconv.Quote(event), "entry": `"gate"`})
	}
	if rapid.Bool().Draw(t, "net") {
		requests = append(requests, `"net"`)
		d.single["net"] = map[string]string{"hosts": `["b.example", "a.example"]`, "methods": `["POST", "GET"]`}
		for _, header := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"X-A", "X-B", "X-C"}), rapid.ID).Draw(t, "secrets") {
			d.many["net.secret"] = append(d.many["net.secret"],
				map[string]string{"env": `"KEY"`, "host": `"a.example"`, "header": strconv.Quote(header)})
		}
	}
	if rapid.Bool().Draw(t, "proc") {
		requests = append(requests, `"proc"`)
		d.single["proc"] = map[string]string{"commands": `[["go", "vet"], ["gofmt"]]`}
		if names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{`"A"`, `"B"`, `"C"`}), rapid.ID).Draw(t, "variables"); rapid.Bool().Draw(t, "env") {
			d.single["proc"]["env"] = "[" + strings.Join(names, ", ") + "]"
		}
	}
	if rapid.Bool().Draw(t, "config") {
		d.single["config"] = map[string]string{
			"results": strconv.Itoa(rapid.IntRange(-100, 100).Draw(t, "results")),
			"text":    strconv.Quote(text.Draw(t, "text")),
			"list":    `[1, "x", [true]]`,
		}
	}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"p", "q", "r"}), rapid.ID).Draw(t, "prompts") {
		d.many["mcp.prompt"] = append(d.many["mcp.prompt"], map[string]string{
			"name": strconv.Quote(name), "description": strconv.Quote(text.Draw(t, "prompt")), "tool": strconv.Quote(tools[0]),
		})
	}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"p", "q", "r"}), rapid.ID).Draw(t, "resources") {
		d.many["mcp.resource"] = append(d.many["mcp.resource"],
			map[string]string{"uri": strconv.Quote("x:" + name), "name": strconv.Quote(name), "tool": strconv.Quote(tools[0])})
	}
	if rapid.Bool().Draw(t, "limits") {
		d.single["limits"] = map[string]string{"memory_mb": "64"}
	}
	extension["requests"] = "[" + strings.Join(requests, ", ") + "]"
	return d
}

// render writes the document in one of its many forms.
func (d document) render(t *rapid.T) string {
	var blocks []string
	noise := func() string {
		return rapid.SampledFrom([]string{"", "", "\n", "  \t\n", "# [tool] name = \"x\"\n", "\n\n# \"\"\" '''\n"}).Draw(t, "noise")
	}
	pairs := func(keys map[string]string) string {
		var b strings.Builder
		for _, key := range rapid.Permutation(slices.Sorted(maps.Keys(keys))).Draw(t, "keys") {
			space := rapid.SampledFrom([]string{"", " ", "   "}).Draw(t, "space")
			name := rapid.SampledFrom([]string{key, strconv.Quote(key), "'" + key + "'"}).Draw(t, "key")
			b.WriteString(noise() + space + name + space + "=" + space + d.value(t, keys[key]) + space +
				rapid.SampledFrom([]string{"", " # note", "\r"}).Draw(t, "end") + "\n")
		}
		return b.String()
	}
	for name, keys := range d.single {
		if secrets := d.many["net.secret"]; name == "net" {
			block := "[net]\n" + pairs(keys)
			for _, s := range rapid.Permutation(secrets).Draw(t, "secrets") {
				block += noise() + "[[net.secret]]\n" + pairs(s)
			}
			blocks = append(blocks, block)
			continue
		}
		blocks = append(blocks, "["+name+"]\n"+pairs(keys))
	}
	for _, name := range []string{"tool", "hook", "mcp.prompt", "mcp.resource"} {
		for _, keys := range d.many[name] {
			blocks = append(blocks, "[[ "+name+" ]]\n"+pairs(keys))
		}
	}
	slices.Sort(blocks)
	return noise() + strings.Join(rapid.Permutation(blocks).Draw(t, "blocks"), noise())
}

// value writes one value in one of its forms.
func (d document) value(t *rapid.T, v string) string {
	plain, err := strconv.Unquote(v)
	if err != nil {
		if strings.HasPrefix(v, "[") && rapid.Bool().Draw(t, "spread") {
			return strings.ReplaceAll(strings.ReplaceAll(v, ", ", ", # ,\n  "), "[]", "[ ]")
		}
		return v
	}
	forms := []string{v, `"""` + v[1:len(v)-1] + `"""`, `"""` + "\n" + v[1:len(v)-1] + `"""`, `"""` + "\\\n   " + v[1:len(v)-1] + `"""`}
	if !strings.Contains(plain, "'") {
		forms = append(forms, "'"+plain+"'", "'''\n"+plain+"'''")
	}
	forms = append(forms, fmt.Sprintf(`"\u%04x%s"`, []rune(plain)[0], string([]rune(plain)[1:])))
	return rapid.SampledFrom(forms).Draw(t, "form")
}

func decodeDrawn(t *rapid.T, text string) Manifest {
	m, err := Decode([]byte(text), base)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return m
}

// TestRevisionIgnoresForm holds that order, comments, space and spelling of the
// file mean nothing.
func TestRevisionIgnoresForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		one, other := d.render(t), d.render(t)
		if a, b := decodeDrawn(t, one), decodeDrawn(t, other); a.Revision() != b.Revision() {
			t.Fatalf("%s\n%s\n%s\n\n%s", a.Canonical(), b.Canonical(), one, other)
		}
	})
}

// TestRevisionCoversEveryValue changes one value after the other in a manifest
// that has them all, and finds another revision each time.
func TestRevisionCoversEveryValue(t *testing.T) {
	seen := map[string]string{decode(t, complete).Revision(): "nothing"}
	for _, change := range []struct{ from, to string }{
		{`name = "web_search"` + "\nversion", `name = "web_find"` + "\nversion"},
		{`version = "0.1.0"`, `version = "0.1.1"`},
		{`description = "Search the web."`, `description = "Search the net."`},
		{`license = "MIT"`, `license = "ISC"`},
		{`license = "MIT"`, ``},
		{`requests = ["proc", "net"]`, `requests = ["proc", "net", "kv"]`},
		{`results = 10`, `results = 11`},
		{`results = 10`, `result = 10`},
		{`results = 10`, `results = "10"`},
		{`[config]` + "\nresults = 10", ``},
		{`name = "archive"`, `name = "archives"`},
		{`description = "Look a page up."`, `description = "Look it up."`},
		{`prompt_snippet = "archive: look a page up"`, `prompt_snippet = "archive: look it up"`},
		{`timeout_ms = 20000`, `timeout_ms = 20001`},
		{`timeout_ms = 20000`, ``},
		{`entry = "tool"` + "\ntimeout_ms", `entry = "gate"` + "\ntimeout_ms"},
		{`parameters = "schema/any.json"` + "\nentry = \"tool\"\ntimeout_ms", `parameters = "schema/same.json"` + "\nentry = \"tool\"\ntimeout_ms"},
		{`parameters = "schema/any.json"` + "\nentry = \"tool\"\ntimeout_ms", `parameters = "schema/other.json"` + "\nentry = \"tool\"\ntimeout_ms"},
		{`event = "agent_end"`, `event = "usage"`},
		{"[[hook]]\nevent = \"agent_end\"\nentry = \"gate\"", ``},
		{`entry = "gate"` + "\n\n[net]", `entry = "tool"` + "\n\n[net]"},
		{`"b.example", "a.example"]`, `"b.example", "c.example"]`},
		{`"b.example", "a.example"]`, `"b.example"]`},
		{`["POST", "GET"]`, `["PUT", "GET"]`},
		{`methods = ["POST", "GET"]`, `methods = ["POST", "GET"]` + "\nmax_response_bytes = 1"},
		{`methods = ["POST", "GET"]`, `methods = ["POST", "GET"]` + "\nrequests_per_call = 1"},
		{`env = "API_KEY"`, `env = "API_KEYS"`},
		{"host = \"b.example\"", "host = \"a.example\""},
		{`header = "X-Key"`, `header = "X-Other"`},
		{`header = "X-Key"`, `header = "X-Key"` + "\nformat = \"Bearer {}\""},
		{`["go", "vet"]`, `["go", "test"]`},
		{`["go", "vet"]`, `["go"], ["vet"]`},
		{`memory_mb = 64`, `memory_mb = 65`},
		{"[limits]\nmemory_mb = 64", ``},
	} {
		if strings.Count(complete, change.from) != 1 {
			t.Fatalf("%q stands %d times in the manifest", change.from, strings.Count(complete, change.from))
		}
		files := maps.Clone(base)
		files["schema/same.json"] = base["schema/any.json"]
		files["schema/other.json"] = base["schema/any.json"] + " "
		m, err := Decode([]byte(strings.Replace(complete, change.from, change.to, 1)), files)
		if err != nil {
			t.Fatalf("%q: %v", change.to, err)
		}
		if other, there := seen[m.Revision()]; there {
			t.Errorf("%q has the revision of %q", change.to, other)
		}
		seen[m.Revision()] = change.to
	}
}

// TestRevisionCoversSchemas changes the bytes of a schema and nothing else.
func TestRevisionCoversSchemas(t *testing.T) {
	files := maps.Clone(base)
	files["schema/any.json"] += "\n"
	m, err := Decode([]byte(complete), files)
	if err != nil {
		t.Fatal(err)
	}
	if m.Revision() == decode(t, complete).Revision() {
		t.Error("another schema has the same revision")
	}
}

// TestDefaultsMeanWhatTheySay writes every default out, and finds the revision
// of the manifest that leaves them out.
func TestDefaultsMeanWhatTheySay(t *testing.T) {
	short := "[extension]\nname = \"x\"\ndescription = \"d\"\nrequests = [\"net\"]\n[[tool]]\nname = \"a\"\ndescription = \"d\"\nprompt_snippet = \"p\"\n" +
		"parameters = \"schema/any.json\"\nentry = \"tool\"\n%s[net]\nhosts = [\"a.example\"]\nmethods = [\"GET\"]\n%s" +
		"[[net.secret]]\nenv = \"A\"\nhost = \"a.example\"\nheader = \"X\"\n%s"
	without := decode(t, fmt.Sprintf(short, "", "", ""))
	with := fmt.Sprintf(short, "timeout_ms = 30000\n", "max_response_bytes = 1048576\nrequests_per_call = 4\n", "format = \"{}\"\n[config]\n[limits]\n")
	with = strings.Replace(with, "requests =", "version = \"0.0.0\"\ntier = \"jailed\"\nrequests =", 1)
	if a, b := without, decode(t, with); a.Revision() != b.Revision() {
		t.Errorf("%s\n%s", a.Canonical(), b.Canonical())
	}
}
