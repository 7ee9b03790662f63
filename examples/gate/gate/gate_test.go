package gate

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/ext/hook"

	"example.com/gate/danger"
)

func verdict(t *testing.T, config map[string]any, tool, arguments string) (hook.Verdict, error) {
	t.Helper()
	host := captest.New(t)
	host.Config(config)
	return OnToolCall(host.Context(), hook.Call{OpID: "op-1", Tool: tool, Arguments: json.RawMessage(arguments)})
}

func usual() map[string]any {
	return map[string]any{"shell_tools": []string{"bash"}, "command_keys": []string{"command", "cmd"}, "allow_rules": []string{}, "redact": true}
}

func TestGate(t *testing.T) {
	for _, tt := range []struct {
		tool, arguments string
		blocked         bool
	}{
		{"bash", `{"command": "rm -rf /"}`, true},
		{"Bash", `{"Command": "rm -rf /"}`, true},
		{"bash", `{"command": ["rm", "-rf", "/"]}`, true},
		{"bash", `{"cmd": ["bash", "-c", "rm -rf /"]}`, true},
		{"bash", `"rm -rf /"`, true},
		{"bash", `["rm", "-rf", "/"]`, true},
		{"bash", `{"cmd": "ls", "command": "git push -f"}`, true},
		{"bash", `{"command": "ls"}`, false},
		{"bash", `{"command": ["echo", "rm -rf /; x"]}`, false},
		{"bash", `{"note": "rm -rf /"}`, false},
		{"bash", `{}`, false},
		{"bash", `17`, false},
		{"read", `{"command": "rm -rf /"}`, false},
	} {
		v, err := verdict(t, usual(), tt.tool, tt.arguments)
		if err != nil || (v != hook.Allow) != tt.blocked {
			t.Errorf("%s %s: %+v, %v", tt.tool, tt.arguments, v, err)
		}
	}
	if v, err := verdict(t, usual(), "bash", `{"command": "`+strings.Repeat("x", maxCommand+1)+`"}`); err != nil || v == hook.Allow {
		t.Errorf("a command without end: %+v, %v", v, err)
	}
}

func TestAnOperatorAllowsARule(t *testing.T) {
	config := usual()
	config["allow_rules"] = []string{"force-push"}
	if v, err := verdict(t, config, "bash", `{"command": "git push -f"}`); err != nil || v != hook.Allow {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := verdict(t, config, "bash", `{"command": "git push -f && rm -rf /"}`); err != nil || v == hook.Allow {
		t.Errorf("%+v, %v", v, err)
	}
	config["allow_rules"] = []string{"everything"}
	if _, err := verdict(t, config, "bash", `{"command": "ls"}`); err == nil || !strings.Contains(err.Error(), `names "everything"; there are`) {
		t.Errorf("%v", err)
	}
}

func TestTheReadmeListsEveryRule(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, m[1])
	}
	if got, want := strings.Join(listed, " "), strings.Join(danger.Rules(), " "); got != want {
		t.Errorf("the README lists %s, and there are %s", got, want)
	}
}
