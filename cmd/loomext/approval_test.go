package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/install"
)

func sampleApproval() install.Approval {
	return install.Approval{
		Name: "fetcher", Version: "2.0.0", License: "MIT", Source: "/src/fetcher",
		Description: "Looks a word up.",
		Tools: []install.RecordTool{{
			Name: "look", Description: strings.Repeat("a long description of what the model reads ", 6),
			PromptSnippet: "look: look a word up", Entry: "look", TimeoutMS: 8000,
		}},
		MCP: &install.RecordMCP{
			Prompts: []install.RecordPrompt{{Name: "explain", Description: "Explain a word.", Tool: "look"}},
			Resources: []install.RecordResource{
				{URI: "words://{word}", Name: "word", Description: "One word.", MIMEType: "text/markdown", Tool: "look"},
				{URI: "words:all", Name: "all", MIMEType: "text/plain", Tool: "all"},
			},
		},
		Hooks: []install.RecordHook{{Event: "tool_call", Entry: "gate"}},
		Net: &install.RecordNet{
			Hosts: []string{"api.example.com", "b.example.com"}, Methods: []string{"GET"},
			MaxResponseBytes: 65536, RequestsPerCall: 2,
			Secrets: []install.RecordSecret{{Env: "EXAMPLE_KEY", Host: "api.example.com", Header: "Authorization", Format: "Bearer {}"}},
		},
		Commands: [][]string{{"go", "vet"}, {"git", "log --all"}}, CommandEnv: []string{"CGO_ENABLED", "GOFLAGS"},
		MemoryMB: 48,
		Requests: []install.Request{
			{Capability: "net", Uses: []string{"look/look.go:16:2 net.Fetch", "2", "3", "4", "5", "6", "7"}},
			{Capability: "proc", Uses: []string{}},
		},
		Config:     json.RawMessage(`{"lang":"en","results":5}`),
		Overrides:  json.RawMessage(`{"results":5}`),
		Revision:   "sha256:" + strings.Repeat("1", 64),
		TreeDigest: "sha256:" + strings.Repeat("2", 64),
		Changes: []install.Change{
			{Field: "net", Was: json.RawMessage("null"), Now: json.RawMessage(`{"hosts":["` + strings.Repeat("a", changeShown) + `"]}`)},
			{Field: "config", Was: json.RawMessage(`{"results":10}`), Now: json.RawMessage(`{"results":5}`)},
		},
		Replaces: "1.9.0",
	}
}

func TestApprovalTextHasAllThatIsApproved(t *testing.T) {
	text := approvalText(sampleApproval(), gateSetting{})
	for _, want := range []string{
		"fetcher 2.0.0  MIT\n  Looks a word up.\n",
		"source        /src/fetcher\n",
		"replaces      1.9.0\nchanges       net\n",
		"              config.results: 10 → 5\n",
		"tools         look  (look, at most 8s)\n",
		"prompt: look: look a word up\n",
		"mcp prompts   explain  (by the tool look)\n                Explain a word.\n",
		"mcp resources words://{word}\n                word, text/markdown, by the tool look\n                One word.\n              words:all\n                all, text/plain, by the tool all\nhooks",
		"hooks         tool_call  (gate)\ngate          closed: a tool call is blocked when this extension gives no verdict\ncapabilities",
		"capabilities  net\n                used at look/look.go:16:2 net.Fetch\n",
		"                and 2 more places\n              proc\n",
		"network       hosts    api.example.com, b.example.com\n",
		"methods  GET\n",
		"2 requests a call, 64.0 KiB a response\n",
		"secrets       EXAMPLE_KEY  goes to api.example.com as Authorization: Bearer {}\n",
		"commands      go vet …\n              git 'log --all' …\n",
		"variables     commands get CGO_ENABLED, GOFLAGS from the host's environment\n",
		"memory        48 MB\n",
		`config        lang = "en"` + "\n              results = 5  (set by you)\n",
		"tree          sha256:2222",
		"revision      sha256:1111",
		"approval key  ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the approval lacks %q", want)
		}
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "sha256:") || strings.Contains(line, "approval key") {
			continue
		}
		if columns(line) > 100 {
			t.Errorf("a line of %d columns: %q", columns(line), line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// Every text of an extension is tried in every field: none may reach a terminal as it is.
func TestApprovalTextEscapesEveryField(t *testing.T) {
	const evil = "x\x1b[2J\u202e\x07y"
	doc, err := json.Marshal(sampleApproval())
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(doc, &plain); err != nil {
		t.Fatal(err)
	}
	var poison func(any) any
	poison = func(v any) any {
		switch v := v.(type) {
		case string:
			return v + evil
		case []any:
			for i := range v {
				v[i] = poison(v[i])
			}
		case map[string]any:
			for key := range v {
				v[key] = poison(v[key])
			}
		}
		return v
	}
	poisoned, err := json.Marshal(poison(plain))
	if err != nil {
		t.Fatal(err)
	}
	var a install.Approval
	if err := json.Unmarshal(poisoned, &a); err != nil {
		t.Fatal(err)
	}
	// The digests are loomext's own; they are not poisoned by an extension.
	a.TreeDigest, a.Revision = "t", "r"
	text := approvalText(a, gateSetting{})
	if strings.ContainsAny(text, "\x1b\x07\u202e") {
		t.Errorf("a control character passed: %q", text)
	}
	if n := strings.Count(text, `\x1b[2J`); n < 30 {
		t.Errorf("%d poisoned fields are shown, want all of them", n)
	}
}

func TestApprovalTextOfTheLeastExtension(t *testing.T) {
	text := approvalText(install.Approval{Name: "least", Version: "0.0.0", Config: json.RawMessage(`{}`)}, gateSetting{})
	for _, want := range []string{"tools         none", "hooks         none", "capabilities  none", "network       none", "commands      none", "memory        64 MB (the default)", "config        none"} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the approval lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "replaces") || strings.Contains(text, "secrets") || strings.Contains(text, "mcp") {
		t.Errorf("the approval speaks of what is not there:\n%s", text)
	}
}

func TestApprovalTextSaysWhichGateIsSet(t *testing.T) {
	a := sampleApproval()
	for _, c := range []struct {
		setting gateSetting
		want    string
	}{
		{gateSetting{gate: hookbus.Closed}, "\ngate          closed: a tool call is blocked when this extension gives no verdict\n"},
		{gateSetting{gate: hookbus.Open}, "\ngate          open: a tool call goes through when this extension gives no verdict (set in config.toml)\n"},
		{gateSetting{gate: hookbus.Closed, err: errors.New("x")}, "\ngate          not known: config.toml is at fault; see loomext config check\n"},
	} {
		if text := approvalText(a, c.setting); !strings.Contains(text, c.want) {
			t.Errorf("the approval lacks %q:\n%s", c.want, text)
		}
	}
	a.Hooks = []install.RecordHook{{Event: "tool_result", Entry: "gate"}}
	if text := approvalText(a, gateSetting{gate: hookbus.Open}); strings.Contains(text, "\ngate ") {
		t.Errorf("an extension without a gate has one:\n%s", text)
	}
}
